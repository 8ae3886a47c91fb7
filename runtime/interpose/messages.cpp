// Messages that libc writes for a program begin with the program's name, and go to its
// standard error: each rank has its own name and standard error.
//
// See also: error(3), err(3), assert(3); runtime/interpose/streams.h.

#include <err.h>
#include <error.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/streams.h"
#include "runtime/job/start_block.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {
namespace {

// Offsets in a copy of what libc's <errno.h> and <error.h> declare; see private_variable().
struct Offsets {
  size_t name, short_name, count, one_per_line, print_name;
};
Offsets g_offsets;

void name_after_its_program(job::Rank& rank) {
  const job::StartBlock* start = job::StartBlock::of(rank);
  if (rank.instance == nullptr || start == nullptr) return;
  char* name = start->argv()[0];
  char* slash = std::strrchr(name, '/');
  *static_cast<char**>(rank.instance->variable(g_offsets.name)) = name;
  *static_cast<char**>(rank.instance->variable(g_offsets.short_name)) =
      slash != nullptr ? slash + 1 : name;
}

__attribute__((constructor)) void register_names() {
  char* const none = nullptr;
  void (*const no_function)() = nullptr;
  const unsigned zero = 0;
  g_offsets = {loader::private_variable({"program_invocation_name", "__progname_full"},
                                        &none, sizeof none),
               loader::private_variable({"program_invocation_short_name", "__progname"},
                                        &none, sizeof none),
               loader::private_variable({"error_message_count"}, &zero, sizeof zero),
               loader::private_variable({"error_one_per_line"}, &zero, sizeof zero),
               loader::private_variable({"error_print_progname"}, &no_function,
                                        sizeof no_function)};
  job::Job::at_rank_start(job::HookOrder::kMessages, &name_after_its_program);
}

// The values of the caller's rank instead of libc's variables; libc's own outside a rank.
class Program {
 public:
  bool is_rank() const { return instance_ != nullptr; }
  const char* name() const { return get<const char*>(g_offsets.name); }
  const char* short_name() const { return get<const char*>(g_offsets.short_name); }
  unsigned& message_count() const { return get<unsigned>(g_offsets.count); }
  bool wants_one_per_line() const { return get<int>(g_offsets.one_per_line) != 0; }
  void (*print_name())() { return get<void (*)()>(g_offsets.print_name); }

 private:
  template <class T>
  T& get(size_t offset) const {
    return *static_cast<T*>(instance_->variable(offset));
  }
  loader::ProgramInstance* instance_ = own_instance();
};

// "name: text: description of errno"
void write_warning(const Program& program, const char* format, va_list list,
                   int error) {
  std::fprintf(stderr, "%s: ", program.short_name());
  if (format != nullptr) {
    std::vfprintf(stderr, format, list);
    if (error >= 0) std::fputs(": ", stderr);
  }
  if (error >= 0) std::fputs(std::strerror(error), stderr);
  std::fputc('\n', stderr);
}

struct Line {
  const char* file;
  unsigned number;
};

// error_one_per_line: did this line just have its message?
bool repeats(const Program& program, const Line& line) {
  if (!program.wants_one_per_line()) return false;
  static thread_local constinit Line last{nullptr, 0};  // of the rank's thread
  const bool same = last.number == line.number && last.file != nullptr &&
                    (last.file == line.file || std::strcmp(last.file, line.file) == 0);
  last = line;
  return same;
}

void write_error(Program& program, int status, int error, const Line* line,
                 const char* format, va_list list) {
  if (line != nullptr && repeats(program, *line)) return;
  std::fflush(stdout);
  if (auto* print = program.print_name())
    print();
  else
    std::fprintf(stderr, line != nullptr ? "%s:" : "%s: ", program.name());
  if (line != nullptr && line->file != nullptr)
    std::fprintf(stderr, "%s:%u: ", line->file, line->number);
  else if (line != nullptr)
    std::fputc(' ', stderr);
  std::vfprintf(stderr, format, list);
  ++program.message_count();
  if (error != 0) std::fprintf(stderr, ": %s", std::strerror(error));
  std::fputc('\n', stderr);
  std::fflush(stderr);
  if (status != 0) std::exit(status);
}

[[noreturn]] void fail_assertion(const Program& program, const char* file,
                                 unsigned line, const char* function, const char* what,
                                 const char* text, const char* end) {
  std::fprintf(stderr, "%s: %s:%u: %s%s%s%s%s\n", program.short_name(), file, line,
               function != nullptr ? function : "", function != nullptr ? ": " : "",
               what, text, end);
  std::fflush(stderr);
  std::abort();
}

}  // namespace
}  // namespace mpc::interpose

