#include "runtime/job/info.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "base/settings.h"
#include "topology/machine.h"

namespace {

using SettingList = std::vector<mpc::SettingBase*>;

// All settings, those whose names begin with `name`, or none.
SettingList settings_called(std::string_view name) {
  SettingList all = mpc::Settings::all();
  std::erase_if(all, [&](const mpc::SettingBase* s) {
    return !std::string_view(s->name()).starts_with(name);
  });
  return all;
}

int complain(const std::string& message) {
  std::fprintf(stderr, "mpcinfo: %s\n", message.c_str());
  return 2;
}

int no_setting(const char* name) {
  std::vector<std::string> known;
  for (const mpc::SettingBase* s : mpc::Settings::all()) {
    known.emplace_back(s->name());
    known.push_back(known.back().substr(0, known.back().find('.')));
  }
  return complain(
      fmt::format("there is no setting '{}'{}; `mpcinfo settings` lists all", name,
                  mpc::did_you_mean(name, known)));
}

std::string settings_as_text(const SettingList& settings) {
  std::string out;
  for (const mpc::SettingBase* s : settings) {
    out += fmt::format(
        "{} = {}{}{}\n    {}\n    takes {}; environment variable {}{}\n", s->name(),
        s->text(), *s->unit() == 0 ? "" : " ", s->unit(), s->help(), s->accepted(),
        s->environment_name(),
        s->is_default() ? "" : fmt::format("; default {}", s->default_text()));
  }
  return out;
}

std::string settings_as_markdown(const SettingList& settings) {
  std::string out =
      "# Settings\n\n"
      "Made by `mpcinfo settings --markdown`. Give one with `mpcrun --set "
      "NAME=VALUE` or in its environment variable; the command line wins.\n\n"
      "Numbers may have a unit in powers of 1024: `64k`, `64KB` and `64KiB` are 65536, "
      "`1.5M` and `1G` are read likewise. The sizes of `mpcrun` and `mpcinfo` are "
      "written in the same way.\n\n"
      "| Setting | Default | Takes | Meaning | Environment variable "
      "|\n|---|---|---|---|---|\n";
  for (const mpc::SettingBase* s : settings) {
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
  if (!found) return complain(found.error().message);
  std::fputs((*found)->draw().c_str(), stdout);
  return 0;
}

int mpc_info_settings(const char* name, bool as_markdown) {
  if (auto loaded = mpc::Settings::load_environment(); !loaded)
    return complain(loaded.error().message);
  const SettingList settings = settings_called(name);
  if (settings.empty()) return no_setting(name);
  std::fputs((as_markdown ? settings_as_markdown(settings) : settings_as_text(settings))
                 .c_str(),
             stdout);
  return 0;
}
