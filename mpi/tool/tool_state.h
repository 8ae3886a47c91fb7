#pragma once
// ToolState: what a rank has of MPI's tool information interface.
//
// Role:      how often it was initialised, and the handles and sessions that it has given out, by which
//            each handle of a tool is checked.
// Users:     mpi/tool.
// Threads:   any execution of the rank: all is under `mutex`, of which no call lets others in.
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

// A counter of the process as one tool sees it: what it has counted between starts and stops.
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
// The state of the calling rank, which is made here.
ToolState& tool_state();

// A text of `size` characters and terminator into a tool's memory, as MPI-4.1 section 15.3.3 has it:
// cut to *length; *length becomes what the whole text needs. Both may be null: nothing is wanted.
void give_text(const char* text, char* out, int* length) noexcept;
// Results that a tool does not want are null.
template <class T, class V>
void give(T* out, V value) noexcept {
  if (out != nullptr) *out = static_cast<T>(value);
}

// "there is no NAME 17; there are 12".
Err bad_index(const char* name, int index, size_t count);

}  // namespace mpc::mpi
