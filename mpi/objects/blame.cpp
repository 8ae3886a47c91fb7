#include "mpi/objects/blame.h"

#include <utility>

#include "mpi/objects/comm.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/file.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/session.h"
#include "mpi/objects/win.h"

namespace mpc::mpi {

int handle_error(Err error, Comm& comm, const char* function) {
  const std::string name = comm.display_name();
  return handle_error(error, comm.errhandler(), comm.handle(), name.c_str(), function);
}

int handle_error(Err error, Win& win, const char* function) {
  const std::string name = win.display_name();
  return handle_error(error, win.errhandler(), win.handle(), name.c_str(), function);
}

int handle_error(Err error, Session& session, const char* function) {
  const std::string name = session.display_name();
  return handle_error(error, session.errhandler(), session.handle(), name.c_str(),
                      function);
}

int handle_error(Err error, File* file, const char* function) {
  if (file == nullptr)
    return handle_error(error, default_file_errhandler(), MPI_FILE_NULL, nullptr,
                        function);
  const std::string name = file->display_name();
  return handle_error(error, file->errhandler(), file->handle(), name.c_str(),
                      function);
}

namespace {

// The object that the error with this number belongs to; the reference keeps it until the next
// error.
struct Blamed {
  Comm* comm = nullptr;
  File* file = nullptr;
  unsigned number = 0;
};
thread_local constinit Blamed t_blamed;

void forget_blamed() noexcept {
  if (t_blamed.comm != nullptr) t_blamed.comm->drop();
  if (t_blamed.file != nullptr) t_blamed.file->drop();
}

}  // namespace

Err blame(Err error, Comm* comm) {
  if (comm != nullptr) comm->retain();
  forget_blamed();
  t_blamed = {comm, nullptr, last_error_number()};
  return error;
}

Err blame(Err error, File& file) {
  file.retain();
  forget_blamed();
  t_blamed = {nullptr, &file, last_error_number()};
  return error;
}

Err blame_same(Err error, unsigned replaced_number) {
  if (t_blamed.number == replaced_number) t_blamed.number = last_error_number();
  return error;
}

int handle_error(Err error, const char* function) {
  if (t_blamed.comm != nullptr) {
    Comm& comm = *std::exchange(t_blamed.comm, nullptr);
    const bool is_current = t_blamed.number == last_error_number();
    const int code = is_current ? handle_error(error, comm, function) : 0;
    comm.drop();
    if (is_current) return code;
  }
  if (t_blamed.file != nullptr) {
    File& file = *std::exchange(t_blamed.file, nullptr);
    const bool is_current = t_blamed.number == last_error_number();
    const int code = is_current ? handle_error(error, &file, function) : 0;
    file.drop();
    if (is_current) return code;
  }
  RankState* state = rank_state();
  if (state == nullptr || state->self == nullptr ||
      state->finalised.load(std::memory_order_relaxed))  // written by the rank itself
    return handle_error(error, *Errhandler::fatal(), nullptr, nullptr, function);
  // Programs older than MPI-4 set the handler of MPI_COMM_WORLD for these errors. It is used while
  // the program has not changed that of MPI_COMM_SELF.
  Errhandler& own = state->self->errhandler();
  Errhandler& handler =
      own.policy == Errhandler::Policy::kFatal ? state->world->errhandler() : own;
  MPI_Comm comm = &handler == &own ? MPI_COMM_SELF : MPI_COMM_WORLD;
  return handle_error(error, handler, comm, nullptr, function);
}

}  // namespace mpc::mpi
