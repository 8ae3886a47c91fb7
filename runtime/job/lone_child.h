#pragma once
// Lone child: a program of ours that a rank starts as its child, and that was meant to be the rank.
//
// Role:      a wrapper (in Python, say) that starts the program as its child is what other launchers
//            take for a rank's command. Where ranks share a process the child runs alone, as a job
//            of one rank; then it says so, once for each job. Not if a rank of the job has called
//            MPI_Init: then the children are others.
// Users:     runtime/job (node_job, singleton), mpi/objects/session.cpp.
// Threads:   any, unless they say otherwise.
// See also:  docs/mpcrun.md, section "Scripts and other programs"; docs/python.md.

#include <string>

namespace mpc::job {

// How a child finds the mark of the job: a path of /proc. The mark is a file without a name: empty,
// or something has been said, or need not be.
inline constexpr char kMarkVariable[] = "MPC_PARENT_JOB";

// Makes the mark of this process's job. Returns the entry for the environment of its ranks; "":
// there is none. Caller: once, before ranks start.
std::string make_mark_for_children();
// A rank of this process uses MPI.
void note_that_ranks_use_mpi() noexcept;
// Caller: a process that becomes a job of one rank.
void warn_if_lone_child();

}  // namespace mpc::job
