#pragma once
// ToolState: a rank's state of MPI's tool information interface.
//
// Role:      counts initialisations, and has the handles and sessions that were given out, against
//            which
//            each handle of a tool is checked.
// Users:     mpi/tool.
// Threads:   any execution of the rank: everything is under `mutex`, which each call holds to its
//            end.
// See also:  docs/tools-interface.md; MPI-4.1 chapter 15.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi.h"
#include "mpi/objects/error.h"

namespace mpc {
class Counter;
class SettingBase;
}  // namespace mpc

namespace mpc::mpi {

struct CvarHandle {
  SettingBase* setting;
};

// A counter of the process as one tool sees it: the counts between its starts and stops.
struct PvarHandle {
  const Counter* counter;
  bool is_started = false;
  uint64_t value = 0;  // up to the last stop
  uint64_t begun = 0;  // the counter at the last start or reset
  uint64_t read() const noexcept;
  void start() noexcept;
  void stop() noexcept;
  void set(uint64_t new_value) noexcept;
};

struct PvarSession {
  std::vector<std::unique_ptr<PvarHandle>> handles;
};

struct ToolState {
  std::mutex mutex;
  int initialised = 0;
  std::vector<std::unique_ptr<CvarHandle>> cvars;
  std::vector<std::unique_ptr<PvarSession>> sessions;
};

// One call: holds the rank's state. `error` if the interface is not initialised.
class ToolCall {
 public:
  ToolCall();
  ToolState& state;
  Err error;

 private:
  std::unique_lock<std::mutex> lock_;
};
// The state of the calling rank; created by the first call.
ToolState& tool_state();

// Copies a text to a tool's memory as MPI-4.1 section 15.3.3 requires: cut to *length, terminator
// included; *length becomes the size that the whole text needs. Both may be null if the tool wants
// nothing.
void give_text(const char* text, char* out, int* length) noexcept;
// Stores a result, unless the pointer is null because the tool does not want it.
template <class T, class V>
void give(T* out, V value) noexcept {
  if (out != nullptr) *out = static_cast<T>(value);
}

// "there is no NAME 17; there are 12".
Err bad_index(const char* name, int index, size_t count);

}  // namespace mpc::mpi
