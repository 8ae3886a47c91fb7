#include "runtime/job/info.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/settings.h"
#include "topology/machine.h"

namespace {

std::string settings_as_text() {
  std::string out;
  for (const mpc::SettingBase* s : mpc::Settings::all()) {
    out += fmt::format(
        "{} = {}{}{}\n    {}\n    takes {}; environment variable {}{}\n", s->name(),
        s->text(), *s->unit() == 0 ? "" : " ", s->unit(), s->help(), s->accepted(),
        s->environment_name(),
        s->is_default() ? "" : fmt::format("; default {}", s->default_text()));
  }
  return out;
}

std::string settings_as_markdown() {
  std::string out =
      "# Settings\n\n"
      "Made by `mpcinfo --settings --markdown`. Give one with `mpcrun --set "
      "NAME=VALUE` or in "
      "its environment variable; the command line wins.\n\n"
      "| Setting | Default | Takes | Meaning | Environment variable "
      "|\n|---|---|---|---|---|\n";
  for (const mpc::SettingBase* s : mpc::Settings::all()) {
    std::string accepted = s->accepted();
    for (size_t at = 0; (at = accepted.find('|', at)) != std::string::npos; at += 2) {
      accepted.insert(at, 1, '\\');
    }
    out += fmt::format("| `{}` | {}{}{} | {} | {} | `{}` |\n", s->name(),
                       s->default_text(), *s->unit() == 0 ? "" : " ", s->unit(),
                       accepted, s->help(), s->environment_name());
  }
  return out;
}

}  // namespace

int mpc_info_topology(const char* machine) {
  const bool own = machine == nullptr || *machine == 0;
  auto found =
      own ? mpc::topo::Machine::detect() : mpc::topo::Machine::by_name(machine);
  if (!found) {
    std::fprintf(stderr, "mpcinfo: %s\n", found.error().message.c_str());
    return 2;
  }
  std::fputs((*found)->draw().c_str(), stdout);
  return 0;
}

int mpc_info_settings(bool as_markdown) {
  if (auto loaded = mpc::Settings::load_environment(); !loaded) {
    std::fprintf(stderr, "mpcinfo: %s\n", loaded.error().message.c_str());
    return 2;
  }
  std::fputs((as_markdown ? settings_as_markdown() : settings_as_text()).c_str(),
             stdout);
  return 0;
}
