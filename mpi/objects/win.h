#pragma once
// Win: a window as one rank sees it.
//
// Role:      the part that the members share (rma::WindowShare), what this member may do now
//            (rma::Access), the window's own communicator, attributes, name, hints, error handler.
// Users:     bodies of mpi/.
// Threads:   any execution of the owner rank.
// See also:  runtime/rma/access.h, docs/windows.md; MPI-4.1 chapter 12.

#include <atomic>
#include <memory>
#include <string>

#include "mpi.h"
#include "mpi/objects/attributes.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/info.h"
#include "mpi/objects/object.h"
#include "runtime/rma/access.h"

namespace mpc::mpi {

class Errhandler;

class Win final : public Object {
 public:
  // `comm` is the window's own and ends with it. `flavor`: MPI_WIN_FLAVOR_CREATE ...
  Win(Comm& comm, std::shared_ptr<rma::WindowShare> share, int flavor);

  // --- hot path ------------------------------------------------------------------------------
  rma::Target& target(int rank) noexcept { return share_->target(rank); }

 private:
  std::shared_ptr<rma::WindowShare> share_;  // ends after `access`, which uses it

 public:
  rma::Access access;
  // The rank has read since it last let others run, and may be waiting for a change.
  std::atomic<bool> has_read{false};  // relaxed: a hint

  bool has_no_locks = false;  // the info key

  // --- the rest ------------------------------------------------------------------------------
  Comm& comm() noexcept { return *comm_; }
  job::Rank& self() const noexcept { return comm_->self(); }
  int rank() const noexcept { return comm_->rank(); }
  int size() const noexcept { return comm_->size(); }
  int flavor() const noexcept { return values_.flavor; }
  rma::WindowShare& share() noexcept { return *share_; }
  MPI_Win handle() noexcept { return reinterpret_cast<MPI_Win>(this); }
  // The user's name, or "the window of MPI_COMM_WORLD".
  std::string display_name() const;

  Errhandler& errhandler() const noexcept { return *errhandler_; }
  void set_errhandler(Errhandler& handler) noexcept;  // takes a reference

  // The value that C gets for MPI_WIN_BASE ...; null for other keys.
  void* predefined_attribute(int key) noexcept;

  AttributeSet attributes;
  std::string name;
  InfoHints hints;
  // MPI_Win_allocate: freed with the window.
  std::unique_ptr<void, void (*)(void*)> own_memory;

  // The user's handle is freed, and all members have come to MPI_Win_free.
  void end() noexcept;

 private:
  ~Win();

  Comm* comm_;
  Errhandler* errhandler_;
  struct {
    void* base;
    MPI_Aint size;
    int unit, flavor, model;
  } values_;  // of the predefined attributes: MPI hands out their addresses
};

}  // namespace mpc::mpi
