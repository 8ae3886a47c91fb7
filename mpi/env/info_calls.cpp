// Bodies of MPI-4.1 chapter 10: info objects.

#include <fmt/format.h>

#include <cstring>

#include "mpi/impl/info.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/info.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi::impl {
namespace {

Err check_key(const char* key) {
  const size_t n = ::strnlen(key, MPI_MAX_INFO_KEY);
  if (n > 0 && n < MPI_MAX_INFO_KEY) return kSuccess;
  return fail(MPI_ERR_INFO_KEY,
              n == 0 ? std::string("the key is empty")
                     : fmt::format("the key is longer than {} characters",
                                   MPI_MAX_INFO_KEY - 1));
}

Err check_writable(const Info& info) {
  if (!info.is_env) return kSuccess;
  return fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed or freed");
}

void copy_text(const std::string& text, char* out, size_t room) noexcept {
  if (room == 0) return;
  const size_t n = std::min(text.size(), room - 1);
  std::memcpy(out, text.data(), n);
  out[n] = '\0';
}

}  // namespace

Err info_create(MPI_Info* info) {
  *info = create_info()->handle();
  return kSuccess;
}

Err info_create_env(int argc, char** argv, MPI_Info* info) {
  InfoHints hints = info_env().hints;
  if (argc > 0 && argv != nullptr) {
    hints.set("command", argv[0]);
    std::string rest;
    for (int i = 1; i < argc; ++i) rest += (i > 1 ? " " : "") + std::string(argv[i]);
    if (!rest.empty()) hints.set("argv", rest);
  }
  *info = create_info(std::move(hints))->handle();
  return kSuccess;
}

Err info_free(HandleRef<Info, MPI_Info> ref) {
  MPC_MPI_TRY(check_writable(*ref));
  Info* info = ref.object;
  *ref.handle = MPI_INFO_NULL;
  info->mark_freed();
  forget_handle(*info);
  delete info;
  return kSuccess;
}

Err info_dup(Info& info, MPI_Info* newinfo) {
  const std::lock_guard lock(info.mutex);
  *newinfo = create_info(info.hints)->handle();
  return kSuccess;
}

Err info_set(Info& info, const char* key, const char* value) {
  MPC_MPI_TRY(check_writable(info));
  MPC_MPI_TRY(check_key(key));
  if (::strnlen(value, MPI_MAX_INFO_VAL) >= MPI_MAX_INFO_VAL)
    return fail(
        MPI_ERR_INFO_VALUE,
        fmt::format("the value is longer than {} characters", MPI_MAX_INFO_VAL - 1));
  const std::lock_guard lock(info.mutex);
  info.hints.set(key, value);
  return kSuccess;
}

Err info_delete(Info& info, const char* key) {
  MPC_MPI_TRY(check_writable(info));
  MPC_MPI_TRY(check_key(key));
  const std::lock_guard lock(info.mutex);
  if (info.hints.remove(key)) return kSuccess;
  return fail(MPI_ERR_INFO_NOKEY, fmt::format("the key \"{}\" is not set", key));
}

Err info_get(Info& info, const char* key, int valuelen, char* value, int* flag) {
  MPC_MPI_TRY(check_key(key));
  if (valuelen < 0)
    return fail(MPI_ERR_ARG, fmt::format("valuelen {} is negative", valuelen));
  const std::lock_guard lock(info.mutex);
  const std::string* found = info.hints.find(key);
  *flag = found != nullptr;
  // `value` has room for valuelen characters and the terminator (MPI-3.1 section 9).
  if (found != nullptr) copy_text(*found, value, static_cast<size_t>(valuelen) + 1);
  return kSuccess;
}

Err info_get_valuelen(Info& info, const char* key, int* valuelen, int* flag) {
  MPC_MPI_TRY(check_key(key));
  const std::lock_guard lock(info.mutex);
  const std::string* found = info.hints.find(key);
  *flag = found != nullptr;
  if (found != nullptr) *valuelen = static_cast<int>(found->size());
  return kSuccess;
}

Err info_get_string(Info& info, const char* key, int* buflen, char* value, int* flag) {
  MPC_MPI_TRY(check_key(key));
  if (*buflen < 0)
    return fail(MPI_ERR_ARG, fmt::format("buflen {} is negative", *buflen));
  const std::lock_guard lock(info.mutex);
  const std::string* found = info.hints.find(key);
  *flag = found != nullptr;
  if (found == nullptr) return kSuccess;
  copy_text(*found, value, static_cast<size_t>(*buflen));
  *buflen = static_cast<int>(found->size()) + 1;  // with the terminator
  return kSuccess;
}

Err info_get_nkeys(Info& info, int* nkeys) {
  const std::lock_guard lock(info.mutex);
  *nkeys = static_cast<int>(info.hints.entries().size());
  return kSuccess;
}

Err info_get_nthkey(Info& info, int n, char* key) {
  const std::lock_guard lock(info.mutex);
  const auto& entries = info.hints.entries();
  if (n < 0 || static_cast<size_t>(n) >= entries.size())
    return fail(MPI_ERR_ARG,
                fmt::format("there is no key {}; the info has {}", n, entries.size()));
  copy_text(entries[static_cast<size_t>(n)].first, key, MPI_MAX_INFO_KEY);
  return kSuccess;
}

}  // namespace mpc::mpi::impl
