#include "base/service_thread.h"

#include <fmt/format.h>

#include <cstring>

namespace mpc {
namespace {

sigset_t all_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  return all;
}

}  // namespace

void take_no_signals(pthread_attr_t& attributes) noexcept {
  const sigset_t all = all_signals();
  pthread_attr_setsigmask_np(&attributes, &all);
}

Result<pthread_t> start_service_thread(const char* what, void* (*main)(void*),
                                       void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  take_no_signals(attributes);
  pthread_t thread{};
  const int error = pthread_create(&thread, &attributes, main, argument);
  pthread_attr_destroy(&attributes);
  if (error == 0) return thread;
  return Error{Errc::kSystem, fmt::format("cannot create the thread of {}: {}", what,
                                          std::strerror(error))};
}

WithoutSignals::WithoutSignals() noexcept {
  const sigset_t all = all_signals();
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

WithoutSignals::~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace mpc
