#include "mpi/spawn/far_ports.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <span>

#include "base/log.h"
#include "mpi/objects/process.h"
#include "mpi/objects/several_jobs.h"
#include "runtime/job/job_number.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/abroad.h"
#include "runtime/message/control.h"

namespace mpc::mpi {
namespace {

void take(void*, int, int from, std::span<const std::byte> message) noexcept {
  Letter letter;
  if (message.size() != sizeof letter) return;
  std::memcpy(&letter, message.data(), sizeof letter);
  take_letter(job::neighbours::index_of_process(from), letter);
}

// For groups that are sent to other jobs.
Opened open_in(job::Job& job, const std::string& place) {
  const auto lobby = open_to_others(job, place);
  if (!lobby) return {"", lobby.error().message};
  const wireup::Place& own = (*lobby)->place();
  const auto wanted = wireup::read_place(place);
  if (!wanted || own.is_same_lobby(*wanted)) return {wireup::text_of(own), ""};
  return {wireup::text_of(own),
          fmt::format(
              "processes of this job look for others in different folders, or on "
              "different hosts ({}, {}): start it with one mpi.port_folder, and let "
              "a rank that connects do so before others have opened ports",
              wanted->folder, own.folder)};
}

[[gnu::constructor]] void register_open() { set_open_process(&open_in); }

}  // namespace

void send(const Letters& letters) {
  for (const auto& [slot, letter] : letters)
    msg::send_control(job::neighbours::far_process(job::neighbours::own_slot()),
                      job::neighbours::far_process(slot), msg::ControlChannel::kPort,
                      std::as_bytes(std::span(&letter, 1)));
}

Result<wireup::Lobby*> open_to_others(job::Job& job, const std::string& place) {
  if (wireup::Lobby* const known = msg::abroad::lobby()) return known;
  // Before anything can arrive. If mpcrun has started the job, Process::listen() has been called.
  static std::once_flag listening;
  std::call_once(listening, [&job] {
    if (job.wireup() == nullptr) Process::listen(job.processes());
    msg::set_control_handler(msg::ControlChannel::kPort, &take, nullptr);
  });
  return msg::abroad::open(job, place, job::job_number(), &note_gone);
}

wireup::Lobby* lobby_of(job::Job& job) {
  auto opened = open_to_others(job);
  if (opened) return *opened;
  static std::atomic<bool> has_told{false};
  // kUnsupported: the user has asked for such a job, so there is no warning.
  if (opened.error().code != Errc::kUnsupported && !has_told.exchange(true))
    log::warn("ports and names of this job are not known to other jobs: {}",
              opened.error().message);
  return nullptr;
}

}  // namespace mpc::mpi
