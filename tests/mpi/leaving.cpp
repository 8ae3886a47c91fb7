// Callbacks that do not come back: they throw, or jump out. What they leave is as it was before the call, and
// nothing is left over (mpi.check=full).
#include <mpi.h>

#include <csetjmp>
#include <cstdio>
#include <stdexcept>

namespace {

int failures = 0;
jmp_buf place;

void check(bool is_right, const char* what) {
  if (is_right) return;
  ++failures;
  std::printf("%s\n", what);
}

void throw_error(MPI_Comm*, int*, ...) { throw std::runtime_error("an error"); }
void jump(MPI_Comm*, int*, ...) { longjmp(place, 1); }
void throw_number(void*, void*, int*, MPI_Datatype*) { throw 42; }
int refuse_comm(MPI_Comm, int, void*, void*, void*, int*) { throw 43; }
int refuse_type(MPI_Datatype, int, void*, void*, void*, int*) { throw 44; }

void set_handler(MPI_Comm_errhandler_function* function) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(function, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
}

template <class Call>
int caught(Call call) {
  try {
    call();
  } catch (int number) {
    return number;
  } catch (const std::runtime_error&) {
    return 1;
  }
  return 0;
}

void leave_handlers(int rank, int size) {
  int numbers[4] = {1, 2, 3, 4};
  set_handler(throw_error);
  for (int i = 0; i < 100; ++i) {
    check(caught([&] { MPI_Send(numbers, 1, MPI_INT, size, 0, MPI_COMM_WORLD); }) == 1,
          "no exception of a send");
    const int is_long = caught([&] {
      MPI_Sendrecv(numbers, 2 + rank % 2, MPI_INT, (rank + 1) % size, 3, numbers + 3, 1,
                   MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    });
    check(is_long == 1, "no exception of a message that is too long");
  }
  set_handler(jump);
  volatile int jumps = 0;
  for (volatile int i = 0; i < 100; ++i) {
    if (setjmp(place) == 0)
      MPI_Send(numbers, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    else
      ++jumps;
  }
  check(jumps == 100, "a jump is missing");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void leave_functions() {
  int x = 1, y = 2, comm_key, type_key;
  MPI_Op op;
  MPI_Op_create(throw_number, 1, &op);
  check(caught([&] { MPI_Reduce_local(&x, &y, 1, MPI_INT, op); }) == 42,
        "no exception of an operation");
  MPI_Op_free(&op);

  MPI_Comm comm;
  MPI_Comm_create_keyval(refuse_comm, MPI_COMM_NULL_DELETE_FN, &comm_key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, comm_key, &x);
  check(caught([&] { MPI_Comm_dup(MPI_COMM_WORLD, &comm); }) == 43,
        "no exception of a communicator's copy");
  MPI_Comm_delete_attr(MPI_COMM_WORLD, comm_key);
  MPI_Comm_free_keyval(&comm_key);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_free(&comm);

  MPI_Datatype type, copy;
  MPI_Type_create_keyval(refuse_type, MPI_TYPE_NULL_DELETE_FN, &type_key, nullptr);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_set_attr(type, type_key, &x);
  check(caught([&] { MPI_Type_dup(type, &copy); }) == 44,
        "no exception of a type's copy");
  MPI_Type_free(&type);
  MPI_Type_free_keyval(&type_key);
}

}  // namespace

int main(int argc, char** argv) {
  int rank, size, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  leave_handlers(rank, size);
  leave_functions();
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) std::printf("No Errors\n");
  MPI_Finalize();
  return failures != 0;
}
