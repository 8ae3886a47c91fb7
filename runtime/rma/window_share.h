#pragma once
// WindowShare: what the members of one window have in common in this process.
//
// Role:      a Target for each member; the memory of MPI_Win_allocate_shared.
// Users:     runtime/rma, mpi/objects, mpi/rma.
// Threads:   made by one member for all (a meeting); then the targets say it themselves. It lives until
//            all members have freed the window.
// See also:  docs/design/0026-windows.md.
//
// All members live in this process. One that lived in another would have no Target here:
// Access::reach() is the one place that operations come through, and where it would be told apart.

#include <memory>
#include <span>
#include <vector>

#include "runtime/rma/target.h"

namespace mpc::rma {

// Pages for all members of a window.
class SharedPages {
 public:
  // Null bytes: nothing is mapped. `is_there` tells whether there was memory.
  explicit SharedPages(size_t bytes) noexcept;
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  char* base() const noexcept { return base_; }
  bool is_there() const noexcept { return base_ != nullptr || bytes_ == 0; }

 private:
  size_t bytes_;
  char* base_ = nullptr;
};

class WindowShare {
 public:
  explicit WindowShare(int members);

  int size() const noexcept { return static_cast<int>(targets_.size()); }
  Target& target(int member) noexcept { return *targets_[static_cast<size_t>(member)]; }

  // One piece of memory for all members: target(m).memory.bytes of each, one after another, or, if
  // `is_apart`, each from a page of its own on. False: there is not so much memory.
  bool allocate(bool is_apart);

 private:
  std::vector<std::unique_ptr<Target>> targets_;
  std::unique_ptr<SharedPages> pages_;
};

}  // namespace mpc::rma
