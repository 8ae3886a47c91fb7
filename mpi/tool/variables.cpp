#include "mpi/tool/variables.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace mpc::mpi {
namespace {

constexpr int kTextRoom = 4096;

struct LayerHelp {
  std::string_view layer;
  const char* help;
};
constexpr LayerHelp kLayers[] = {
    {"emulate", "Machines that are not there (mpcrun --emulate)"},
    {"io", "Files"},
    {"job", "The start, the output and the end of a job"},
    {"loader", "Private copies of programs and libraries"},
    {"log", "What the runtime says"},
    {"message", "Messages within a process"},
    {"mpi", "Checks of MPI calls, and the user's functions"},
    {"nbc", "Collectives: algorithms, schedules, splits"},
    {"net", "Messages between processes"},
    {"progress", "Progress threads: communication in the background"},
    {"sched", "Ranks on cores: waiting, preemption, tasks"},
    {"trace", "The timeline of mpcrun --trace"},
};

const char* help_of(std::string_view layer) noexcept {
  for (const LayerHelp& known : kLayers)
    if (known.layer == layer) return known.help;
  return "";
}

std::string_view layer_of(std::string_view name) noexcept {
  return name.substr(0, name.find('.'));
}

Category& category_of(std::vector<Category>& all, std::string_view name) {
  const std::string_view layer = layer_of(name);
  auto at = std::find_if(all.begin(), all.end(),
                         [layer](const Category& c) { return c.name >= layer; });
  if (at == all.end() || at->name != layer)
    at = all.insert(at, {std::string(layer), help_of(layer), {}, {}});
  return *at;
}

std::vector<Category> make_categories() {
  std::vector<Category> all;
  const auto& settings = control_variables();
  for (size_t i = 0; i < settings.size(); ++i)
    category_of(all, settings[i]->name()).cvars.push_back(static_cast<int>(i));
  const auto& counters = performance_variables();
  for (size_t i = 0; i < counters.size(); ++i)
    category_of(all, counters[i]->name()).pvars.push_back(static_cast<int>(i));
  return all;
}

// The words are those that the setting says it accepts: "a|b|c".
std::vector<std::unique_ptr<const SettingWords>> make_words() {
  std::vector<std::unique_ptr<const SettingWords>> all;
  for (const SettingBase* setting : control_variables()) {
    if (setting->kind() != SettingKind::kEnum) continue;
    auto made = std::make_unique<SettingWords>();
    made->setting = setting;
    const std::string accepted = setting->accepted();
    for (size_t at = 0; at <= accepted.size();) {
      const size_t end = std::min(accepted.find('|', at), accepted.size());
      made->words.push_back(accepted.substr(at, end - at));
      at = end + 1;
    }
    all.push_back(std::move(made));
  }
  return all;
}

const auto& all_words() {
  static const auto words = make_words();
  return words;
}

}  // namespace

const std::vector<SettingBase*>& control_variables() {
  static const std::vector<SettingBase*> all = Settings::all();
  return all;
}

const std::vector<const Counter*>& performance_variables() {
  static const std::vector<const Counter*> all = Counter::all();
  return all;
}

const std::vector<Category>& categories() {
  static const std::vector<Category> all = make_categories();
  return all;
}

const SettingWords* words_of(const SettingBase& setting) {
  for (const auto& words : all_words())
    if (words->setting == &setting) return words.get();
  return nullptr;
}

const SettingWords* words_of(MPI_T_enum handle) {
  for (const auto& words : all_words())
    if (handle_of(words.get()) == handle) return words.get();
  return nullptr;
}

MPI_T_enum handle_of(const SettingWords* words) noexcept {
  return words == nullptr
             ? MPI_T_ENUM_NULL
             : reinterpret_cast<MPI_T_enum>(const_cast<SettingWords*>(words));
}

bool is_writable(const SettingBase& setting) {
  static constexpr std::string_view kWritable[] = {
      "log.level",           "message.eager_limit", "message.shared_copy",
      "mpi.aliased_buffers", "nbc.start_nodes",     "net.grace_us",
      "net.spin_us",         "progress.help",       "progress.min_bytes",
      "progress.near_bytes", "progress.spin_us",    "progress.wake_bytes"};
  return std::find(std::begin(kWritable), std::end(kWritable), setting.name()) !=
         std::end(kWritable);
}

MPI_Datatype type_of(const SettingBase& setting) noexcept {
  switch (setting.kind()) {
    case SettingKind::kBool:
    case SettingKind::kEnum:
      return MPI_INT;
    case SettingKind::kInt:
      return MPI_COUNT;
    case SettingKind::kDouble:
    case SettingKind::kString:
      break;
  }
  return MPI_CHAR;
}

int count_of(const SettingBase& setting) noexcept {
  return type_of(setting) == MPI_CHAR ? kTextRoom : 1;
}

}  // namespace mpc::mpi
