#pragma once
// Console: the standard output and error of the job, which all ranks and mpcrun itself share.
//
// Role:      writes each text whole, never mixed with another one; begins mpcrun's own messages on
//            a line of their own; remembers what could not be written.
// Users:     runtime/interpose/streams.cpp (the ranks' output), runtime/job (reports),
//            tools/mpclaunch.
// Threads:   any; in a forked child the only thread that is left.
// See also:  docs/mpcrun.md (output).

#include <cstddef>
#include <string>
#include <string_view>

namespace mpc::job::console {

// Writes all of it to STDOUT_FILENO or STDERR_FILENO; waits for a slow reader, also on non-blocking
// descriptors. Returns 0 or the errno of what stopped it.
int write(int fd, const char* text, size_t size) noexcept;

// Writes a message of mpcrun's own to standard error, adding a newline if that is missing.
void say(std::string_view message) noexcept;

// True if the last output to standard error, or to the same file, did not end a line: for reports
// that do not use say(). Caller: any, also signal handlers.
bool is_line_open() noexcept;

// Records that a rank's output was lost, since the program may not check. The first loss counts.
void note_loss(int world_rank, int fd, int error) noexcept;
// "mpcrun: rank 1: standard output could not be written: No space left ..."; empty: nothing lost.
std::string loss();

// For several processes of a job that write to the same files: their launcher creates the memory by
// which they keep their texts apart, a descriptor that they inherit. -1: it could not be created.
int make_shared_memory() noexcept;
// From now on this process uses that memory. Caller: before anything is written.
void share(int memory) noexcept;
// The other processes have exited, one of them perhaps while it wrote. Caller: the launcher.
void be_alone() noexcept;

// True in a child that a rank has forked: the holders of locks may not exist there.
bool is_forked_child() noexcept;

}  // namespace mpc::job::console
