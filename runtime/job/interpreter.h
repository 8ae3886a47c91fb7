#pragma once
// Interpreter: the program of a rank when the command line names python3, or a script.
//
// Role:      a distribution's interpreter is linked for a fixed address, or contains itself what
//            ranks must have copies of. The library of the same interpreter can be copied: the
//            rank's program is then a small one of ours (tools/interpreter), with that library
//            preloaded.
// Users:     runtime/job/node_job.cpp.
// Threads:   before ranks start.
// See also:  docs/python.md, docs/design/0029-python.md.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/job/job_spec.h"

namespace mpc::job {

// What to start for one program of the command line.
struct Start {
  std::string path;                    // the path under which it was found
  std::string file;                    // without links, as /proc/PID/exe shows it
  std::vector<std::string> arguments;  // with argv[0]
  std::string image;                   // the file that each rank has a copy of
  std::vector<std::string> libraries;  // preloaded before those of the image
};

// Works for any program: most start as they are. Errors: kNotFound; kImage (an interpreter without
// a library: the reason, and what to do).
Result<Start> find_start(const AppSpec& app,
                         const std::vector<std::string>& environment);

// Is this the name, or the path, of an interpreter whose library
// we know: python3, python3.11d, tclsh8.6?
bool is_interpreter(std::string_view path);
// The file name of the library of python3.11, of which only
// the name is known; "": the name does not say.
std::string library_of_interpreter(std::string_view path);

}  // namespace mpc::job
