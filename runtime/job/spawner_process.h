#pragma once
// SpawnerProcess: the process that has spawned a job, as text, and found by that text.
//
// Role:      a number alone is given out again, and means something on one host only.
// Users:     mpi/spawn/child_job.cpp writes the text; runtime/job/spawner_watch.cpp and tools/mpclaunch/shim.cpp
//            watch the process.
// Threads:   any.
// See also:  pidfd_open(2), runtime/job/spawned_words.h.

#include <string>

namespace mpc::job {

// This process: its number, when it was started, and where the number is known; without a space. "": this system
// does not say.
std::string own_process_text();

struct SpawnerProcess {
  // kUnknown: a process of another host, or this system does not say.
  enum class Fate { kUnknown, kRuns, kEnded };
  Fate fate = Fate::kUnknown;
  int descriptor =
      -1;  // kRuns: readable when it has ended. Ownership: the caller closes it
};
SpawnerProcess open_process(const std::string& text);

// What is said if it has ended too early.
inline constexpr char kSpawnerHasEnded[] =
    "mpcrun: the program that has spawned this job has ended before all ranks were in "
    "MPI_Init; the job is ended";

}  // namespace mpc::job
