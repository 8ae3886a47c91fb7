#include "runtime/job/spawner_watch.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/service_thread.h"
#include "runtime/job/job.h"
#include "runtime/job/spawner_process.h"

namespace mpc::job {
namespace {

struct Watched {
  Job* job = nullptr;
  int process = -1, stop = -1;  // descriptors
};
constinit Watched g_watched;  // written before ranks run

void end_job() { g_watched.job->abort(1, kSpawnerHasEnded); }

void* watch(void*) {
  pollfd either[] = {{g_watched.process, POLLIN, 0}, {g_watched.stop, POLLIN, 0}};
  while (::poll(either, 2, -1) < 0 && errno == EINTR) {
  }
  if (either[1].revents == 0) end_job();
  return nullptr;
}

}  // namespace

Result<> watch_spawner(Job& job, const std::string& process) {
  const SpawnerProcess parent = open_process(process);
  if (parent.fate == SpawnerProcess::Fate::kUnknown) return {};
  g_watched.job = &job;
  g_watched.process = parent.descriptor;
  g_watched.stop = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (parent.fate == SpawnerProcess::Fate::kEnded) end_job();
  auto thread = start_service_thread("the end of the parent", &watch, nullptr);
  MPC_TRY(thread);
  pthread_detach(*thread);
  return {};
}

void end_spawner_watch() noexcept {
  if (g_watched.stop < 0) return;
  const uint64_t one = 1;
  (void)!::write(g_watched.stop, &one, sizeof one);
}

}  // namespace mpc::job
