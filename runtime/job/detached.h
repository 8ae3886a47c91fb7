#pragma once
// Detached: a process that this one starts without being its parent.
//
// Role:      the program of a singleton waits for its own children, and must
//            neither find one of ours among them nor be told of one by SIGCHLD.
//            The starter still sees its end, by a descriptor.
// Users:     mpi/spawn/child_job.cpp.
// Threads:   any; the calling thread waits for some milliseconds.
// See also:  clone(2), pidfd_open(2).

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/wireup/owned_fd.h"

namespace mpc::job {

// Starts it with this process's environment, and in it these variables ("NAME=VALUE"), its working directory, standard
// output
// and error, no input, and no other descriptor. Returns one that is
// readable when the process has ended.
// Errors: kSystem.
Result<wireup::OwnedFd> start_detached(const std::string& path,
                                       const std::vector<std::string>& words,
                                       const std::vector<std::string>& variables);

}  // namespace mpc::job
