#include "runtime/transport/host/lane.h"

#include <cstring>

namespace mpc::transport::host {

Lane::Left Lane::post(const Envelope& envelope, const Source& source,
                      CellKind kind) noexcept {
  const Locked locked(lock_);
  if (is_lost_) [[unlikely]]
    return Left::kNone;
  if (waiting_.empty() && writer_.write(envelope, source, kind)) [[likely]]
    return Left::kNone;
  keep(envelope, source, kind);
  return Left::kSome;
}

void Lane::keep(const Envelope& envelope, const Source& source, CellKind kind) {
  Waiting& waiting = waiting_.emplace_back(Waiting{kind, envelope, {}});
  waiting.data.resize(source.bytes);
  if (source.pack != nullptr) {
    source.pack(source.data, 0, waiting.data.data(), source.bytes);
  } else if (source.bytes != 0) {
    std::memcpy(waiting.data.data(), source.data, source.bytes);
  }
}

Lane::Left Lane::flush() noexcept {
  const Locked locked(lock_);
  while (!waiting_.empty()) {
    const Waiting& first = waiting_.front();
    if (!writer_.write(first.envelope, {first.data.data(), first.data.size(), nullptr},
                       first.kind))
      return Left::kSome;
    waiting_.pop_front();
  }
  return Left::kNone;
}

void Lane::lose() noexcept {
  const Locked locked(lock_);
  is_lost_ = true;
  waiting_.clear();
}

}  // namespace mpc::transport::host
