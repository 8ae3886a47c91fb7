#pragma once
// Fixture: a file of its own for each test, and filetypes.
//
// Role:      what the tests of runtime/io share.
// Users:     tests/unit/io.
// Threads:   one.
// See also:  runtime/io/transfer.h.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/io/shared_file.h"

namespace mpc::io {

class FileTest : public testing::Test {
 protected:
  FileTest() {
    char name[] = "/tmp/mpc-io-test-XXXXXX";
    ::close(::mkstemp(name));
    path_ = name;
    EXPECT_EQ(SharedFile::open(path_, O_RDWR, 0600, {0, true, true}, &file_), 0);
  }
  ~FileTest() override { ::unlink(path_.c_str()); }

  Target target(const Tuning& tuning = {}) { return file_->target(tuning); }
  std::string contents() const {
    Count size = 0;
    EXPECT_EQ(file_->descriptor().size(&size), 0);
    std::string all(static_cast<size_t>(size), '?');
    EXPECT_EQ(file_->descriptor().read_at(all.data(), size, 0).bytes, size);
    return all;
  }
  void set_contents(const std::string& all) {
    const auto size = static_cast<Count>(all.size());
    EXPECT_EQ(file_->descriptor().write_at(all.data(), size, 0).error, 0);
  }

  std::string path_;
  std::shared_ptr<SharedFile> file_;
};

inline const dt::Datatype& byte_type() { return *dt::predefined(dt::abi::kByte); }

// `block` bytes in every `stride`, after `skip` bytes.
inline dt::TypeRef comb(Count block, Count stride, Count skip = 0) {
  const std::vector<Count> lengths{block}, places{skip};
  auto one = dt::make_hindexed(lengths, places, byte_type());
  return *dt::make_resized(**one, 0, stride);
}

inline Buffer bytes_of(std::string& text) {
  return {text.data(), &byte_type(), static_cast<Count>(text.size())};
}

// 'a', 'b', ... without end.
inline std::string letters(size_t n) {
  std::string text(n, ' ');
  for (size_t i = 0; i < n; ++i) text[i] = static_cast<char>('a' + i % 26);
  return text;
}

}  // namespace mpc::io
