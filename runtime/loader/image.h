#pragma once
// Image: one program, prepared once; ProgramInstance: its private instance for one rank.
//
// Role:      gives each rank its own globals, statics, C++ inline statics, COMMON blocks and
//            thread_locals, while the code is shared; runs constructors, main, exit handlers
//            and destructors once for each rank.
// Users:     runtime/job (launch), runtime/interpose (exit, dlsym ...).
// Threads:   load_instance() by any kernel thread (serialised inside); a ProgramInstance belongs to its rank;
//            find_instance() and describe_address() by anyone.
// See also:  docs/loader.md, docs/limits.md; runtime/loader/blueprint.h.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

struct link_map;

namespace mpc::loader {

class Blueprint;
class ProgramInstance;
class Plugin;
class RankLinker;
struct LateSymbol;
struct Module;

struct ImageOptions {
  // Libraries (paths) that come before those of the program, as with LD_PRELOAD; each rank has
  // its own copy of them.
  std::vector<std::string> preload;
};

class Image {
 public:
  // Checks and prepares a program. Errors: kNotFound, kPermission, kImage (with the reason
  // why it cannot be made private, and what to do), kNoMem, kSystem.
  // Caller: any kernel thread. Cost: about 1 ms, more for large programs.
  static Result<std::unique_ptr<Image>> open(const std::string& path,
                                             const ImageOptions& options = {});
  ~Image();

  // Makes room for this many copies at once: fewer, larger mappings. Optional.
  Result<> reserve(size_t instances);
  // A fresh instance: data as after relocation, no constructor has run.
  // Errors: kNoMem (which limit, and how to raise it).
  // Ownership: the Image's; copies live as long as it does.
  Result<ProgramInstance*> load_instance(int rank);

  const std::string& path() const noexcept { return path_; }
  // Does each copy have its own instance of a library whose name begins like this?
  bool has_library(std::string_view name) const noexcept;
  // Does the program or one of its private libraries need a library whose name begins like this?
  bool uses_library(std::string_view name) const noexcept;
  // Does the program itself (not its libraries) refer to one of these functions?
  bool imports(std::initializer_list<std::string_view> names) const noexcept;
  // Must a rank's stack be executable (nested functions whose address is taken)?
  bool needs_executable_stack() const noexcept;
  // Mappings of the process per copy; vm.max_map_count bounds their sum.
  int maps_per_instance() const noexcept;
  const Blueprint& blueprint() const noexcept { return *blueprint_; }
  uint64_t id() const noexcept { return id_; }  // unique in the process
  // Do libraries that are loaded later see the program's symbols before their own (-rdynamic)?
  bool exports_all() const noexcept { return exports_all_; }
  // A copy's instance of a variable registered by private_variable(), or null.
  static void* find_variable(const ProgramInstance& instance,
                             const char* name) noexcept;

 private:
  Image() = default;
  friend void guard_files(int tid, int signal) noexcept;
  friend void leave_files() noexcept;
  void move_text_to_memory();
  Result<> reserve_locked(size_t instances);
  Result<> map_instance(char* base);

  std::string path_;
  std::vector<std::string> needed_;  // by all modules; a name may come twice
  uint64_t id_ = 0;
  bool exports_all_ = false;
  std::unique_ptr<Blueprint> blueprint_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ProgramInstance>> instances_;
  char* next_ = nullptr;  // unused space from reserve()
  size_t left_ = 0;       // copies that fit there
  size_t chunk_ = 0;      // copies of the latest chunk
};

// A function that is called at the end of a rank.
struct ExitEntry {
  enum class Kind { kCxa, kOnExit, kQuick };
  Kind kind;
  void* function;
  void* argument;
  void* dso;  // identifies the module that registered it; null: the program

  void call(int status) const;
};

// The module that contains an address, and where it lies.
struct ModuleAt {
  const Module* module = nullptr;
  char* base = nullptr;
};

class ProgramInstance {
 public:
  ~ProgramInstance();

  // Runs constructors (libraries first), main and exit(); returns the exit status, no
  // matter whether main returned or something below called exit().
  // Caller: the rank itself, once. Switches: as the program does.
  int run_main(int argc, char** argv, char** envp);

  // exit() of a rank. On the thread that is in run_main(): exit handlers and
  // destructors run, then run_main() returns. On another thread of the rank: the same, then
  // the foreign-exit upcall, which must not return.
  // Caller: a thread of this rank.
  [[noreturn]] void exit(int status);
  // _exit(): no handlers. quick_exit(): those of at_quick_exit().
  [[noreturn]] void exit_now(int status);
  [[noreturn]] void exit_quick(int status);

  // Exit handlers and destructors only (a forked child ends as a process, not as a rank).
  void run_exit(int status);

  // Prepares the thread_locals of another thread of this rank (pointers into the copy).
  void enter_thread() noexcept;
  // Did a thread other than the main one ever enter?
  bool has_had_threads() const noexcept {
    return has_had_threads_.load(std::memory_order_relaxed);  // a hint
  }

  // Adds a function to the list that exit runs last in, first out.
  void at_exit(const ExitEntry& entry);
  // __cxa_finalize: runs the entries of one module. Returns false if `dso` is not ours.
  bool finalize(void* dso);
  // The same for everything that these addresses registered (a library that is unloaded).
  void finalize_range(const char* begin, const char* end);
  // Destructor of a thread_local of the rank's main thread.
  void at_main_thread_exit(void (*function)(void*), void* object);
  bool is_main_thread() const noexcept;

