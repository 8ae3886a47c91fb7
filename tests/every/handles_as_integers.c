/* Every function that converts handles or statuses, and those on the ABI. */
#include "every.h"

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

/* `mine` and `null` keep their values on the way and back. What is no handle of the
   kind, or no number of one, gives what `use`, a call with `h`, does not take. */
#define CONVERT(Handle, to, from, mine, null, other, error, use) \
  do {                                                           \
    const int number = to(mine), none = to(null);                \
    Handle h;                                                    \
    VALUE(to(mine) == number && number != none);                 \
    VALUE(from(number) == (mine));                               \
    VALUE(from(none) == (null));                                 \
    WRONG_VALUE(to((Handle)(other)) != number);                  \
    h = from(to((Handle)(other)));                               \
    CHECK(h != (mine) && class_of(use) == (error));              \
    WRONG_VALUE(from(12345678) != (mine));                       \
    h = from(12345678);                                          \
    CHECK(class_of(use) == (error));                             \
    WRONG_VALUE(from(-5) != (mine));                             \
    h = from(-5);                                                \
    CHECK(class_of(use) == (error));                             \
  } while (0)
#define KIND(Handle, name, mine, null, other, error, use)                         \
  do {                                                                            \
    CHECK(MPI_##name##_c2f(mine) == MPI_##name##_toint(mine));                    \
    CONVERT(Handle, MPI_##name##_toint, MPI_##name##_fromint, mine, null, other,  \
            error, use);                                                          \
    CONVERT(Handle, MPI_##name##_c2f, MPI_##name##_f2c, mine, null, other, error, \
            use);                                                                 \
  } while (0)

static void sum(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)in, (void)inout, (void)n, (void)type;
}
static void handled(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code; }

static void small_objects(MPI_Comm comm) {
  MPI_Group group;
  MPI_Info info, got;
  MPI_Op op;
  MPI_Datatype type;
  MPI_Errhandler handler;
  MPI_Session session;
  int n;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Info_create(&info);
  MPI_Op_create(sum, 1, &op);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Comm_create_errhandler(handled, &handler);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  KIND(MPI_Comm, Comm, comm, MPI_COMM_NULL, group, MPI_ERR_COMM, MPI_Comm_size(h, &n));
  KIND(MPI_Group, Group, group, MPI_GROUP_NULL, comm, MPI_ERR_GROUP,
       MPI_Group_size(h, &n));
  KIND(MPI_Info, Info, info, MPI_INFO_NULL, comm, MPI_ERR_INFO,
       MPI_Info_get_nkeys(h, &n));
  KIND(MPI_Op, Op, op, MPI_OP_NULL, comm, MPI_ERR_OP, MPI_Op_commutative(h, &n));
  KIND(MPI_Datatype, Type, type, MPI_DATATYPE_NULL, comm, MPI_ERR_TYPE,
       MPI_Type_size(h, &n));
  KIND(MPI_Errhandler, Errhandler, handler, MPI_ERRHANDLER_NULL, comm,
       MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(comm, h));
  KIND(MPI_Session, Session, session, MPI_SESSION_NULL, comm, MPI_ERR_SESSION,
       MPI_Session_get_info(h, &got));
  MPI_Group_free(&group);
  MPI_Info_free(&info);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&session);
}

