#include "tools/mpcrun/peers.h"

#include <algorithm>
#include <cerrno>
#include <optional>

namespace mpc::tools {
namespace {

using enum PeerMeaning;
using Ours = std::vector<std::string>;

constexpr PeerOption kTable[] = {
#define PEER(names, owners, words, meaning, text) {names, owners, words, meaning, text},
#include "tools/mpcrun/peer_options.def"
#undef PEER
};

// Values of an option, and the options of ours that replace them.
struct Value {
  std::string_view option;  // its first name in the table
  std::string_view values;  // a blank between them
  const char* ours;         // "": no effect
};
constexpr Value kValues[] = {
    {"launcher", "ssh fork", ""},
    {"bind-to", "core hwthread", "--bind=core"},
    {"bind-to", "none", "--bind=none"},
    {"bind-to", "socket package numa board l1cache l2cache l3cache cache", ""},
    {"map-by", "core slot hwthread", ""},
    {"map-by", "socket package numa", "--placement=scatter"},
    {"rank-by", "core slot hwthread", ""},
    {"output", "tag rank", "--label"},
    {"output", "timestamp", "--label-pattern=%t [%r] "},
    {"display", "map bind bindings allocation topo", "--report"},
    {"stdin", "0", ""},
    {"stdin", "none", "--no-stdin"},
    {"usize", "SYSTEM system", ""},
    {"initial-errhandler", "mpi_errors_are_fatal", ""},
};

// Is `word` in the list? Text with a blank may be a part of a list, but is no word of it.
bool has_word(std::string_view list, std::string_view word) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(' ', begin), list.size());
    if (list.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

std::string_view first_word(std::string_view list) {
  return list.substr(0, list.find(' '));
}

// Open MPI's "ppr:K:node" says how many ranks a host has; nullopt: the value has another form, or
// names something other than a host.
std::optional<std::string> ranks_per_host(const std::string& value) {
  const size_t colon = value.find(':', 4);
  if (value.compare(0, 4, "ppr:") != 0 || colon == std::string::npos)
    return std::nullopt;
  const std::string of = value.substr(colon + 1);
  if (of != "node" && of != "host") return std::nullopt;
  return value.substr(4, colon - 4);
}

// Open MPI's list of variables: "A=1;B".
Ours exports_of(const std::string& list) {
  Ours out;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(';', begin), list.size());
    if (end > begin) out.push_back("--export-all=" + list.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// A folder's name within a pattern.
std::string literal(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

// Open MPI's files: in a folder for the job, which is number 1, and in it one for each rank.
Ours files_below(const std::string& value) {
  constexpr std::string_view kAlone = ":nocopy";
  const bool is_alone = value.ends_with(kAlone);
  const std::string folder =
      literal(value.substr(0, value.size() - (is_alone ? kAlone.size() : 0)));
  Ours out;
  out.push_back("--output-file=" + folder + "/1/rank.%R/stdout");
  out.push_back("--error-file=" + folder + "/1/rank.%R/stderr");
  if (!is_alone) out.emplace_back("--copy-output");
  return out;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

Result<Ours> translate_value(const PeerOption& option, const Ours& values) {
  const std::string_view name = first_word(option.names);
  if (name == "mca") {
    if (values[0] == "plm_rsh_agent") return Ours{"--agent=" + values[1]};
    return values[0] == "mca_base_env_list" ? exports_of(values[1]) : Ours{};
  }
  if (name == "map-by") {
    if (const auto count = ranks_per_host(values[0]))
      return Ours{"--ranks-per-host=" + *count};
  }
  if (name == "output-filename") return files_below(values[0]);
  if (name == "output" && values[0].starts_with("dir="))
    return files_below(values[0].substr(4));
  if (name == "usize" && is_number(values[0]))
    return Ours{"--set=job.universe_size=" + values[0]};
  // Modifiers of Open MPI that ask for the usual behaviour here: "core:oversubscribe".
  std::string value = values[0];
  const size_t colon = value.find(':');
  if (colon != std::string::npos &&
      has_word("oversubscribe OVERSUBSCRIBE overload-allowed OVERLOAD",
               value.substr(colon + 1)))
    value.resize(colon);
  if (value.empty() && colon == 0) return Ours{};
  for (const Value& known : kValues) {
    if (known.option != name || !has_word(known.values, value)) continue;
    return *known.ours == 0 ? Ours{} : Ours{known.ours};
  }
  return {Errc::kArg, option.text};
}

}  // namespace

bool has_peer_name() noexcept {
  const std::string_view name = program_invocation_short_name;
  return name == "mpirun" || name == "mpiexec";
}

const PeerOption* find_peer_option(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kTable), std::end(kTable),
                   [&](const PeerOption& row) { return has_word(row.names, name); });
  return found != std::end(kTable) ? found : nullptr;
}

Result<Ours> translate(const PeerOption& option, const Ours& values) {
  switch (option.meaning) {
    case kSame:
      if (option.words == 0) return Ours{option.text};
      if (option.words == 1) return Ours{std::string(option.text) + "=" + values[0]};
      return Ours{std::string(option.text) + "=" + values[0] + "=" + values[1]};
    case kNoEffect:
      return Ours{};
    case kByValue:
      return translate_value(option, values);
    case kPrograms:
    case kRefused:
      break;
  }
  return {Errc::kArg, option.text};
}

}  // namespace mpc::tools
