/* Every function of the sessions model: run with any number of ranks. */
#include "every.h"

static void info_of(MPI_Session session) {
  MPI_Info used = MPI_INFO_NULL;
  char value[100] = "";
  int flag = 0, length = sizeof value;
  RIGHT(MPI_Session_get_info(session, &used));
  MPI_Info_get_string(used, "thread_level", &length, value, &flag);
  CHECK(flag && strcmp(value, "MPI_THREAD_FUNNELED") == 0);
  MPI_Info_free(&used);
  WRONG(MPI_ERR_SESSION, MPI_Session_get_info(MPI_SESSION_NULL, &used));
  WRONG(MPI_ERR_ARG, MPI_Session_get_info(session, NULL));
}

static void one_set(MPI_Session session, const char* name) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  char value[20] = "";
  int flag = 0, length = sizeof value, members = -1;
  RIGHT(MPI_Session_get_pset_info(session, name, &info));
  MPI_Info_get_string(info, "mpi_size", &length, value, &flag);
  MPI_Info_free(&info);
  RIGHT(MPI_Group_from_session_pset(session, name, &group));
  MPI_Group_size(group, &members);
  CHECK(flag && atoi(value) == members);
  if (strcmp(name, "mpi://WORLD") == 0) CHECK(members == every_size);
  if (strcmp(name, "mpi://SELF") == 0) CHECK(members == 1);
  MPI_Group_free(&group);
}

static void sets(MPI_Session session) {
  int n = 0, length, found = 0;
  char name[MPI_MAX_PSET_NAME_LEN], part[4];
  MPI_Info info = MPI_INFO_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  RIGHT(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
  CHECK(n >= 2);
  WRONG(MPI_ERR_SESSION,
        MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &n));
  WRONG(MPI_ERR_ARG, MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL));
  for (int i = 0; i < n; ++i) {
    length = 0; /* asks only for the length */
    RIGHT(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL));
    CHECK(length > 1 && length <= (int)sizeof name);
    RIGHT(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
    CHECK(length == (int)strlen(name) + 1);
    length = sizeof part;
    RIGHT(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, part));
    CHECK(strlen(part) == 3 && strncmp(part, name, 3) == 0);
    found += strcmp(name, "mpi://WORLD") == 0 || strcmp(name, "mpi://SELF") == 0;
    one_set(session, name);
  }
  CHECK(found == 2);
  length = sizeof name;
  WRONG(MPI_ERR_ARG,
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name));
  WRONG(MPI_ERR_ARG,
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, name));
  WRONG(MPI_ERR_ARG,
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL));
  WRONG(MPI_ERR_SESSION,
        MPI_Session_get_nth_pset(MPI_SESSION_NULL, MPI_INFO_NULL, 0, &length, name));
  WRONG(MPI_ERR_ARG, MPI_Session_get_pset_info(session, "mpi://NOWHERE", &info));
  WRONG(MPI_ERR_SESSION,
        MPI_Session_get_pset_info(MPI_SESSION_NULL, "mpi://SELF", &info));
  WRONG(MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group));
  WRONG(MPI_ERR_SESSION,
        MPI_Group_from_session_pset(MPI_SESSION_NULL, "mpi://SELF", &group));
}

static void communicators(MPI_Session session) {
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL, none = MPI_COMM_WORLD;
  int size = -1, rank = -1, sum = 0;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  RIGHT(MPI_Comm_create_from_group(group, "every", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                   &comm));
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  CHECK(size == every_size && rank == every_rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * (size - 1) / 2);
  MPI_Comm_free(&comm);
  RIGHT(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "every", MPI_INFO_NULL,
                                   MPI_ERRORS_RETURN, &none));
  CHECK(none == MPI_COMM_NULL);
  WRONG(MPI_ERR_GROUP,
        MPI_Comm_create_from_group(MPI_GROUP_NULL, "every", MPI_INFO_NULL,
                                   MPI_ERRORS_RETURN, &comm));
  WRONG(MPI_ERR_ARG, MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &comm));
  WRONG(MPI_ERR_ARG, MPI_Comm_create_from_group(group, "every", MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, NULL));
  MPI_Group_free(&group);
}

int main(int argc, char** argv) {
  MPI_Session session = MPI_SESSION_NULL, second;
  MPI_Info info;
  every_begin(&argc, &argv);
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED");
  RIGHT(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
  CHECK(session != MPI_SESSION_NULL);
  RIGHT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
  CHECK(second != session);
  WRONG(MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL));
  MPI_Info_free(&info);
  info_of(session);
  sets(session);
  communicators(session);
  RIGHT(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
  WRONG(MPI_ERR_SESSION, MPI_Session_finalize(&session));
  RIGHT(MPI_Session_finalize(&second));
  WRONG(MPI_ERR_ARG, MPI_Session_finalize(NULL));
  return every_end();
}
