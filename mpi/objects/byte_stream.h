#pragma once
// ByteWriter, ByteReader: plain values as bytes, for the data that processes exchange in a meeting.
//
// Role:      rooms pack and merge with them. All processes of a job run the same build on the
//            same architecture, so values go as they lie in memory.
// Users:     mpi/objects/meeting.h and the rooms of mpi.
// Threads:   one at a time.
// See also:  mpi/objects/exchange.h.

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mpc::mpi {

using Bytes = std::vector<std::byte>;

class ByteWriter {
 public:
  ByteWriter() = default;
  // is_for_other_jobs: what is put is read there, too.
  explicit ByteWriter(bool is_for_other_jobs) noexcept
      : is_for_other_jobs_(is_for_other_jobs) {}
  bool is_for_other_jobs() const noexcept { return is_for_other_jobs_; }

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    append(&value, sizeof value);
  }
  template <class T>
  void put_all(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    put(values.size());
    append(values.data(), values.size_bytes());
  }
  void put_text(std::string_view text) {
    put_all(std::span<const char>(text.data(), text.size()));
  }
  Bytes take() noexcept { return std::move(bytes_); }

 private:
  void append(const void* data, size_t n) {
    if (n == 0) return;
    const size_t old = bytes_.size();
    bytes_.resize(old + n);
    std::memcpy(bytes_.data() + old, data, n);
  }
  Bytes bytes_;
  bool is_for_other_jobs_ = false;
};

// Reading past the end gives zeros and empty lists; has_failed() is true then.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <class T>
  T get() noexcept {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    T value{};
    extract(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> get_all() {
    const auto n = get<size_t>();
    if (n > bytes_.size() / sizeof(T)) {
      fail();
      return {};
    }
    std::vector<T> values(n);
    extract(values.data(), n * sizeof(T));
    return values;
  }
  std::string get_text() {
    const std::vector<char> text = get_all<char>();
    return {text.begin(), text.end()};
  }

  bool is_at_end() const noexcept { return bytes_.empty(); }
  bool has_failed() const noexcept { return has_failed_; }

 private:
  void fail() noexcept {
    has_failed_ = true;
    bytes_ = {};
  }
  void extract(void* to, size_t n) noexcept {
    if (n > bytes_.size()) return fail();
    if (n != 0) std::memcpy(to, bytes_.data(), n);
    bytes_ = bytes_.subspan(n);
  }
  std::span<const std::byte> bytes_;
  bool has_failed_ = false;
};

}  // namespace mpc::mpi
