/* <mpc/schedule.h>: reductions with the user's function, several graphs in flight between other
 * collectives, types with gaps, MPI_BOTTOM, empty members, the dump, and errors. */
#include <mpc/schedule.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int rank, size;

/* Maps z -> a z + b modulo 2^32: associative, not commutative. */
typedef struct {
  unsigned a, b;
} Map;
static int user_calls;
static void compose(void* in, void* inout, int* n, MPI_Datatype* type) {
  const Map* x = in;
  Map* y = inout;
  int bytes = 0;
  ++user_calls;
  MPI_Type_size(*type,
                &bytes); /* it was freed meanwhile, the function does not notice */
  CHECK(bytes == (int)sizeof(Map));
  for (int i = 0; i < *n; ++i) {
    const Map both = {x[i].a * y[i].a, x[i].b * y[i].a + y[i].b};
    y[i] = both;
  }
}
static Map map_of(int r) {
  const Map m = {(unsigned)(2 * r + 3), (unsigned)(7 * r + 1)};
  return m;
}

/* Along the chain of ranks, as MPI_Scan. */
static MPCX_Schedule scan(Map* before, Map* value, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm) {
  MPCX_Builder b;
  MPCX_Schedule s;
  MPCX_Node in, sum = MPCX_NODE_NULL, out;
  CHECK(MPCX_Builder_create(comm, &b) == MPI_SUCCESS);
  CHECK(MPCX_Recv(b, before, 1, type, rank == 0 ? MPI_PROC_NULL : rank - 1, 5, &in) ==
        0);
  if (rank > 0) {
    CHECK(MPCX_Reduce(b, before, value, 1, type, op, &sum) == MPI_SUCCESS);
    CHECK(MPCX_Connect(b, in, sum) == MPI_SUCCESS);
  }
  CHECK(MPCX_Send(b, value, 1, type, rank + 1 == size ? MPI_PROC_NULL : rank + 1, 5,
                  &out) == 0);
  CHECK(MPCX_Connect(b, sum, out) == MPI_SUCCESS);
  CHECK(MPCX_Commit(&b, &s) == MPI_SUCCESS);
  CHECK(b == MPCX_BUILDER_NULL);
  return s;
}

