#include "base/check.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace mpc {
namespace {

std::atomic<CheckReporter> g_reporter{nullptr};

void put(const char* text, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(STDERR_FILENO, text, size);
    if (written <= 0) return;
    text += written;
    size -= static_cast<size_t>(written);
  }
}
void put(const char* text) { put(text, std::strlen(text)); }

}  // namespace

void set_check_reporter(CheckReporter reporter) noexcept {
  g_reporter.store(reporter, std::memory_order_release);  // pairs with check_failed
}

void check_failed(const char* expression, const char* message, const char* file,
                  int line) noexcept {
  char digits[16];
  size_t n = sizeof digits;
  for (unsigned v = static_cast<unsigned>(line); v != 0 || n == sizeof digits;
       v /= 10) {
    digits[--n] = static_cast<char>('0' + v % 10);
  }
  put("mpc: internal error: ");
  put(message);
  put(" (");
  put(expression);
  put(") at ");
  put(file);
  put(":");
  put(digits + n, sizeof digits - n);
  put("\n");
  if (auto* reporter = g_reporter.load(std::memory_order_acquire)) {
    char buffer[512];
    put(buffer, reporter(buffer, sizeof buffer));
  }
  std::abort();
}

}  // namespace mpc
