#include "runtime/message/abroad_place.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "base/settings.h"
#include "runtime/job/host_map.h"
#include "runtime/wireup/door.h"
#include "runtime/wireup/lobby.h"
#include "runtime/wireup/wireup.h"
#include "scheduler/as_nobody.h"

namespace mpc::msg::abroad {
namespace {

constexpr char kKey[] = "mpc.place";

StringSetting s_folder{
    "mpi.port_folder", "",
    "Where jobs of one user on one host find each other's ports and published names; "
    "empty: mpc in $XDG_RUNTIME_DIR, or /tmp/mpc-UID",
    "a folder that belongs to the user, or is made"};

BoolSetting s_network{
    "mpi.port_network", true,
    "Processes that open ports, or connect, listen to those of other hosts, which "
    "must know a key that is in the port's name"};

// Of the job; before ranks start. No folder: it has none.
constinit wireup::Place* g_place = nullptr;

// The folder for the user, not for the rank.
std::string folder_of_settings() {
  const sched::AsNobody nobody;
  const std::string chosen(s_folder.get());
  return chosen.empty() ? wireup::Lobby::default_folder() : chosen;
}

Result<std::string> open_for_job(wireup::Wireup& wireup) {
  if (!may_be_reached()) return std::string();
  auto door = wireup::Door::open(wireup.interfaces());
  MPC_TRY(door);
  wireup::Place place{folder_of_settings(), wireup::host_identity(),
                      (*door)->address()};
  (*door)->serve(place.folder);
  return text_of(place);
}

}  // namespace

bool may_be_reached() noexcept { return s_network.get(); }

wireup::Place home_place() {
  return g_place != nullptr ? *g_place : wireup::Place{folder_of_settings(), 0, {}};
}

// A process that has all others beside it is on their host.
Result<> put_place(job::Job& job) {
  wireup::Wireup& wireup = *job.wireup();
  if (wireup.index() != 0 || wireup.local_size() == wireup.size()) return {};
  auto text = open_for_job(wireup);
  MPC_TRY(text);
  const std::string& said = text.value();
  const auto* const first = reinterpret_cast<const std::byte*>(said.data());
  return wireup.put(kKey, {first, first + said.size()});
}

Result<> get_place(job::Job& job) {
  if (job::host_map().hosts() == 1) return {};
  auto bytes = job.wireup()->get(0, kKey);
  MPC_TRY(bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()),
                              bytes->size());
  g_place = new wireup::Place;  // never freed: ranks may ask at any time
  if (const auto place = wireup::read_place(text)) *g_place = *place;
  return {};
}

}  // namespace mpc::msg::abroad
