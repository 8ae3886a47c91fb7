#pragma once
// Frame: the messages between the head of a job and the daemons on its hosts.
//
// Role:      kinds of frames, and how numbers and texts are packed into one.
// Users:     tools/mpclaunch.
// Threads:   plain data.
// See also:  tools/mpclaunch/channel.h, docs/design/0023-daemons.md.

#include <cstdint>
#include <string>
#include <string_view>

namespace mpc::launch {

enum class Frame : uint32_t {
  // From a daemon.
  kHello,       // version
  kFailed,      // status, text: the processes of this host cannot be started
  kRecord,      // process, kind, status, text: see runtime/wireup/record.h
  kEnded,       // process, wait status; behind all its output
  kOutput,      // descriptor, text
  kInputTaken,  // bytes
  kFence,       // what the processes of this host have put
  kAsk,         // number, process: what has that one put?
  kAnswerTo,    // number, PMIx status, data: the answer to kAskHere
  // From the head.
  kStart,        // see start_frame.h
  kOrder,        // process, order, status
  kKill,         // process; -1: all
  kInput,        // text; empty: the end
  kOutputTaken,  // bytes
  kFenceDone,    // what all have put
  kAskHere,      // number, process
  kAnswer,       // number, PMIx status, data: the answer to kAsk
  kSignal,       // process, signal
};

// A frame on the wire: its kind and the length of what follows, 4 bytes each.
inline constexpr size_t kFrameHeadBytes = 8;
inline constexpr size_t kMostFrameBytes = 256u << 20;

class Packer {
 public:
  Packer& number(int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Packer& text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    bytes_.append(value);
    return *this;
  }
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

// Missing values are 0 or empty, and is_whole() is false in the end.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) noexcept : bytes_(bytes) {}
  int64_t number() noexcept {
    int64_t value = 0;
    const std::string_view bytes = take(sizeof value);
    if (!bytes.empty()) __builtin_memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  int small() noexcept { return static_cast<int>(number()); }
  std::string_view text() noexcept {
    const int64_t size = number();
    return size < 0 ? take(SIZE_MAX) : take(static_cast<size_t>(size));
  }
  bool is_whole() const noexcept { return is_whole_; }

 private:
  std::string_view take(size_t size) noexcept {
    is_whole_ = is_whole_ && size <= bytes_.size();
    if (!is_whole_) return {};
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::string_view bytes_;
  bool is_whole_ = true;
};

}  // namespace mpc::launch
