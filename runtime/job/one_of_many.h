#pragma once
// One of many: a program of mpcc's that a launcher starts several times, without mpcrun.
//
// Role:      under a launcher with PMIx the process becomes mpcrun before main, with one rank for
//            each process; under another one it is refused, where it would be a job of its own.
// Users:     runtime/job/singleton.cpp.
// Threads:   any.
// See also:  runtime/wireup/starter.h; docs/cluster.md.

namespace mpc::job {

// Ends the process, with what to write instead, if it has been started several times.
void refuse_to_be_one_of_many();

}  // namespace mpc::job
