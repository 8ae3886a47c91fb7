#pragma once
// Streams: each rank's own stdin, stdout and stderr.
//
// Role:      in a job every rank has FILEs of its own behind the names stdin, stdout and
//            stderr: what different ranks print never mixes within a line, and --label can
//            name the rank. Rank 0 reads the job's stdin, the others see its end at once.
// Users:     runtime/interpose/stdio.cpp (libc's stdio functions ask stream_for()).
// Threads:   any thread of the rank; a FILE's own lock orders its users.
// See also:  docs/mpcrun.md (output), docs/limits.md (what writes past stdio).

#include <cstdio>

namespace mpc::interpose {

// The FILE to use where the caller said `file`: the rank's own for libc's three standard
// streams, `file` itself for any other or outside of any rank of a job.
FILE* stream_for(FILE* file) noexcept;

// After an explicit fflush(): shows an unfinished line too, if the job's stream is a terminal.
void flushed(FILE* file) noexcept;

// freopen() of a standard stream by a rank: from now on `replacement` is what the rank has.
// Returns false if `file` is none of the rank's standard streams.
bool replace_stream(FILE* file, FILE* replacement) noexcept;

}  // namespace mpc::interpose
