// ProgramInstance: start and end of one rank's instance of the program.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "runtime/loader/blueprint.h"
#include "runtime/loader/debugger_view.h"
#include "runtime/loader/hook_calls.h"
#include "runtime/loader/image.h"
#include "runtime/loader/plugin_space.h"
#include "runtime/loader/rank_linker.h"
#include "runtime/loader/registry.h"

extern "C" void* __tls_get_addr(size_t module_and_offset[2]);

namespace mpc::loader {
namespace {

// FS base is switched with the rank, so this belongs to the rank's main thread.
thread_local constinit ProgramInstance* t_running
    __attribute__((tls_model("initial-exec"))) = nullptr;

std::atomic<ForeignExit> g_foreign_exit{nullptr};

}  // namespace

ProgramInstance* find_instance(const void* address) noexcept {
  if (ProgramInstance* instance = Registry::instance().find(address)) return instance;
  const PluginPlace* place = PluginSpace::instance().find(address);
  return place != nullptr ? place->instance : nullptr;
}

ProgramInstance* running_instance() noexcept { return t_running; }

void set_foreign_exit(ForeignExit upcall) noexcept {
  g_foreign_exit.store(upcall,
                       std::memory_order_release);  // pairs with ProgramInstance::leave
}

ProgramInstance::~ProgramInstance() { delete existing_linker(); }

RankLinker& ProgramInstance::linker() {
  if (RankLinker* linker = existing_linker()) return *linker;
  std::lock_guard lock(mutex_);
  if (existing_linker() == nullptr)
    linker_.store(new RankLinker(*this), std::memory_order_release);  // existing_linker
  return *existing_linker();
}

std::pair<char*, uint64_t> ProgramInstance::instance_of(const Plugin& plugin) {
  RankLinker* linker = existing_linker();
  return linker != nullptr ? linker->instance_of(plugin)
                           : std::pair<char*, uint64_t>{nullptr, 0};
}
void* ProgramInstance::bind_late(const LateSymbol& late) {
  return linker().bind_late(late);
}

void* ProgramInstance::variable(size_t offset) const noexcept {
  return base_ + image_.blueprint().place_of_variable(offset);
}

const Module* ProgramInstance::module_of(const void* address) const noexcept {
  const auto offset = static_cast<size_t>(static_cast<const char*>(address) - base_);
  for (const Module& m : image_.blueprint().modules)
    if (offset >= m.bundle_offset && offset < m.bundle_offset + m.span_bytes) return &m;
  return nullptr;
}

ModuleAt ProgramInstance::place_of(const void* address) const noexcept {
  if (const Module* m = module_of(address)) return {m, base_ + m->bundle_offset};
  const PluginPlace* place = PluginSpace::instance().find(address);
  return place != nullptr && place->instance == this
             ? ModuleAt{place->module, place->base}
             : ModuleAt{};
}

void* ProgramInstance::definition_of(const char* name) const noexcept {
  for (const Module& m : image_.blueprint().modules)
    if (const Elf64_Sym* symbol = m.file->find_definition(name))
      return base_ + m.bundle_offset + symbol->st_value;
  return nullptr;
}

void* ProgramInstance::from_master(const void* address) const noexcept {
  const auto a = reinterpret_cast<uintptr_t>(address);
  for (const Module& m : image_.blueprint().modules)
    if (a >= m.master_base() && a <= m.master_base() + m.file->memory_end())
      return base_ + m.bundle_offset + (a - m.master_base());
  return const_cast<void*>(address);
}

void* ProgramInstance::to_master(const void* address) const noexcept {
  const Module* m = module_of(address);
  if (m == nullptr) return const_cast<void*>(address);
  const char* begin = base_ + m->bundle_offset;
  return reinterpret_cast<void*>(
      m->master_base() +
      static_cast<uintptr_t>(static_cast<const char*>(address) - begin));
}

bool ProgramInstance::is_main_thread() const noexcept { return t_running == this; }

void ProgramInstance::enter_thread() noexcept {
  if (!is_main_thread()) has_had_threads_.store(true, std::memory_order_relaxed);
  if (RankLinker* linker = existing_linker()) linker->enter_thread();
  for (const Module& m : image_.blueprint().modules) {
    if (m.tls_slots.empty()) continue;
    size_t index[2] = {m.tls_module, 0};
    char* block = static_cast<char*>(__tls_get_addr(index));
    for (const TlsSlot& slot : m.tls_slots) {
      char* target = base_ + slot.target;
      std::memcpy(block + slot.offset, &target, sizeof target);
    }
  }
}

int ProgramInstance::run_main(int argc, char** argv, char** envp) {
  CHECK(t_running == nullptr, "run_main() inside of run_main()");
  t_running = this;
  environment() = envp;
  argc_ = argc;
  argv_ = argv;
  static std::once_flag announced;
  std::call_once(announced, DebuggerView::announce);
  enter_thread();
  if (__builtin_setjmp(jump_) == 0) {
    run_constructors(argc, argv, envp);
    using Main = int (*)(int, char**, char**);
    char* const at = base_ + image_.blueprint().main_offset;
    const auto main = reinterpret_cast<Main>(reinterpret_cast<uintptr_t>(at));
    run_exit(main(argc, argv, envp));
  }
  t_running = nullptr;
  return status_ & 0xff;  // as the kernel reports it to a waiting parent
}

void ProgramInstance::run_constructors(int argc, char** argv, char** envp) {
  const Blueprint& blueprint = image_.blueprint();
  for (const size_t index : blueprint.init_order) {
    const Module& m = blueprint.modules[index];
    call_start_hooks(m.hooks, base_ + m.bundle_offset, argc, argv, envp);
  }
}

// Source: C11 7.22.4.4: handlers in reverse order; one that calls exit() again, or that
// registers others, is followed by the remaining ones.
void ProgramInstance::run_exit(int status) {
  status_ = status;
  while (!thread_exit_list_.empty()) {
    const ThreadExit entry = thread_exit_list_.back();
    thread_exit_list_.pop_back();
    entry.function(entry.object);
  }
  run_exit_handlers();
  run_destructors();
}

void ExitEntry::call(int status) const {
  switch (kind) {
    case Kind::kCxa:
      return reinterpret_cast<void (*)(void*)>(function)(argument);
    case Kind::kOnExit:
      return reinterpret_cast<void (*)(int, void*)>(function)(status, argument);
    case Kind::kQuick:
      return reinterpret_cast<void (*)()>(function)();
  }
}

// One at a time: a function may register others, or call exit().
template <class IsWanted>
void ProgramInstance::call_last_of(IsWanted is_wanted) {
  for (;;) {
    std::unique_lock lock(mutex_);
    const auto it = std::find_if(exit_list_.rbegin(), exit_list_.rend(), is_wanted);
    if (it == exit_list_.rend()) return;
    const ExitEntry entry = *it;
    exit_list_.erase(std::next(it).base());
    lock.unlock();
    entry.call(status_);
  }
}

void ProgramInstance::run_exit_handlers() {
  call_last_of([](const ExitEntry& e) { return e.kind != ExitEntry::Kind::kQuick; });
}

void ProgramInstance::run_destructors() {
  if (RankLinker* linker = existing_linker()) linker->finish();
  const Blueprint& blueprint = image_.blueprint();
  while (ended_modules_ < blueprint.init_order.size()) {
    const size_t last = blueprint.init_order.size() - 1;
    const Module& m = blueprint.modules[blueprint.init_order[last - ended_modules_]];
    ++ended_modules_;  // first: a destructor may call exit()
    call_end_hooks(m.hooks, base_ + m.bundle_offset);
  }
}

void ProgramInstance::exit(int status) {
  run_exit(status);
  leave(status_);
}

void ProgramInstance::exit_quick(int status) {
  status_ = status;
  call_last_of([](const ExitEntry& e) { return e.kind == ExitEntry::Kind::kQuick; });
  leave(status);
}

void ProgramInstance::exit_now(int status) { leave(status); }

void ProgramInstance::leave(int status) {
  status_ = status;
  if (is_main_thread()) __builtin_longjmp(jump_, 1);
  if (const ForeignExit upcall = g_foreign_exit.load(std::memory_order_acquire))
    upcall(*this, status & 0xff);  // pairs with set_foreign_exit
  CHECK(false, "exit() on another thread of a rank, and nobody to end the rank");
  __builtin_unreachable();
}

void ProgramInstance::at_exit(const ExitEntry& entry) {
  std::lock_guard lock(mutex_);
  exit_list_.push_back(entry);
}

bool ProgramInstance::finalize(void* dso) {
  if (place_of(dso).module == nullptr) return false;
  finalize_range(static_cast<char*>(dso), static_cast<char*>(dso) + 1);
  return true;
}

// A library's handlers of quick_exit() are removed with it.
void ProgramInstance::finalize_range(const char* begin, const char* end) {
  const auto is_of = [&](const ExitEntry& e, ExitEntry::Kind kind) {
    return e.kind == kind && e.dso >= begin && e.dso < end;
  };
  call_last_of([&](const ExitEntry& e) { return is_of(e, ExitEntry::Kind::kCxa); });
  const std::lock_guard lock(mutex_);
  std::erase_if(exit_list_,
                [&](const ExitEntry& e) { return is_of(e, ExitEntry::Kind::kQuick); });
}

void ProgramInstance::at_main_thread_exit(void (*function)(void*), void* object) {
  thread_exit_list_.push_back({function, object});
}

}  // namespace mpc::loader
