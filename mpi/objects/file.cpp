#include "mpi/objects/file.h"

#include <utility>

#include "mpi/objects/comm_make.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/error_codes.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/members.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {

File::File(Comm& comm, std::shared_ptr<io::SharedFile> share, int amode)
    : Object(Kind::kFile, comm.self().world_rank),
      comm_(&comm),
      share_(std::move(share)),
      amode_(amode),
      errhandler_(&default_file_errhandler()) {
  errhandler_->retain();
  view.etype = view.filetype = dt::TypeRef(dt::predefined(dt::abi::kByte));
  view.stream = std::make_shared<const io::View>(0, 1, view.filetype);
  begin_to_need(comm, "a file of MPI's");
}

File::~File() {
  end_to_need(*comm_);
  errhandler_->drop();
}

void File::end() noexcept {
  mark_freed();
  forget_handle(*this);
  drop();
}

void File::drop() noexcept {
  if (!release()) return;
  Comm* const comm = comm_;
  delete this;
  end_comm(comm);
}

void File::set_errhandler(Errhandler& handler) noexcept {
  handler.retain();
  std::exchange(errhandler_, &handler)->drop();
}

Errhandler& default_file_errhandler() noexcept {
  RankState* const state = rank_state();
  if (state != nullptr) {
    const std::lock_guard lock(state->mutex);
    if (state->errors != nullptr && state->errors->of_no_file != nullptr)
      return *state->errors->of_no_file;
  }
  return *Errhandler::returning();
}

void set_default_file_errhandler(Errhandler& handler) {
  RankState& state = this_rank();
  handler.retain();
  std::shared_ptr<Errhandler> kept(&handler, [](Errhandler* last) { last->drop(); });
  const std::lock_guard lock(state.mutex);
  if (!state.errors) state.errors = std::make_shared<ErrorTable>();
  // The previous handler is dropped after the lock is released: dropping it may need the tables.
  std::swap(state.errors->of_no_file, kept);
}

}  // namespace mpc::mpi
