/* The sessions model: several sessions, process sets, communicators without a parent, buffers and error
 * handlers, again and again, and beside the world model. Argument: "only": MPI_Init is never called. */
#include <string.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int failures, me = -1;
#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      printf("rank %d: %s:%d: %s\n", me, __FILE__, __LINE__, #condition); \
      ++failures;                                                         \
    }                                                                     \
  } while (0)

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}
#define FAILS(call, class) CHECK(class_of(call) == (class))

static MPI_Session open_session(const char* level) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Info info = MPI_INFO_NULL;
  if (level != NULL) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", level);
  }
  CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  CHECK(session != MPI_SESSION_NULL);
  if (level != NULL) MPI_Info_free(&info);
  return session;
}

static MPI_Comm comm_of(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
  CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                   &comm) == MPI_SUCCESS);
  MPI_Group_free(&group);
  return comm;
}

/* Sums over all members, and a ring of messages. */
static void use(MPI_Comm comm) {
  int rank, size, sum = 0, got = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * (size - 1) / 2);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
               (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
  CHECK(got == (rank + size - 1) % size);
}

static void levels(void) {
  static const char* const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                      "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
  for (int i = 0; i < 5; ++i) {
    MPI_Session session = open_session(i < 4 ? names[i] : NULL);
    MPI_Info used;
    char value[100] = "";
    int flag = 0, length = sizeof value;
    CHECK(MPI_Session_get_info(session, &used) == MPI_SUCCESS);
    MPI_Info_get_string(used, "thread_level", &length, value, &flag);
    CHECK(flag && strcmp(value, names[i < 4 ? i : 3]) == 0);
    MPI_Info_free(&used);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS && session == MPI_SESSION_NULL);
  }
  MPI_Session none = MPI_SESSION_NULL;
  MPI_Info wrong;
  MPI_Info_create(&wrong);
  MPI_Info_set(wrong, "thread_level", "MPI_THREAD_MANY");
  FAILS(MPI_Session_init(wrong, MPI_ERRORS_RETURN, &none), MPI_ERR_INFO_VALUE);
  MPI_Info_free(&wrong);
}

static int size_by_info(MPI_Session session, const char* set) {
  MPI_Info info;
  char value[20] = "";
  int flag = 0, length = sizeof value;
  CHECK(MPI_Session_get_pset_info(session, set, &info) == MPI_SUCCESS);
  MPI_Info_get_string(info, "mpi_size", &length, value, &flag);
  MPI_Info_free(&info);
  return flag ? atoi(value) : -1;
}

static void sets(void) {
  MPI_Session session = open_session(NULL);
  int count = 0, seen = 0;
  CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count) == MPI_SUCCESS);
  for (int n = 0; n < count; ++n) {
    char name[MPI_MAX_PSET_NAME_LEN], part[5];
    int length = 0, short_length = sizeof part, members, rank;
    MPI_Group group;
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name) ==
          MPI_SUCCESS);
    length = sizeof name;
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name) ==
          MPI_SUCCESS);
    CHECK(length == (int)strlen(name) + 1);
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &short_length, part);
    CHECK(short_length == length && strlen(part) == 4 && strncmp(part, name, 4) == 0);
    CHECK(MPI_Group_from_session_pset(session, name, &group) == MPI_SUCCESS);
    MPI_Group_size(group, &members);
    MPI_Group_rank(group, &rank);
    CHECK(rank != MPI_UNDEFINED && members >= 1);
    CHECK(members == size_by_info(session, name));
    if (strcmp(name, "mpi://WORLD") == 0) ++seen;
    if (strcmp(name, "mpi://SELF") == 0) seen += members == 1;
    MPI_Comm comm = comm_of(session, name, "of a set");
    use(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
  }
  CHECK(seen == 2);
  MPI_Session_finalize(&session);
}

/* Two sessions at once, with communicators of the same members and of disjoint groups. */
static void several(void) {
  MPI_Session one = open_session(NULL), two = open_session("MPI_THREAD_MULTIPLE");
  MPI_Comm first = comm_of(one, "mpi://WORLD", "first"),
           second = comm_of(two, "mpi://WORLD", "second");
  int rank, size, result, *tag_ub = NULL, flag = 0;
  MPI_Comm_compare(first, second, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_get_attr(first, MPI_TAG_UB, &tag_ub, &flag);
  CHECK(flag && *tag_ub >= 32767);
  MPI_Comm_rank(first, &rank);
  MPI_Comm_size(first, &size);
  MPI_Group all, part;
  MPI_Comm half, dup;
  MPI_Comm_group(first, &all);
  int range[1][3] = {{rank % 2, (size - 1 - rank % 2) / 2 * 2 + rank % 2, 2}};
  MPI_Group_range_incl(all, 1, range, &part);
  CHECK(MPI_Comm_create_from_group(part, "halves", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                   &half) == MPI_SUCCESS);
  MPI_Comm_dup(half, &dup);
  use(half);
  use(first);
  use(dup);
  use(second);
  if (size > 1) {
    MPI_Group others;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Group_difference(all, part, &others);
    int remote = -1, leader = rank < 2;
    CHECK(MPI_Intercomm_create_from_groups(part, 0, leader ? others : MPI_GROUP_NULL, 0,
                                           "x", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                           &inter) == MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(remote == (rank % 2 ? (size + 1) / 2 : size / 2));
    int mine = 1, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote);
    CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS && inter == MPI_COMM_NULL);
    MPI_Group_free(&others);
  }
  MPI_Comm none = half;
  CHECK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL,
                                   MPI_ERRORS_RETURN, &none) == MPI_SUCCESS);
  CHECK(none == MPI_COMM_NULL);
  MPI_Group_free(&all);
  MPI_Group_free(&part);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&half);
  MPI_Comm_free(&first);
  MPI_Session_finalize(&one);
  use(second);
  CHECK(MPI_Comm_disconnect(&second) == MPI_SUCCESS && second == MPI_COMM_NULL);
  MPI_Session_finalize(&two);
}

