#ifndef MPC_SCHEDULE_H
#define MPC_SCHEDULE_H
/* Schedules: write your own non-blocking collective.
 *
 * A collective is a graph on each rank: send, receive, reduce and copy nodes, and which node
 * has to wait for which. Build it once, start it as often as you like. It progresses in the
 * background as MPI_Ibcast does, and completes through an MPI_Request.
 *
 *   MPCX_Builder b;  MPCX_Schedule s;  MPCX_Node in, out;  MPI_Request r;
 *   MPCX_Builder_create(comm, &b);
 *   MPCX_Recv(b, buffer, n, MPI_INT, rank - 1, 0, &in);      // posted at the start
 *   MPCX_Send(b, buffer, n, MPI_INT, rank + 1, 0, &out);
 *   MPCX_Connect(b, in, out);                                // only when it is there
 *   MPCX_Commit(&b, &s);
 *   MPCX_Schedule_start(s, &r);
 *   MPI_Wait(&r, MPI_STATUS_IGNORE);
 *   MPCX_Schedule_free(&s);
 *
 * All functions return MPI error codes, after the communicator's error handler has been
 * called. docs/schedules.md explains; examples/own_collective.c is a whole program. */

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MPCX_Builder_s* MPCX_Builder;
typedef struct MPCX_Schedule_s* MPCX_Schedule;
typedef int MPCX_Node;
#define MPCX_BUILDER_NULL ((MPCX_Builder)0)
#define MPCX_SCHEDULE_NULL ((MPCX_Schedule)0)
#define MPCX_NODE_NULL (-1) /* MPCX_Connect does nothing with it */
#define MPCX_TAG_UB 1023    /* largest tag of a node */

/* Local. The communicator may be freed while builders and schedules on it live. */
int MPCX_Builder_create(MPI_Comm comm, MPCX_Builder* builder);
/* Drops a builder that was not committed. */
int MPCX_Builder_free(MPCX_Builder* builder);

/* Nodes. Buffers are remembered by address and must exist when the schedule is started.
 * Two messages of one schedule between the same two ranks need different tags, or must be
 * ordered by MPCX_Connect on both sides. MPI_PROC_NULL gives a node that does nothing. */
int MPCX_Send(MPCX_Builder builder, const void* buffer, MPI_Count count,
              MPI_Datatype type, int dest, int tag, MPCX_Node* node);
int MPCX_Recv(MPCX_Builder builder, void* buffer, MPI_Count count, MPI_Datatype type,
              int source, int tag, MPCX_Node* node);
/* inout = in op inout, as MPI_Reduce_local. All reductions of one schedule have the same
 * operation and datatype. A user's function runs as the rank, one at a time, in one of its
 * MPI calls or, with MPI_THREAD_MULTIPLE (setting mpi.user_functions), on its progress thread. */
int MPCX_Reduce(MPCX_Builder builder, const void* in, void* inout, MPI_Count count,
                MPI_Datatype type, MPI_Op op, MPCX_Node* node);
int MPCX_Copy(MPCX_Builder builder, const void* from, MPI_Count from_count,
              MPI_Datatype from_type, void* to, MPI_Count to_count,
              MPI_Datatype to_type, MPCX_Node* node);
/* Does nothing: joins many nodes with many. */
int MPCX_Nop(MPCX_Builder builder, MPCX_Node* node);
/* `after` starts only when `before` is complete. */
int MPCX_Connect(MPCX_Builder builder, MPCX_Node before, MPCX_Node after);

/* Local. Ends the builder, which becomes MPCX_BUILDER_NULL; after an error (a cycle of
 * dependencies: MPI_ERR_ARG) it stays and can only be freed. */
int MPCX_Commit(MPCX_Builder* builder, MPCX_Schedule* schedule);

/* Collective over the communicator, as any MPI_I... collective: all members start theirs, in
 * the same order among the collectives of the communicator, though a member may have no nodes.
 * Returns at once; `request` is for MPI_Test, MPI_Wait, MPI_Waitall and the like. */
int MPCX_Schedule_start(MPCX_Schedule schedule, MPI_Request* request);
/* The persistent form (MPI_Start, MPI_Startall, MPI_Request_free); collective. */
int MPCX_Schedule_init(MPCX_Schedule schedule, MPI_Info info, MPI_Request* request);
/* Local. Started operations continue. */
int MPCX_Schedule_free(MPCX_Schedule* schedule);

/* Collective, as MPCX_Schedule_start, but nothing is sent. Proves that the members' schedules
 * fit together: each send meets one receive that has room for it, no order of messages is left
 * to chance, no rank waits for ever even if no message is buffered, and nodes that touch the
 * same bytes are ordered. MPI_ERR_ARG at all members otherwise; MPI_Error_string names rank,
 * node and fault. For tests: it takes time and some 60 bytes of memory for each byte of the
 * buffers, so prove small counts; MPI_ERR_COUNT above 1 MiB or 10000 nodes of one member.
 * Not on intercommunicators (MPI_ERR_COMM). */
int MPCX_Schedule_verify(MPCX_Schedule schedule);

#define MPCX_FORM_TEXT 0
#define MPCX_FORM_DOT 1 /* Graphviz */
/* The schedule as readable text. Writes at most `size` characters with a final zero; *length is the
 * length of the whole text without it. `text` may be null when size is 0. */
int MPCX_Schedule_dump(MPCX_Schedule schedule, int form, char* text, MPI_Count size,
                       MPI_Count* length);

#ifdef __cplusplus
}
#endif
#endif /* MPC_SCHEDULE_H */
