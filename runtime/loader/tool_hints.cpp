#include "runtime/loader/tool_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace mpc::loader {
namespace {

// Names without the first digit and what follows it: python3.11 is python.
struct Tool {
  std::string_view name;
  std::string_view before;  // how it is written before mpcrun; empty: NAME alone
};
constexpr Tool kBefore[] = {
    {"valgrind", "valgrind --trace-children=yes"},
    {"gdb", "gdb --args"},
    {"cgdb", "cgdb --args"},
    {"lldb", "lldb --"},
    {"rr", ""},
    {"strace", "strace -f"},
    {"ltrace", "ltrace -f"},
    {"perf", "perf record"},
    {"heaptrack", ""},
    {"time", ""},
    {"timeout", "timeout 60"},
    {"env", "env NAME=VALUE"},
    {"taskset", "taskset -c 0-3"},
    {"numactl", "numactl --interleave=all"},
    {"hwloc-bind", "hwloc-bind LOCATION --"},
    {"nice", ""},
    {"ionice", ""},
    {"chrt", "chrt -b 0"},
    {"nohup", ""},
    {"setsid", ""},
    {"setarch", "setarch -R"},
    {"stdbuf", "stdbuf -oL"},
    {"unbuffer", ""},
    {"xterm", "xterm -e"},
    {"sudo", ""},
    {"prlimit", "prlimit --core=0"},
    {"catchsegv", ""},
};
constexpr std::string_view kShells[] = {"sh",   "bash", "dash",   "ksh", "zsh",
                                        "csh",  "tcsh", "fish",   "awk", "gawk",
                                        "mawk", "make", "busybox"};
constexpr std::string_view kInterpreters[] = {
    "python", "perl",    "ruby", "lua",    "luajit", "node",  "nodejs", "php",
    "R",      "Rscript", "java", "octave", "julia",  "tclsh", "wish",   "guile"};

bool has_name(std::span<const std::string_view> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string_view name_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find_first_of("0123456789"));
}

}  // namespace

std::string hint_for_tool(const std::string& path) {
  const std::string_view name = name_of(path);
  const auto* tool = std::find_if(std::begin(kBefore), std::end(kBefore),
                                  [&](const Tool& t) { return t.name == name; });
  if (tool != std::end(kBefore)) {
    return fmt::format("put it before mpcrun: {} mpcrun ...",
                       tool->before.empty() ? tool->name : tool->before);
  }
  if (has_name(kShells, name)) return kHintForScripts;
  if (has_name(kInterpreters, name)) return kHintForInterpreters;
  if (path.starts_with("/usr/bin/") || path.starts_with("/bin/") ||
      path.starts_with("/usr/sbin/") || path.starts_with("/sbin/"))
    return "if it is a tool, put it before mpcrun; if it is yours, compile and link it "
           "with mpcc, "
           "mpcxx or mpcfort";
  return "";
}

}  // namespace mpc::loader
