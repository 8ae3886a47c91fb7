#pragma once
// WindowShare: the data that the members of one window share in this process.
//
// Role:      a Target for each member; the memory of MPI_Win_allocate_shared.
// Users:     runtime/rma, mpi/objects, mpi/rma.
// Threads:   created by one member for all (a meeting); for the targets see there. It lives until
//            all members have freed the window.
// See also:  docs/design/0026-windows.md.
//
// A window that spans processes has a share in each of them, with a Target for every member. A
// Target of a member elsewhere knows only size and unit of the memory: operations on it are packets
// (runtime/rma/remote_access.h), as are locks, posts and completes, which its own process handles.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/rma/accumulate_gate.h"
#include "runtime/rma/target.h"

namespace mpc::rma {

// Memory without a name that processes of a host map: its creator tells the others how to find it.
class SharedFile {
 public:
  SharedFile() noexcept = default;
  ~SharedFile() { close(); }
  SharedFile(const SharedFile&) = delete;
  // False: the system has none.
  bool make() noexcept;
  void close() noexcept;
  // Plain numbers; any process of the same user on the host can open it, until it is closed.
  struct Name {
    int process = 0, descriptor = -1;
  };
  Name name() const noexcept;

 private:
  int descriptor_ = -1;
};

// Pages for all members of a window.
class SharedPages {
 public:
  // Zero bytes: nothing is mapped. `is_there` says whether there was memory.
  explicit SharedPages(size_t bytes) noexcept;
  // Maps a file, which gets that length.
  SharedPages(size_t bytes, SharedFile::Name file) noexcept;
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  char* base() const noexcept { return base_; }
  bool is_there() const noexcept { return base_ != nullptr || bytes_ == 0; }

 private:
  size_t bytes_;
  char* base_ = nullptr;
};

// Additional data of a window that spans processes.
struct Span {
  uint64_t window = 0;       // Port::new_window() of one of the processes
  int here = 0;              // the process whose share it is
  std::vector<int> process;  // of each member
};

class WindowShare {
 public:
  explicit WindowShare(int members);
  ~WindowShare();
  WindowShare(const WindowShare&) = delete;

  int size() const noexcept { return static_cast<int>(targets_.size()); }
  Target& target(int member) noexcept { return *targets_[static_cast<size_t>(member)]; }

  AccumulateGate& gate() noexcept { return gate_; }

  // The members live in several processes; `at_end` is called when the share is destroyed.
  // Caller: before it is used, once.
  using AtEnd = void (*)(const Span& span) noexcept;
  void set_span(Span extent, AtEnd at_end);
  // Null: all members live in one process.
  const Span* span() const noexcept { return span_.get(); }
  bool is_elsewhere(int member) const noexcept {
    return span_ != nullptr &&
           span_->process[static_cast<size_t>(member)] != span_->here;
  }

  // Allocates one piece of memory for all members: target(m).memory.bytes
  // of each, one after another, or, if
  // `is_apart`, each beginning on its own page. False: there is not so much memory.
  // `file`: for several processes, which all map it; null: there is one process.
  bool allocate(bool is_apart, const SharedFile::Name* file = nullptr);

 private:
  std::vector<std::unique_ptr<Target>> targets_;
  AccumulateGate gate_;
  std::unique_ptr<SharedPages> pages_;
  std::unique_ptr<const Span> span_;
  AtEnd at_end_ = nullptr;
};

}  // namespace mpc::rma