  int rank() const noexcept { return rank_; }
  const Image& image() const noexcept { return image_; }
  char* base() const noexcept { return base_; }
  // A variable registered by private_variable().
  void* variable(size_t offset) const noexcept;
  // This copy's `environ`.
  char**& environment() const noexcept;
  // Serves dlopen() and its relatives in this rank; created at the first call.
  RankLinker& linker();
  RankLinker* existing_linker() const noexcept {
    return linker_.load(std::memory_order_acquire);  // pairs with linker()
  }
  // Base and generation of this rank's copy of a plugin; null, 0: it has none.
  std::pair<char*, uint64_t> instance_of(const Plugin& plugin);
  // The function for a stub of this rank (see late_binding.h), or null.
  void* bind_late(const LateSymbol& late);
  // The arguments of the rank's main().
  std::pair<int, char**> arguments() const noexcept { return {argc_, argv_}; }
  // The definition of this name in the program or in a private library
  // that it is linked with; null: there is none.
  void* definition_of(const char* name) const noexcept;
  // The address in this copy that corresponds to an address
  // in the master (as the dynamic linker sees it).
  void* from_master(const void* address) const noexcept;
  // The reverse, for an address in this copy.
  void* to_master(const void* address) const noexcept;
  const Module* module_of(const void* address) const noexcept;
  // The same also for plugins. Async-signal-safe.
  ModuleAt place_of(const void* address) const noexcept;

 private:
  friend class Image;
  ProgramInstance(Image& image, int rank, char* base)
      : image_(image), rank_(rank), base_(base) {}
  void run_constructors(int argc, char** argv, char** envp);
  // Removes those entries from exit_list_, the last one first, and calls them.
  template <class IsWanted>
  void call_last_of(IsWanted is_wanted);
  void run_exit_handlers();
  void run_destructors();
  [[noreturn]] void leave(int status);

  Image& image_;
  int rank_;
  char* base_;
  std::mutex mutex_;  // guards exit_list_; linker_ is created under it
  std::atomic<RankLinker*> linker_{nullptr};
  std::atomic<bool> has_had_threads_{false};
  int argc_ = 0;
  char** argv_ = nullptr;
  std::vector<ExitEntry> exit_list_;
  struct ThreadExit {
    void (*function)(void*);
    void* object;
  };
  std::vector<ThreadExit> thread_exit_list_;
  void* jump_[5] = {};  // __builtin_setjmp buffer of run_main()
  int status_ = 0;
  size_t ended_modules_ = 0;  // whose destructors have run or begun to
};

// Makes writers of a program's file, or of a private library's, wait until leave_files() is done;
// `signal` tells the kernel thread `tid` that a process wants to write. Files of other users cannot
// be guarded like this, nor those of some network file systems.
// Caller: once, when all images are open. Source: fcntl(2), "Leases".
void guard_files(int tid, int signal) noexcept;
// Copies the files to memory and maps the text from there, in all copies, while ranks run; then
// lets the writer continue. Caller: that kernel thread. Cost: the size of the files.
void leave_files() noexcept;

// The copy that contains this address, in its program or its plugins, or null. Async-signal-safe. Cost: a few loads.
ProgramInstance* find_instance(const void* address) noexcept;
// The copy whose run_main() the calling thread is in, or null.
ProgramInstance* running_instance() noexcept;

// Does an object of the dynamic linker belong to a master, of which only copies run?
bool is_master(uintptr_t load_address) noexcept;
bool is_master_handle(const void* handle) noexcept;

// Called when a thread of a rank other than its main one calls exit(): must end the rank, and
// prevent the calling thread from running on.
using ForeignExit = void (*)(ProgramInstance& instance, int status);
void set_foreign_exit(ForeignExit upcall) noexcept;

// Called before the constructors of a library that a rank opens run: `library` is one of those that
// its file says it needs. Caller of the upcall: a thread of the rank, which waits for it.
using LibraryNeeded = void (*)(ProgramInstance& instance, std::string_view library);
void set_library_needed(LibraryNeeded upcall) noexcept;

// The variable of libmpi_abi that is known by its address (Fortran's MPI_BOTTOM) and that the program holds itself, if this
// is the address of such a one or lies in it; else the address. Any thread. Cost: a load, unless there is such a program.
inline constinit std::atomic<bool> g_has_counterparts{false};
void* find_counterpart(void* address) noexcept;
inline void* shared_counterpart(void* address) noexcept {
  // Set before ranks of such a program run.
  return g_has_counterparts.load(std::memory_order_relaxed) ? find_counterpart(address)
                                                            : address;
}

// Gives each copy its own instance of a variable of libc that programs read directly
// (environ, optind). Returns its offset for ProgramInstance::variable(). Without an initial value (null) it
// is zero, and takes no memory until it is used.
// Caller: at start-up, before the first Image::open().
size_t private_variable(std::initializer_list<const char*> names, const void* initial,
                        size_t bytes);

// The parts of a crash report about an address. Texts live as long as the process.
struct AddressInfo {
  int rank = -1;                 // -1: not in a copy
  const char* path = nullptr;    // of the program or library; null: unknown
  uintptr_t offset = 0;          // in that file's address space (for addr2line)
  const char* symbol = nullptr;  // mangled; null: unknown
  uintptr_t symbol_offset = 0;
};
// Async-signal-safe for addresses in copies; for others it asks the dynamic linker.
AddressInfo describe_address(const void* address) noexcept;

}  // namespace mpc::loader