static void large_objects(MPI_Comm comm) {
  int data = 0, given = 0, n, flag;
  MPI_Request request, sent;
  MPI_Message message;
  MPI_File file;
  MPI_Win win;
  MPI_Recv_init(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  MPI_Isend(&given, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &sent);
  MPI_Mprobe(0, 1, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
  MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  KIND(MPI_Request, Request, request, MPI_REQUEST_NULL, comm, MPI_ERR_REQUEST,
       MPI_Test(&h, &flag, MPI_STATUS_IGNORE));
  KIND(MPI_Message, Message, message, MPI_MESSAGE_NULL, comm, MPI_ERR_REQUEST,
       MPI_Mrecv(&data, 1, MPI_INT, &h, MPI_STATUS_IGNORE));
  KIND(MPI_File, File, file, MPI_FILE_NULL, comm, MPI_ERR_FILE,
       MPI_File_get_amode(h, &n));
  KIND(MPI_Win, Win, win, MPI_WIN_NULL, comm, MPI_ERR_WIN, MPI_Win_sync(h));
  MPI_Mrecv(&data, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_File_close(&file);
  MPI_Win_free(&win);
}

/* The numbers of predefined handles are those of the ABI. */
static void predefined(void) {
  VALUE(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101);
  VALUE(MPI_Comm_fromint(0x101) == MPI_COMM_WORLD);
  VALUE(MPI_Type_toint(MPI_INT) == (int)(MPI_Aint)MPI_INT);
  VALUE(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
  VALUE(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
}

/* Three ints from oneself, with tag 7, are what the status says. */
static int is_ours(const MPI_Status* status) {
  int n = -1;
  MPI_Get_count(status, MPI_INT, &n);
  return n == 3 && status->MPI_SOURCE == 0 && status->MPI_TAG == 7;
}

static void statuses(void) {
  int out[3] = {1, 2, 3}, in[3];
  MPI_Fint f[MPI_F_STATUS_SIZE], again[MPI_F_STATUS_SIZE];
  MPI_Status c, back;
  MPI_F08_status f08;
  MPI_Sendrecv(out, 3, MPI_INT, 0, 7, in, 3, MPI_INT, 0, 7, MPI_COMM_SELF, &c);
  RIGHT(MPI_Status_c2f(&c, f));
  CHECK(f[MPI_F_SOURCE] == 0 && f[MPI_F_TAG] == 7);
  memset(&back, -1, sizeof back);
  RIGHT(MPI_Status_f2c(f, &back));
  CHECK(is_ours(&back));
  RIGHT(MPI_Status_c2f08(&c, &f08));
  CHECK(f08.MPI_SOURCE == 0 && f08.MPI_TAG == 7);
  memset(&back, -1, sizeof back);
  RIGHT(MPI_Status_f082c(&f08, &back));
  CHECK(is_ours(&back));
  memset(again, -1, sizeof again);
  RIGHT(MPI_Status_f082f(&f08, again));
  CHECK(memcmp(again, f, sizeof f) == 0);
  memset(&f08, -1, sizeof f08);
  RIGHT(MPI_Status_f2f08(again, &f08));
  CHECK(f08.MPI_SOURCE == 0 && f08.MPI_TAG == 7);
  WRONG(MPI_ERR_ARG, MPI_Status_c2f(MPI_STATUS_IGNORE, f));
  WRONG(MPI_ERR_ARG, MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back));
  WRONG(MPI_ERR_ARG, MPI_Status_f2c(f, NULL));
  WRONG(MPI_ERR_ARG, MPI_Status_c2f08(MPI_STATUS_IGNORE, &f08));
  WRONG(MPI_ERR_ARG, MPI_Status_f082c(MPI_F08_STATUS_IGNORE, &back));
  WRONG(MPI_ERR_ARG, MPI_Status_f082f(MPI_F08_STATUS_IGNORE, f));
  WRONG(MPI_ERR_ARG, MPI_Status_f2f08(MPI_F_STATUS_IGNORE, &f08));
}

static int number_of(MPI_Info info, const char* key) {
  char value[20] = "";
  int length = sizeof value, flag = 0;
  MPI_Info_get_string(info, key, &length, value, &flag);
  return flag ? atoi(value) : -1;
}

static void abi(void) {
  int major = -1, minor = -1, yes = -7, no = -7, is_set = -7;
  MPI_Info info = MPI_INFO_NULL, wrong;
  RIGHT(MPI_Abi_get_version(&major, &minor));
  CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
  WRONG(MPI_ERR_ARG, MPI_Abi_get_version(NULL, &minor));
  RIGHT(MPI_Abi_get_info(&info));
  CHECK(number_of(info, "mpi_aint_size") == (int)sizeof(MPI_Aint));
  CHECK(number_of(info, "mpi_count_size") == (int)sizeof(MPI_Count));
  CHECK(number_of(info, "mpi_offset_size") == (int)sizeof(MPI_Offset));
  MPI_Info_free(&info);
  WRONG(MPI_ERR_ARG, MPI_Abi_get_info(NULL));
  RIGHT(MPI_Abi_get_fortran_info(&info));
  CHECK(number_of(info, "mpi_integer_size") == 4);
  CHECK(number_of(info, "mpi_double_precision_size") == 8);
  WRONG(MPI_ERR_ARG, MPI_Abi_get_fortran_info(NULL));
  RIGHT(MPI_Abi_set_fortran_info(info));
  MPI_Info_create(&wrong);
  MPI_Info_set(wrong, "mpi_integer_size", "16");
  WRONG(MPI_ERR_ABI, MPI_Abi_set_fortran_info(wrong));
  MPI_Info_free(&wrong);
  MPI_Info_free(&info);
  RIGHT(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &is_set));
  CHECK(is_set == 1 && yes == 1 && no == 0);
  WRONG(MPI_ERR_ARG, MPI_Abi_get_fortran_booleans(sizeof yes, NULL, &no, &is_set));
  RIGHT(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
  yes = -1;
  WRONG(MPI_ERR_ABI, MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  every_begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  small_objects(comm);
  large_objects(comm);
  predefined();
  statuses();
  abi();
  MPI_Comm_free(&comm);
  return every_end();
}
