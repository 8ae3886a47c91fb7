#include "mpi/tool/tool_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/counter.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {

uint64_t PvarHandle::read() const noexcept {
  return is_started ? value + (counter->get() - begun) : value;
}
void PvarHandle::start() noexcept {
  if (is_started) return;
  begun = counter->get();
  is_started = true;
}
void PvarHandle::stop() noexcept {
  value = read();
  is_started = false;
}
void PvarHandle::set(uint64_t new_value) noexcept {
  value = new_value;
  begun = counter->get();
}

ToolState& tool_state() {
  RankState& state = attached_rank();
  const std::lock_guard lock(state.mutex);
  if (state.tool == nullptr) state.tool = std::make_shared<ToolState>();
  return *state.tool;
}

ToolCall::ToolCall() : state(tool_state()), lock_(state.mutex) {
  if (state.initialised == 0)
    error = fail(MPI_T_ERR_NOT_INITIALIZED, "MPI_T_init_thread has not been called");
}

void give_text(const char* text, char* out, int* length) noexcept {
  if (length == nullptr) return;
  const size_t size = std::strlen(text);
  if (out != nullptr && *length > 0) {
    const size_t room = std::min(size, static_cast<size_t>(*length) - 1);
    std::memcpy(out, text, room);
    out[room] = '\0';
  }
  *length = static_cast<int>(size) + 1;
}

Err bad_index(const char* name, int index, size_t count) {
  return fail(MPI_T_ERR_INVALID_INDEX,
              fmt::format("there is no {} {}; there are {}", name, index, count));
}

}  // namespace mpc::mpi
