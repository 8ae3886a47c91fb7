#pragma once
// Streams: each rank's own stdin, stdout and stderr.
//
// Role:      in a job every rank has FILEs of its own behind the names stdin, stdout and
//            stderr, and a line-wise way to the job's output for everything that the
//            rank writes: stdio, iostreams, Fortran units, write(1, ...). So the output of
//            different ranks never mixes within a line, and --label can name the rank. Rank 0 reads
//            the job's stdin; the others' is empty, until they put a file there.
// Users:     runtime/interpose/stdio.cpp (libc's stdio functions call stream_for()),
//            raw_output.cpp.
// Threads:   any thread of the rank; a FILE's own lock orders its users.
// See also:  runtime/interpose/line_stream.h, docs/mpcrun.md (output), docs/limits.md.

#include <cstdio>

#include "runtime/interpose/line_stream.h"

namespace mpc::interpose {

// The FILE to use where the caller passed `file`: the rank's own for libc's three standard
// streams, `file` itself for any other or outside any rank of a job.
FILE* stream_for(FILE* file) noexcept;

// The descriptor behind a program's stdout or stderr; 0: neither.
int fd_of(FILE* file) noexcept;

// The calling rank's output to STDOUT_FILENO or STDERR_FILENO; null outside any rank of a
// job, in a forked child, and before the library is initialised.
LineStream* line_stream_for(int fd) noexcept;

// fflush() of one of the rank's own two, or of all (null), after libc has done its part: shows an
// unfinished line, too, if the job's stream is a terminal. Returns 0 or the errno of a line that
// was lost since the last call.
int flushed(FILE* file) noexcept;

// freopen() of a standard stream by a rank: from now on the rank uses `replacement`.
// Returns false if `file` is none of the rank's standard streams.
bool replace_stream(FILE* file, FILE* replacement) noexcept;

// dup2(fd, 0) by a rank: from now on the rank reads there; -1: nowhere. The number is a
// private one. Returns false for the rank that has the job's standard input.
bool redirect_input(int fd) noexcept;

// The caller is one of several ranks: if one closed the kernel's 0, the next file of any rank
// would get that number.
bool shares_input() noexcept;

// Passes on what the calling rank has written of its last lines, before a child writes.
void pass_on_unfinished_lines() noexcept;

// fflush(NULL) of a rank: its own streams, and all files that no thread is using at this moment,
// because a FILE that another rank holds may be waiting for input. Returns 0 or EOF.
int flush_files() noexcept;

}  // namespace mpc::interpose
