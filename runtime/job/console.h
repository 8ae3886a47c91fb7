#pragma once
// Console: the standard output and error of the job, which all ranks and mpcrun itself share.
//
// Role:      writes a text whole, never mixed with another one; begins mpcrun's own messages on
//            a line of their own; remembers what could not be written.
// Users:     runtime/interpose/streams.cpp (the ranks' output), runtime/job (reports),
//            tools/mpclaunch.
// Threads:   any; in a forked child only the one that is left.
// See also:  docs/mpcrun.md (output).

#include <cstddef>
#include <string>
#include <string_view>

namespace mpc::job::console {

// Writes all of it to STDOUT_FILENO or STDERR_FILENO; waits for a slow reader, non-blocking
// descriptors included. Returns 0 or the errno of what stopped it.
int write(int fd, const char* text, size_t size) noexcept;

// A message of mpcrun's own, to standard error, with the newline that it may lack.
void say(std::string_view message) noexcept;

// What was written last, to standard error or to the same file, does not end a line: for reports
// that are not made by say(). Caller: any, signal handlers too.
bool is_line_open() noexcept;

// A rank's output is lost, since the program may not look. The first one counts.
void note_loss(int world_rank, int fd, int error) noexcept;
// "mpcrun: rank 1: standard output could not be written: No space left ..."; empty: nothing lost.
std::string loss();

// Several processes of a job write to the same files: their launcher makes the memory by which they
// keep their texts apart, a descriptor that they inherit. -1: none is to be had.
int make_shared_memory() noexcept;
// From now on this process uses that memory. Caller: before anything is written.
void share(int memory) noexcept;
// The other processes are gone, one of them perhaps while it wrote. Caller: the launcher.
void be_alone() noexcept;

// True in a child that a rank has forked: the locks' holders may not exist there.
bool is_forked_child() noexcept;

}  // namespace mpc::job::console
