#include "mpi/fortran/by_hand.h"

#include <string>
#include <vector>

#include "mpi/fortran/convert.h"
#include "mpi/fortran/section.h"

// --- procedures that only Fortran has ------------------------------------------------------------
namespace {
using mpc::mpi::fortran::Array;

template <class T>
T to(void* procedure) noexcept {
  return reinterpret_cast<T>(procedure);
}
}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// A descriptor knows the size of an element; so one subroutine serves all types.
void pmpi_sizeof_f08ts_(const Array* x, MPI_Fint* size, MPI_Fint* ierror) {
  *size = static_cast<MPI_Fint>(x->element_bytes);
  if (ierror != nullptr) *ierror = MPI_SUCCESS;
}
// Does nothing: it only makes the compiler believe that the buffer is used.
void pmpi_f_sync_reg_(void*) {}
void pmpi_f_sync_reg_f08ts_(const Array*) {}

#define MPC_NAMES(signature, strong, weak_one, other, weak_other) \
  void weak_one signature __attribute__((weak, alias(#strong)));  \
  void other signature __attribute__((alias(#strong)));           \
  void weak_other signature __attribute__((weak, alias(#strong)));
MPC_NAMES((const Array*, MPI_Fint*, MPI_Fint*), pmpi_sizeof_f08ts_, mpi_sizeof_f08ts_,
          pmpi_sizeof_fts_, mpi_sizeof_fts_)
MPC_NAMES((void*), pmpi_f_sync_reg_, mpi_f_sync_reg_, pmpi_f_sync_reg__,
          mpi_f_sync_reg__)
#undef MPC_NAMES
void mpi_f_sync_reg_f08ts_(const Array*)
    __attribute__((weak, alias("pmpi_f_sync_reg_f08ts_")));

// == and /= of handles; all handle types are one integer.
MPI_Fint mpc_f08_eq_comm_(const MPI_Fint* a, const MPI_Fint* b) {
  return mpc::mpi::fortran::logical(*a == *b);
}
MPI_Fint mpc_f08_ne_comm_(const MPI_Fint* a, const MPI_Fint* b) {
  return mpc::mpi::fortran::logical(*a != *b);
}
#define MPC_COMPARE(type)                                         \
  MPI_Fint mpc_f08_eq_##type##_(const MPI_Fint*, const MPI_Fint*) \
      __attribute__((alias("mpc_f08_eq_comm_")));                 \
  MPI_Fint mpc_f08_ne_##type##_(const MPI_Fint*, const MPI_Fint*) \
      __attribute__((alias("mpc_f08_ne_comm_")));
MPC_COMPARE(op)
MPC_COMPARE(group)
MPC_COMPARE(win)
MPC_COMPARE(file)
MPC_COMPARE(session)
MPC_COMPARE(message)
MPC_COMPARE(info)
MPC_COMPARE(errhandler)
MPC_COMPARE(request)
MPC_COMPARE(datatype)
#undef MPC_COMPARE

}  // extern "C"
#pragma GCC visibility pop

namespace mpc::mpi::fortran {
namespace {

// --- generalized requests ------------------------------------------------------------------------
// This is C's extra_state. Fortran's functions get the variable that the program gave, as with
// MPICH and Open MPI: programs use it to learn of the calls.
struct GeneralizedCallbacks {
  void (*query)(MPI_Aint*, MPI_Status*, MPI_Fint*);
  void (*free)(MPI_Aint*, MPI_Fint*);
  void (*cancel)(MPI_Aint*, MPI_Fint*, MPI_Fint*);
  MPI_Aint* extra_state;
};

int call_query(void* state, MPI_Status* status) {
  auto& callbacks = *static_cast<GeneralizedCallbacks*>(state);
  MPI_Fint error = MPI_SUCCESS;
  callbacks.query(callbacks.extra_state, status, &error);
  return error;
}
int call_cancel(void* state, int is_complete) {
  auto& callbacks = *static_cast<GeneralizedCallbacks*>(state);
  MPI_Fint error = MPI_SUCCESS, complete = logical(is_complete);
  callbacks.cancel(callbacks.extra_state, &complete, &error);
  return error;
}
int call_free(void* state) {  // the last call
  const std::unique_ptr<GeneralizedCallbacks> callbacks(
      static_cast<GeneralizedCallbacks*>(state));
  MPI_Fint error = MPI_SUCCESS;
  callbacks->free(callbacks->extra_state, &error);
  return error;
}

// --- data representations ------------------------------------------------------------------------
// These live as long as the process, as representations do.
template <class CountType>
struct DatarepCallbacks {
  using Convert = void(void*, MPI_Fint*, CountType*, void*, MPI_Offset*, MPI_Aint*,
                       MPI_Fint*);
  using Extent = void(MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint*);
  Convert *read, *write;
  Extent* extent;
  MPI_Aint extra_state;

  static int call(Convert* function, DatarepCallbacks& self, void* user,
                  MPI_Datatype type, CountType count, void* file, MPI_Offset at) {
    MPI_Fint handle = to_fortran(type), error = MPI_SUCCESS;
    function(user, &handle, &count, file, &at, &self.extra_state, &error);
    return error;
  }
  static int call_read(void* user, MPI_Datatype type, CountType count, void* file,
                       MPI_Offset at, void* state) {
    auto& self = *static_cast<DatarepCallbacks*>(state);
    return call(self.read, self, user, type, count, file, at);
  }
  static int call_write(void* user, MPI_Datatype type, CountType count, void* file,
                        MPI_Offset at, void* state) {
    auto& self = *static_cast<DatarepCallbacks*>(state);
    return call(self.write, self, user, type, count, file, at);
  }
  static int call_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
    auto& self = *static_cast<DatarepCallbacks*>(state);
    MPI_Fint handle = to_fortran(type), error = MPI_SUCCESS;
    self.extent(&handle, extent, &self.extra_state, &error);
    return error;
  }
};

template <class CountType, class Register>
int register_with(Register* registering, char* datarep, void* read, void* write,
                  void* extent, MPI_Aint* extra_state, size_t length) {
  using Callbacks = DatarepCallbacks<CountType>;
  const InString name(datarep, length, Strip::kTrailing);
  read = callback(read);
  write = callback(write);
  auto callbacks = std::make_unique<Callbacks>(Callbacks{
      to<typename Callbacks::Convert*>(read), to<typename Callbacks::Convert*>(write),
      to<typename Callbacks::Extent*>(extent), *extra_state});
  const int code =
      registering(name.get(), read != nullptr ? &Callbacks::call_read : nullptr,
                  write != nullptr ? &Callbacks::call_write : nullptr,
                  &Callbacks::call_extent, callbacks.get());
  if (code == MPI_SUCCESS) (void)callbacks.release();
  return code;
}

// --- arguments of programs -----------------------------------------------------------------------
// Strings that lie `stride` bytes apart, up to a blank one, as C's argv.
class Arguments {
 public:
  Arguments(const char* text, size_t length, size_t stride) {
    for (;; text += stride) {
      std::string word = without_blanks(text, length);
      if (word.empty()) break;
      words_.push_back(std::move(word));
    }
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  char** get() noexcept { return pointers_.data(); }
  static std::string without_blanks(const char* text, size_t length) {
    while (length > 0 && text[length - 1] == ' ') --length;
    return {text, length};
  }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

}  // namespace

int grequest_start(void* query_fn, void* free_fn, void* cancel_fn,
                   MPI_Aint* extra_state, MPI_Fint* request) {
  auto callbacks = std::make_unique<GeneralizedCallbacks>(GeneralizedCallbacks{
      to<decltype(GeneralizedCallbacks::query)>(query_fn),
      to<decltype(GeneralizedCallbacks::free)>(free_fn),
      to<decltype(GeneralizedCallbacks::cancel)>(cancel_fn), extra_state});
  MPI_Request handle = MPI_REQUEST_NULL;
  const int code =
      PMPI_Grequest_start(call_query, call_free, call_cancel, callbacks.get(), &handle);
  if (code != MPI_SUCCESS) return code;
  (void)callbacks.release();  // call_free
  *request = to_fortran(handle);
  return MPI_SUCCESS;
}

int register_datarep(char* datarep, void* read, void* write, void* extent,
                     MPI_Aint* extra_state, size_t length) {
  return register_with<int>(PMPI_Register_datarep, datarep, read, write, extent,
                            extra_state, length);
}
int register_datarep_c(char* datarep, void* read, void* write, void* extent,
                       MPI_Aint* extra_state, size_t length) {
  return register_with<MPI_Count>(PMPI_Register_datarep_c, datarep, read, write, extent,
                                  extra_state, length);
}

int comm_spawn(char* command, char* argv, MPI_Fint* maxprocs, MPI_Fint* info,
               MPI_Fint* root, MPI_Fint* comm, MPI_Fint* intercomm,
               MPI_Fint* array_of_errcodes, size_t command_length, size_t argv_length) {
  const InString program(command, command_length, Strip::kBoth);
  const bool has_none = canonical(argv) == &mpc_f_characters_.argv_null;
  Arguments arguments(argv, has_none ? 0 : argv_length, argv_length);
  MPI_Comm children = MPI_COMM_NULL;
  const int code =
      PMPI_Comm_spawn(program.get(), has_none ? MPI_ARGV_NULL : arguments.get(),
                      *maxprocs, to_c<MPI_Info>(*info), *root, to_c<MPI_Comm>(*comm),
                      &children, errcodes(array_of_errcodes));
  if (code == MPI_SUCCESS) *intercomm = to_fortran(children);
  return code;
}

int comm_spawn_multiple(MPI_Fint* count, char* array_of_commands, char* array_of_argv,
                        MPI_Fint* array_of_maxprocs, MPI_Fint* array_of_info,
                        MPI_Fint* root, MPI_Fint* comm, MPI_Fint* intercomm,
                        MPI_Fint* array_of_errcodes, size_t commands_length,
                        size_t argv_length) {
  // Significant at the root only; elsewhere the arrays may be anything.
  int rank = MPI_PROC_NULL;
  PMPI_Comm_rank(to_c<MPI_Comm>(*comm), &rank);
  const auto n = static_cast<size_t>(rank == *root && *count > 0 ? *count : 0);
  const bool has_none = canonical(array_of_argv) == &mpc_f_characters_.argvs_null;
  std::vector<std::string> programs;
  std::vector<Arguments> arguments;
  for (size_t i = 0; i < n; ++i) {
    programs.push_back(Arguments::without_blanks(
        array_of_commands + i * commands_length, commands_length));
    if (!has_none)
      arguments.emplace_back(array_of_argv + i * argv_length, argv_length,
                             n * argv_length);
  }
  std::vector<char*> commands;
  std::vector<char**> lists;
  for (std::string& program : programs) commands.push_back(program.data());
  for (Arguments& list : arguments) lists.push_back(list.get());
  Handles<MPI_Info> infos(array_of_info, static_cast<Count>(n));
  MPI_Comm children = MPI_COMM_NULL;
  const int code = PMPI_Comm_spawn_multiple(
      *count, commands.data(), has_none ? MPI_ARGVS_NULL : lists.data(),
      array_of_maxprocs, infos.data(), *root, to_c<MPI_Comm>(*comm), &children,
      errcodes(array_of_errcodes));
  if (code == MPI_SUCCESS) *intercomm = to_fortran(children);
  return code;
}

}  // namespace mpc::mpi::fortran
