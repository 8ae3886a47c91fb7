#include "mpi/objects/error_codes.h"

#include "mpi/objects/rank_state.h"

namespace mpc::mpi {
namespace {

constexpr int kFirstUserCode = MPI_ERR_LASTCODE + 1;

// Calls `read` with the user's code, under the lock; false if there is no such code.
template <class Read>
bool with_user_code(int code, Read&& read) {
  RankState* state = rank_state();
  if (state == nullptr || code < kFirstUserCode) return false;
  const std::lock_guard lock(state->mutex);
  if (!state->errors) return false;
  const auto index = static_cast<size_t>(code - kFirstUserCode);
  if (index >= state->errors->codes.size() || !state->errors->codes[index].live)
    return false;
  read(state->errors->codes[index]);
  return true;
}

}  // namespace

int class_of_code(int code) noexcept {
  if (error_class_name(code) != nullptr) return code;
  int result = MPI_ERR_UNKNOWN;
  with_user_code(code, [&](const ErrorTable::Code& c) { result = c.error_class; });
  return result;
}

bool is_error_code(int code) noexcept {
  return error_class_name(code) != nullptr ||
         with_user_code(code, [](const ErrorTable::Code&) {});
}

std::string text_of_code(int code) {
  if (const char* text = error_class_text(code)) return text;
  std::string result;
  if (!with_user_code(code, [&](const ErrorTable::Code& c) { result = c.text; }))
    result = "unknown error code " + std::to_string(code);
  return result;
}

}  // namespace mpc::mpi