/* The session's buffer serves all that comes from it, made before it was attached or after. */
static void buffers(void) {
  enum { kBytes = 10000 };
  char memory[kBytes + MPI_BSEND_OVERHEAD], out[kBytes], in[kBytes], *detached = NULL;
  MPI_Session session = open_session(NULL);
  MPI_Comm comm = comm_of(session, "mpi://WORLD", "buffers");
  int rank, size, bytes = 0;
  MPI_Request flushed;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  memset(out, rank, sizeof out);
  FAILS(MPI_Bsend(out, kBytes, MPI_CHAR, rank, 1, comm), MPI_ERR_BUFFER);
  CHECK(MPI_Session_attach_buffer(session, memory, sizeof memory) == MPI_SUCCESS);
  FAILS(MPI_Session_attach_buffer(session, memory, sizeof memory), MPI_ERR_BUFFER);
  for (int i = 0; i < 3; ++i) {
    CHECK(MPI_Bsend(out, kBytes, MPI_CHAR, (rank + 1) % size, 0, comm) == MPI_SUCCESS);
    MPI_Recv(in, kBytes, MPI_CHAR, (rank + size - 1) % size, 0, comm,
             MPI_STATUS_IGNORE);
    CHECK(in[0] == (char)((rank + size - 1) % size) && in[kBytes - 1] == in[0]);
    if (i == 0) CHECK(MPI_Session_flush_buffer(session) == MPI_SUCCESS);
    if (i == 1) {
      CHECK(MPI_Session_iflush_buffer(session, &flushed) == MPI_SUCCESS);
      MPI_Wait(&flushed, MPI_STATUS_IGNORE);
    }
  }
  CHECK(MPI_Session_detach_buffer(session, &detached, &bytes) == MPI_SUCCESS);
  CHECK(detached == memory && bytes == (int)sizeof memory);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

static int handled;
static void note(MPI_Session* session, int* code, ...) {
  handled = *session != MPI_SESSION_NULL ? *code : -1;
}
static void note_comm(MPI_Comm* comm, int* code, ...) {
  handled = *comm == MPI_COMM_NULL ? 1 : *code;
}

static void wrong_use(void) {
  MPI_Session session = open_session(NULL);
  MPI_Errhandler mine, got, of_comm;
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info info;
  char name[MPI_MAX_PSET_NAME_LEN];
  int length = sizeof name;
  CHECK(MPI_Session_get_errhandler(session, &got) == MPI_SUCCESS &&
        got == MPI_ERRORS_RETURN);
  FAILS(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group), MPI_ERR_ARG);
  FAILS(MPI_Group_from_session_pset(session, NULL, &group), MPI_ERR_ARG);
  FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1000, &length, name),
        MPI_ERR_ARG);
  FAILS(MPI_Session_get_pset_info(session, "mpi://NOWHERE", &info), MPI_ERR_ARG);
  CHECK(MPI_Session_create_errhandler(note, &mine) == MPI_SUCCESS);
  CHECK(MPI_Comm_create_errhandler(note_comm, &of_comm) == MPI_SUCCESS);
  FAILS(MPI_Session_set_errhandler(session, of_comm), MPI_ERR_ARG);
  CHECK(MPI_Session_set_errhandler(session, mine) == MPI_SUCCESS);
  FAILS(MPI_Group_from_session_pset(session, "none", &group), MPI_ERR_ARG);
  CHECK(handled == MPI_ERR_ARG);
  CHECK(MPI_Session_call_errhandler(session, MPI_ERR_TAG) == MPI_SUCCESS &&
        handled == MPI_ERR_TAG);
  CHECK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN) == MPI_SUCCESS);
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  FAILS(MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, mine, &comm),
        MPI_ERR_ARG);
  FAILS(
      MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
      MPI_ERR_ARG);
  FAILS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL,
                                   MPI_ERRORS_RETURN, &comm),
        MPI_ERR_GROUP);
  FAILS(MPI_Intercomm_create_from_groups(group, 1, group, 0, "x", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &comm),
        MPI_ERR_RANK);
  FAILS(MPI_Intercomm_create_from_groups(group, 0, group, 0, "x", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &comm),
        MPI_ERR_RANK);
  FAILS(MPI_Intercomm_create_from_groups(group, 0, group, 7, "x", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &comm),
        MPI_ERR_RANK);
  CHECK(comm == MPI_COMM_NULL);
  MPI_Errhandler_free(&mine);
  MPI_Errhandler_free(&of_comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}

static void all(void) {
  levels();
  sets();
  several();
  buffers();
  wrong_use();
}

int main(int argc, char** argv) {
  const int only = argc > 1 && strcmp(argv[1], "only") == 0;
  int flag = 1;
  all();
  MPI_Initialized(&flag);
  CHECK(!flag);
  MPI_Session whole = open_session(NULL);
  MPI_Comm comm = comm_of(whole, "mpi://WORLD", "whole");
  MPI_Comm_rank(comm, &me);
  if (!only) {
    MPI_Init(&argc, &argv);
    use(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_Comm_disconnect(&(MPI_Comm){MPI_COMM_WORLD}), MPI_ERR_COMM);
    all();
    MPI_Finalize();
  }
  use(comm);
  int sum = 0;
  MPI_Allreduce(&failures, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&whole);
  all(); /* after everything has ended once */
  if (me == 0 && sum == 0 && failures == 0) printf("No Errors\n");
  return sum + failures != 0;
}
