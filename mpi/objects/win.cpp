#include "mpi/objects/win.h"

#include <fmt/format.h>

#include <climits>
#include <cstdlib>
#include <utility>

#include "mpi/objects/comm_make.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/members.h"

namespace mpc::mpi {

Win::Win(Comm& comm, std::shared_ptr<rma::WindowShare> share, int flavor)
    : Object(Kind::kWin, comm.self().world_rank),
      share_(std::move(share)),
      access(*share_, comm.rank(), comm.self(), flavor == MPI_WIN_FLAVOR_SHARED),
      own_memory(nullptr, std::free),
      comm_(&comm),
      errhandler_(Errhandler::fatal()) {
  const rma::Memory& mine = target(comm.rank()).memory;
  const bool is_int = mine.unit <= INT_MAX;
  values_ = {mine.base, mine.bytes, is_int ? static_cast<int>(mine.unit) : INT_MAX,
             flavor, MPI_WIN_UNIFIED};
  begin_to_need(comm, "a window");
}

Win::~Win() {
  end_to_need(*comm_);
  errhandler_->drop();
}

void Win::end() noexcept {
  mark_freed();
  forget_handle(*this);
  Comm* const comm = comm_;
  delete this;
  end_comm(comm);
}

std::string Win::display_name() const {
  return name.empty() ? fmt::format("the window of {}", comm_->display_name()) : name;
}

void Win::set_errhandler(Errhandler& handler) noexcept {
  handler.retain();
  std::exchange(errhandler_, &handler)->drop();
}

void* Win::predefined_attribute(int key) noexcept {
  switch (key) {
    case MPI_WIN_BASE:
      return values_.base;
    case MPI_WIN_SIZE:
      return &values_.size;
    case MPI_WIN_DISP_UNIT:
      return &values_.unit;
    case MPI_WIN_CREATE_FLAVOR:
      return &values_.flavor;
    case MPI_WIN_MODEL:
      return &values_.model;
    default:
      return nullptr;
  }
}

}  // namespace mpc::mpi
