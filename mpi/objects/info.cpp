#include "mpi/objects/info.h"

#include <unistd.h>

#include "mpi/objects/rank_state.h"
#include "runtime/job/job.h"

namespace mpc::mpi {

void InfoHints::set(std::string_view key, std::string_view value) {
  for (auto& [k, v] : entries_) {
    if (k == key) {
      v = value;
      return;
    }
  }
  entries_.emplace_back(key, value);
}

bool InfoHints::remove(std::string_view key) {
  return std::erase_if(entries_,
                       [&](const auto& entry) { return entry.first == key; }) != 0;
}

const std::string* InfoHints::find(std::string_view key) const noexcept {
  for (const auto& [k, v] : entries_)
    if (k == key) return &v;
  return nullptr;
}

MPI_Info Info::handle() noexcept {
  return is_env ? MPI_INFO_ENV : reinterpret_cast<MPI_Info>(this);
}

Info* create_info(InfoHints hints) {
  auto* info = new Info(attached_rank().rank->world_rank);
  info->hints = std::move(hints);
  return info;
}

Info& info_env() {
  RankState& state = attached_rank();
  const std::lock_guard lock(state.mutex);
  if (state.env != nullptr) return *state.env;
  job::Rank& rank = *state.rank;
  auto* env = new Info(rank.world_rank);
  env->is_env = true;
  env->exempt();
  const std::string& program = rank.job->program(rank.app_index);
  env->hints.set("command", program);
  env->hints.set("maxprocs", std::to_string(rank.job->world_of(rank.world_rank).size));
  char text[4096];
  if (::gethostname(text, sizeof text) == 0) env->hints.set("host", text);
  env->hints.set("arch", "x86_64");
  if (::getcwd(text, sizeof text) != nullptr) env->hints.set("wdir", text);
  env->hints.set("thread_level", "MPI_THREAD_MULTIPLE");
  return *(state.env = env);
}

}  // namespace mpc::mpi
