#include "mpi/spawn/child_job.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/service_thread.h"
#include "base/settings.h"
#include "mpi/objects/parent.h"
#include "mpi/spawn/far_ports.h"
#include "mpi/spawn/port_name.h"
#include "runtime/job/detached.h"
#include "runtime/job/one_of_many.h"
#include "runtime/job/program_files.h"
#include "runtime/job/program_probe.h"
#include "runtime/job/spawned_words.h"
#include "runtime/job/spawner_process.h"
#include "runtime/message/hello.h"
#include "scheduler/as_nobody.h"

namespace mpc::mpi {
namespace {

// Watches mpcrun's process while the parent waits at the port, and closes the port if it exits.
class EndWatch {
 public:
  EndWatch(std::string port, wireup::OwnedFd process)
      : port_(std::move(port)), process_(std::move(process)) {}
  ~EndWatch();
  EndWatch(const EndWatch&) = delete;
  Result<> start();

 private:
  static void* main(void* self);

  const std::string port_;
  const wireup::OwnedFd process_;
  wireup::OwnedFd stop_;
  pthread_t thread_{};
  bool is_started_ = false;
};

Result<> EndWatch::start() {
  const sched::AsNobody nobody;
  stop_ = wireup::OwnedFd(::eventfd(0, EFD_CLOEXEC));
  if (stop_.get() < 0)
    return {Errc::kSystem, fmt::format("a descriptor: {}", std::strerror(errno))};
  const auto thread = start_service_thread("the end of spawned ranks", &main, this);
  MPC_TRY(thread);
  thread_ = *thread;
  is_started_ = true;
  return {};
}

void* EndWatch::main(void* argument) {
  const EndWatch& self = *static_cast<EndWatch*>(argument);
  pollfd either[] = {{self.process_.get(), POLLIN, 0}, {self.stop_.get(), POLLIN, 0}};
  while (::poll(either, 2, -1) < 0 && errno == EINTR) {
  }
  if (either[1].revents == 0) (void)close_port(self.port_.c_str());
  return nullptr;
}

EndWatch::~EndWatch() {
  if (!is_started_) return;
  const sched::AsNobody nobody;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  ::pthread_join(thread_, nullptr);
}

// mpcrun of the same installation, or build folder; else the one in PATH, which may be empty.
Result<std::string> find_mpcrun() {
  const std::vector<std::string> places = job::places_of_mpcrun();
  for (const std::string& path : places)
    if (::access(path.c_str(), X_OK) == 0) return path;
  if (auto found = job::find_program("mpcrun")) return found;
  return {
      Errc::kNotFound,
      fmt::format("mpcrun, which starts ranks for a program that was started without "
                  "it, is neither {} nor in PATH",
                  places.empty() ? "beside libmpi_abi" : places.front())};
}

// True: one of the programs cannot be copied; each rank of the job then is a process. Errors: there is no such program,
// or it cannot be run at all; kArg: it was to share a process.
Result<bool> need_processes(const std::vector<SpawnRequest>& requests) {
  std::optional<Error> reason;
  for (const SpawnRequest& each : requests) {
    const auto checked = job::check_can_be_copied(each.app);
    if (checked) continue;
    if (checked.error().code == Errc::kNotFound ||
        ::access(each.app.program.c_str(), X_OK) != 0)
      return checked.error();
    if (!reason) reason = checked.error();
  }
  for (const SpawnRequest& each : requests)
    if (reason && each.place.processes != 0)
      return {
          Errc::kArg,
          fmt::format("info key mpc_processes: each rank of this job is a process: {}",
                      reason->message)};
  return reason.has_value();
}

// Settings that must be equal in both jobs, as far as mpcrun has given them to this one.
std::vector<std::string> agreed_variables() {
  std::vector<std::string> variables;
  const std::string agreed = msg::abroad::agreed_settings();
  for (const SettingBase* setting : Settings::all()) {
    const std::string line = fmt::format("{}={}\n", setting->name(), setting->text());
    if (!setting->is_default() && agreed.find(line) != std::string::npos)
      variables.push_back(
          fmt::format("{}={}", setting->environment_name(), setting->text()));
  }
  return variables;
}

// Starts `mpcrun ...` with these programs; its ranks will connect to the port.
Result<wireup::OwnedFd> start_mpcrun(const std::vector<SpawnRequest>& requests,
                                     bool is_hosted, const std::string& port) {
  auto mpcrun = find_mpcrun();
  MPC_TRY(mpcrun);
  job::SpawnedJob job;
  job.is_hosted = is_hosted;
  job.spec.spawner = port;
  job.spec.spawner_process = job::own_process_text();
  for (const SpawnRequest& each : requests) {
    if (each.app.ranks == 0) continue;
    job.spec.apps.push_back(each.app);
    job.places.push_back(each.place);
  }
  std::vector<std::string> variables = agreed_variables();
  variables.push_back(job::variable_of_spawned(job.spec));
  return job::start_detached(*mpcrun, job::words_of_spawned(job), variables);
}

// The command as a user would have typed it; for messages.
std::string text_of(const std::vector<SpawnRequest>& requests, bool is_hosted) {
  std::string text = is_hosted ? "mpcrun --ranks-per-process 1" : "mpcrun";
  for (const auto& [app, place] : requests) {
    text +=
        fmt::format("{} -n {}", &app == &requests.front().app ? "" : " :", app.ranks);
    if (!place.hosts.empty()) text += " --hosts " + place.hosts;
    if (!place.host_file.empty()) text += " --hostfile " + place.host_file;
    if (place.processes != 0) text += fmt::format(" -p {}", place.processes);
    text += " " + app.program;
  }
  return text;
}

// Waits at the port. Errors: mpcrun's process has ended.
Err wait_for_children(Comm& comm, const std::string& port, wireup::OwnedFd process,
                      Match* met) {
  EndWatch watch(port, std::move(process));
  if (const auto started = watch.start(); !started)
    return fail(MPI_ERR_SPAWN, started.error().message);
  return meet_at_port(comm.self(), port.c_str(), PortSide::kAccept, 0, met);
}

[[gnu::constructor]] void register_connect() {
  set_connect_to_spawner([](Comm& world, const std::string& port, Comm** out) {
    return link_at_port(world, 0, port.c_str(), PortSide::kConnect, connect_seconds(),
                        "MPI_Init", out);
  });
}

}  // namespace

Learnt start_child_job(Comm& comm, const MeetingKey& key,
                       const std::vector<SpawnRequest>& requests, const char* what,
                       Match* met) {
  const auto is_hosted = need_processes(requests);
  if (!is_hosted) return failed(MPI_ERR_SPAWN, is_hosted.error().message);
  if (const auto opened = open_to_others(*comm.self().job); !opened)
    return failed(
        MPI_ERR_SPAWN,
        fmt::format("ranks that are spawned cannot connect to this program: {}",
                    opened.error().message));
  const std::string port = open_port(comm.self());
  if (const auto name = read_port_name(port.c_str()); !name || name->slot == 0) {
    (void)close_port(port.c_str());
    return failed(MPI_ERR_SPAWN,
                  "the folder where jobs find each other (mpi.port_folder) has a name "
                  "that is too long for that of a port");
  }
  auto process = start_mpcrun(requests, *is_hosted, port);
  if (!process) {
    (void)close_port(port.c_str());
    return failed(MPI_ERR_SPAWN, process.error().message);
  }
  const Err waited = wait_for_children(comm, port, std::move(*process), met);
  if (waited) {
    (void)close_port(port.c_str());
    return failed(
        MPI_ERR_SPAWN,
        fmt::format("the job of {} has ended before all its ranks were in "
                    "MPI_Init; if something has failed, standard error has it",
                    text_of(requests, *is_hosted)));
  }
  (void)close_port(port.c_str());
  return learn_at_port(comm, key, *met, what);
}

}  // namespace mpc::mpi
