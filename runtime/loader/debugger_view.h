#pragma once
// Debugger view: shows the copies to gdb as if the dynamic linker had loaded them.
//
// Role:      gdb reads the dynamic linker's lists of objects, one per namespace, from the
//            process. One more list, of our own, holds the program and the private libraries
//            of each copy; breakpoints, backtraces and variables then work in every rank.
// Users:     runtime/loader (image.cpp, copy.cpp, rank_linker*.cpp).
// Threads:   any, serialised inside.
// See also:  <link.h>, r_debug; glibc 2.35 and gdb 13 know lists of several namespaces.

#include <vector>

namespace mpc::loader {

class ProgramInstance;
struct Module;
struct PluginPlace;

class DebuggerView {
 public:
  // `modules` lie at their bundle offsets from `base`.
  static void add_instance(const ProgramInstance& instance,
                           const std::vector<Module>& modules, char* base);
  static void remove_instance(const ProgramInstance& instance);
  static void add_plugin(const PluginPlace& place);
  static void remove_plugin(const PluginPlace& place);
  // Makes a debugger that controls this process read the lists again. No effect without a debugger.
  static void announce();
};

}  // namespace mpc::loader