static void test_scan_with_user_operation(MPI_Comm comm) {
  MPI_Datatype type;
  MPI_Op op;
  MPI_Request requests[3];
  Map before, value = map_of(rank), want = map_of(0);
  int sum, one = 1;
  MPI_Type_contiguous(2, MPI_UNSIGNED, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(compose, 0, &op);
  MPCX_Schedule s = scan(&before, &value, type, op, comm);
  MPI_Type_free(&type);
  MPI_Op_free(&op);
  for (int r = 1; r <= rank; ++r) {
    const Map m = map_of(r);
    const Map both = {want.a * m.a, want.b * m.a + m.b};
    want = both;
  }
  /* Between other collectives: its messages are its own. */
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
  CHECK(MPCX_Schedule_start(s, &requests[1]) == MPI_SUCCESS);
  MPI_Ibarrier(comm, &requests[2]);
  CHECK(MPCX_Schedule_free(&s) == MPI_SUCCESS);
  CHECK(s == MPCX_SCHEDULE_NULL);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK(sum == size);
  CHECK(value.a == want.a && value.b == want.b);
  CHECK(user_calls == (rank > 0));
}

/* A collective of MPI whose operation and datatype are freed while it is in flight. */
static void test_freed_while_in_flight(MPI_Comm comm) {
  MPI_Datatype type, again;
  MPI_Op op;
  MPI_Request requests[2];
  Map value = map_of(rank), all, scanned, want = map_of(0);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(compose, 0, &op);
  MPI_Iallreduce(&value, &all, 1, type, op, comm, &requests[0]);
  MPI_Scan_init(&value, &scanned, 1, type, op, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Type_free(&type);
  MPI_Op_free(&op);
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &again); /* may lie where the freed one was */
  MPI_Start(&requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int r = 1; r < size; ++r) {
    if (r == rank + 1) CHECK(scanned.a == want.a && scanned.b == want.b);
    const Map m = map_of(r);
    const Map both = {want.a * m.a, want.b * m.a + m.b};
    want = both;
  }
  CHECK(all.a == want.a && all.b == want.b);
  MPI_Request_free(&requests[1]);
  MPI_Type_free(&again);
}

/* Rank 0 gives everyone else every second of its numbers; only it has more than one node. */
static void test_gaps_and_persistence(MPI_Comm comm) {
  enum { kCount = 5000 };
  int* data = malloc(2 * kCount * sizeof *data);
  MPI_Datatype gaps, absolute;
  MPI_Aint address;
  MPCX_Builder b;
  MPCX_Schedule s;
  MPI_Request request;
  MPI_Type_vector(kCount, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Get_address(data, &address);
  MPI_Type_create_hindexed(1, (int[]){1}, &address, gaps, &absolute);
  MPI_Type_commit(&absolute);
  MPCX_Builder_create(comm, &b);
  if (rank == 0)
    for (int r = 1; r < size; ++r) CHECK(MPCX_Send(b, data, 1, gaps, r, 0, NULL) == 0);
  else
    CHECK(MPCX_Recv(b, MPI_BOTTOM, 1, absolute, 0, 0, NULL) == MPI_SUCCESS);
  CHECK(MPCX_Commit(&b, &s) == MPI_SUCCESS);
  CHECK(MPCX_Schedule_init(s, MPI_INFO_NULL, &request) == MPI_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2 * kCount; ++i) data[i] = rank == 0 ? i + round : -1;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int bad = 0;
    for (int i = 0; i < 2 * kCount; ++i)
      bad += data[i] != (rank == 0 || i % 2 == 0 ? i + round : -1);
    CHECK(bad == 0);
  }
  MPI_Request_free(&request);
  MPCX_Schedule_free(&s);
  MPI_Type_free(&gaps);
  MPI_Type_free(&absolute);
  free(data);
}

static void test_copy_nop_and_dump(MPI_Comm comm) {
  int from[4] = {1, 2, 3, 4}, to[4] = {0, 0, 0, 0};
  char text[2000], small[8];
  MPI_Count length, again;
  MPCX_Builder b;
  MPCX_Schedule s;
  MPCX_Node copies[2], join, last;
  MPI_Request request;
  MPCX_Builder_create(comm, &b);
  MPCX_Copy(b, from, 2, MPI_INT, to + 2, 2, MPI_INT, &copies[0]);
  MPCX_Copy(b, from + 2, 2, MPI_INT, to, 8, MPI_BYTE, &copies[1]);
  MPCX_Nop(b, &join);
  MPCX_Copy(b, to, 1, MPI_INT, from, 1, MPI_INT, &last);
  MPCX_Connect(b, copies[0], join);
  MPCX_Connect(b, copies[1], join);
  MPCX_Connect(b, join, last);
  CHECK(MPCX_Commit(&b, &s) == MPI_SUCCESS);
  CHECK(MPCX_Schedule_dump(s, MPCX_FORM_TEXT, text, sizeof text, &length) ==
        MPI_SUCCESS);
  CHECK((MPI_Count)strlen(text) == length);
  CHECK(strstr(text, "4 nodes") && strstr(text, "copy") && strstr(text, "nop"));
  CHECK(MPCX_Schedule_dump(s, MPCX_FORM_TEXT, small, sizeof small, &again) ==
        MPI_SUCCESS);
  CHECK(again == length && strlen(small) == 7 && strncmp(small, text, 7) == 0);
  CHECK(MPCX_Schedule_dump(s, MPCX_FORM_DOT, text, sizeof text, NULL) == MPI_SUCCESS);
  CHECK(strncmp(text, "digraph", 7) == 0 && strstr(text, "n2 -> n3"));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK(MPCX_Schedule_dump(s, 7, text, sizeof text, NULL) == MPI_ERR_ARG);
  MPCX_Schedule_start(s, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(to[0] == 3 && to[1] == 4 && to[2] == 1 && to[3] == 2 && from[0] == 3);
  MPCX_Schedule_free(&s);
  /* Nothing to do is complete at once. */
  MPCX_Builder_create(comm, &b);
  MPCX_Commit(&b, &s);
  MPCX_Schedule_start(s, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPCX_Schedule_free(&s);
}

static int handler_calls;
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++handler_calls;
}

static void test_errors(MPI_Comm comm) {
  int data[4];
  MPCX_Builder b, kept;
  MPCX_Schedule s = MPCX_SCHEDULE_NULL;
  MPCX_Node x, y;
  MPI_Request request;
  MPI_Errhandler mine;
  MPI_Comm_create_errhandler(handler, &mine);
  MPI_Comm_set_errhandler(comm, mine);
  MPI_Errhandler_free(&mine);
  MPCX_Builder_create(comm, &b);
  CHECK(MPCX_Send(b, data, 1, MPI_INT, size, 0, &x) == MPI_ERR_RANK);
  CHECK(MPCX_Send(b, data, 1, MPI_INT, 0, MPCX_TAG_UB + 1, &x) == MPI_ERR_TAG);
  CHECK(MPCX_Send(b, data, -1, MPI_INT, 0, 0, &x) == MPI_ERR_COUNT);
  CHECK(MPCX_Send(b, data, 1, MPI_DATATYPE_NULL, 0, 0, &x) == MPI_ERR_TYPE);
  CHECK(MPCX_Recv(b, data, 1, MPI_INT, MPI_ANY_SOURCE, 0, &x) == MPI_ERR_RANK);
  CHECK(MPCX_Copy(b, data, 2, MPI_INT, data + 2, 1, MPI_INT, &x) == MPI_ERR_TRUNCATE);
  CHECK(MPCX_Reduce(b, data, data + 1, 1, MPI_DOUBLE, MPI_BAND, &x) == MPI_ERR_OP);
  CHECK(MPCX_Reduce(b, data, data + 1, 1, MPI_INT, MPI_SUM, &x) == MPI_SUCCESS);
  CHECK(MPCX_Reduce(b, data, data + 1, 1, MPI_INT, MPI_MAX, &y) == MPI_ERR_OP);
  CHECK(MPCX_Nop(b, &y) == MPI_SUCCESS);
  CHECK(MPCX_Connect(b, x, 99) == MPI_ERR_ARG);
  CHECK(MPCX_Connect(b, x, y) == MPI_SUCCESS && MPCX_Connect(b, y, x) == MPI_SUCCESS);
  CHECK(MPCX_Commit(&b, &s) == MPI_ERR_ARG); /* a cycle */
  CHECK(b != MPCX_BUILDER_NULL && s == MPCX_SCHEDULE_NULL);
  CHECK(handler_calls == 10);
  CHECK(MPCX_Builder_free(&b) == MPI_SUCCESS && b == MPCX_BUILDER_NULL);
  /* Without an object the error goes to MPI_COMM_SELF's handler. */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(MPCX_Builder_free(&b) == MPI_ERR_ARG);
  CHECK(MPCX_Schedule_start(s, &request) == MPI_ERR_ARG);
  CHECK(MPCX_Builder_create(MPI_COMM_NULL, &b) == MPI_ERR_COMM);
  MPCX_Builder_create(comm, &kept);
  CHECK(MPCX_Schedule_start((MPCX_Schedule)kept, &request) == MPI_ERR_ARG);
  CHECK(MPCX_Builder_free(&kept) == MPI_SUCCESS);
  CHECK(handler_calls == 10);
}

/* Builds what `what` says on a ring of ranks, proves it, and returns the error's class. */
enum { kRight, kShort, kLong, kNobodyReceives, kCircle, kChance, kRace, kLarge };
static int proof(int what, MPI_Comm comm, char* text) {
  static int data[600000], other[8];
  MPCX_Builder b;
  MPCX_Schedule s;
  MPCX_Node in, out, again;
  MPI_Datatype gaps;
  int code, class, length;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const int sent = what == kLong ? 5 : what == kShort ? 3 : what == kLarge ? 600000 : 4;
  MPI_Type_vector(4, 1, 2, MPI_INT, &gaps); /* 4 of 7, at every second place */
  MPI_Type_commit(&gaps);
  MPCX_Builder_create(comm, &b);
  MPCX_Send(b, what == kLarge ? data : other, sent, MPI_INT, right, 3, &out);
  if (what != kNobodyReceives || rank != size - 1) {
    if (what == kLarge)
      MPCX_Recv(b, data, sent, MPI_INT, left, 3, &in);
    else
      MPCX_Recv(b, data + 10, 1, gaps, left, 3, &in);
    if (what == kCircle) MPCX_Connect(b, in, out);
    if (what == kRace)
      MPCX_Copy(b, data + 12, 1, MPI_INT, data + 50, 1, MPI_INT, &again);
    if (what == kRight)
      MPCX_Copy(b, data + 11, 1, MPI_INT, data + 50, 1, MPI_INT, &again);
  }
  if (what == kChance) {
    MPCX_Send(b, other, sent, MPI_INT, right, 3, &again);
    MPCX_Recv(b, data + 20, sent, MPI_INT, left, 3, &again);
  }
  MPI_Type_free(&gaps);
  CHECK(MPCX_Commit(&b, &s) == MPI_SUCCESS);
  code = MPCX_Schedule_verify(s);
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  CHECK(MPCX_Schedule_free(&s) == MPI_SUCCESS);
  return class;
}

static void test_proofs(void) {
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK(proof(kRight, comm, text) == MPI_SUCCESS);
  CHECK(proof(kShort, comm, text) == MPI_SUCCESS);
  CHECK(proof(kLong, comm, text) == MPI_ERR_ARG &&
        strstr(text, "expects 16 bytes, gets 20"));
  CHECK(proof(kNobodyReceives, comm, text) == MPI_ERR_ARG &&
        strstr(text, "without its partner"));
  CHECK(proof(kCircle, comm, text) == MPI_ERR_ARG && strstr(text, "deadlock"));
  CHECK(proof(kChance, comm, text) == MPI_ERR_ARG &&
        strstr(text, "no order between them"));
  CHECK(proof(kRace, comm, text) == MPI_ERR_ARG && strstr(text, "races with node 1"));
  CHECK(proof(kLarge, comm, text) == MPI_ERR_COUNT);
  CHECK(proof(kRight, comm, text) == MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  test_scan_with_user_operation(comm);
  test_freed_while_in_flight(comm);
  test_gaps_and_persistence(comm);
  test_copy_nop_and_dump(comm);
  test_errors(comm);
  test_proofs();
  MPI_Comm_free(&comm);
  return finish();
}
