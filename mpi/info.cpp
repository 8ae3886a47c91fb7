#include "mpi/info.h"

#include "mpi/handles.h"
#include "mpi/rank_state.h"

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

}  // namespace mpc::mpi