using mpc::interpose::Line;
using mpc::interpose::Program;

MPC_EXPORT void vwarn(const char* format, va_list list) {
  const int error = errno;
  const Program program;
  if (!program.is_rank()) return NEXT(vwarn)(format, list);
  mpc::interpose::write_warning(program, format, list, error);
}
MPC_EXPORT void vwarnx(const char* format, va_list list) {
  const Program program;
  if (!program.is_rank()) return NEXT(vwarnx)(format, list);
  mpc::interpose::write_warning(program, format, list, -1);
}
MPC_EXPORT void verr(int status, const char* format, va_list list) {
  vwarn(format, list);
  std::exit(status);
}
MPC_EXPORT void verrx(int status, const char* format, va_list list) {
  vwarnx(format, list);
  std::exit(status);
}
MPC_EXPORT void warn(const char* format, ...) {
  va_list list;
  va_start(list, format);
  vwarn(format, list);
  va_end(list);
}
MPC_EXPORT void warnx(const char* format, ...) {
  va_list list;
  va_start(list, format);
  vwarnx(format, list);
  va_end(list);
}
MPC_EXPORT void err(int status, const char* format, ...) {
  va_list list;
  va_start(list, format);
  verr(status, format, list);
}
MPC_EXPORT void errx(int status, const char* format, ...) {
  va_list list;
  va_start(list, format);
  verrx(status, format, list);
}

// libc has no form of these that takes a va_list: outside a rank the name is that of the
// process.
MPC_EXPORT void error(int status, int number, const char* format, ...) {
  va_list list;
  va_start(list, format);
  Program program;
  if (program.is_rank()) {
    mpc::interpose::write_error(program, status, number, nullptr, format, list);
  } else {
    char text[1024];
    std::vsnprintf(text, sizeof text, format, list);
    NEXT(error)(status, number, "%s", text);
  }
  va_end(list);
}
MPC_EXPORT void error_at_line(int status, int number, const char* file, unsigned line,
                              const char* format, ...) {
  va_list list;
  va_start(list, format);
  Program program;
  if (program.is_rank()) {
    const Line place{file, line};
    mpc::interpose::write_error(program, status, number, &place, format, list);
  } else {
    char text[1024];
    std::vsnprintf(text, sizeof text, format, list);
    NEXT(error_at_line)(status, number, file, line, "%s", text);
  }
  va_end(list);
}

extern "C" [[noreturn]] void __assert(const char*, const char*, int) noexcept;
extern "C" [[noreturn]] void __assert_fail(const char*, const char*, unsigned,
                                           const char*) noexcept;
extern "C" [[noreturn]] void __assert_perror_fail(int, const char*, unsigned,
                                                  const char*) noexcept;

MPC_EXPORT void __assert_fail(const char* condition, const char* file, unsigned line,
                              const char* function) noexcept {
  const Program program;
  if (!program.is_rank()) NEXT(__assert_fail)(condition, file, line, function);
  mpc::interpose::fail_assertion(program, file, line, function, "Assertion `",
                                 condition, "' failed.");
}
MPC_EXPORT void __assert_perror_fail(int number, const char* file, unsigned line,
                                     const char* function) noexcept {
  const Program program;
  if (!program.is_rank()) NEXT(__assert_perror_fail)(number, file, line, function);
  mpc::interpose::fail_assertion(program, file, line, function,
                                 "Unexpected error: ", std::strerror(number), ".");
}
MPC_EXPORT void __assert(const char* condition, const char* file, int line) noexcept {
  __assert_fail(condition, file, static_cast<unsigned>(line), nullptr);
}

MPC_EXPORT void psignal(int number, const char* text) {
  if (!Program().is_rank()) return NEXT(psignal)(number, text);
  const bool has_text = text != nullptr && text[0] != '\0';
  std::fprintf(stderr, "%s%s%s\n", has_text ? text : "", has_text ? ": " : "",
               ::strsignal(number));
}
