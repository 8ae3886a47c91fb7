// std::cin, cout, cerr, clog and the wide ones: each copy of a program has its own objects, so
// that one rank's end of input, format flags and buffers do not affect the others.
//
// std::ios_base::Init constructs the objects of libstdc++; ours are constructed likewise, on top of
// the rank's own FILEs (runtime/interpose/streams.h), before the program's constructors run; in a
// program without C++ before those of the first library in C++ that it opens.

#include <ext/stdio_sync_filebuf.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <new>
#include <string_view>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

namespace mpc::interpose {
namespace {

// After sync_with_stdio(false): a buffer of its own above the FILE. Output is passed to the FILE
// when the buffer is full or flushed, so that lines still leave whole.
template <class Char>
class BufferedStdio final : public std::basic_streambuf<Char> {
  using Traits = std::char_traits<Char>;
  using Int = typename Traits::int_type;

 public:
  explicit BufferedStdio(FILE* file, bool is_input) : file_(file) {
    if (!is_input) this->setp(buffer_, buffer_ + kCharacters);
  }

 protected:
  Int overflow(Int c) override {
    if (!write_out()) return Traits::eof();
    if (!Traits::eq_int_type(c, Traits::eof())) this->sputc(Traits::to_char_type(c));
    return Traits::not_eof(c);
  }
  int sync() override { return write_out() && std::fflush(file_) == 0 ? 0 : -1; }

  // Reads what is there, up to the end of a line: a terminal's user waits for the answer.
  Int underflow() override {
    size_t count = 0;
    while (count < kCharacters) {
      const Int c = take_one();
      if (Traits::eq_int_type(c, Traits::eof())) break;
      buffer_[count++] = Traits::to_char_type(c);
      if (c == static_cast<Int>('\n')) break;
    }
    this->setg(buffer_, buffer_, buffer_ + count);
    return count > 0 ? Traits::to_int_type(buffer_[0]) : Traits::eof();
  }

 private:
  static constexpr size_t kCharacters = 8192;  // as BUFSIZ, libstdc++'s own size

  Int take_one() {
    if constexpr (sizeof(Char) == 1)
      return std::getc(file_);
    else
      return std::getwc(file_);
  }
  bool write_out() {
    const auto count = static_cast<size_t>(this->pptr() - this->pbase());
    this->setp(buffer_, buffer_ + kCharacters);
    if constexpr (sizeof(Char) == 1)
      return std::fwrite(buffer_, 1, count, file_) == count;
    for (size_t i = 0; i < count; ++i)
      if (std::putwc(static_cast<wchar_t>(buffer_[i]), file_) == WEOF) return false;
    return true;
  }

  FILE* file_;
  Char buffer_[kCharacters];
};

// The offsets of the streams of one character type in a copy; see loader::private_variable().
struct Offsets {
  size_t in, out, err, log;
};
Offsets g_narrow;
Offsets g_wide;

template <class Char>
class Streams {
  using In = std::basic_istream<Char>;
  using Out = std::basic_ostream<Char>;
  using Synced = __gnu_cxx::stdio_sync_filebuf<Char>;

 public:
  // Source: std::ios_base::Init; C++20 [iostream.objects].
  Streams(const loader::ProgramInstance& instance, const Offsets& at)
      : in_buffer_(stdin), out_buffer_(stdout), err_buffer_(stderr) {
    out_ = new (instance.variable(at.out)) Out(&out_buffer_);
    in_ = new (instance.variable(at.in)) In(&in_buffer_);
    err_ = new (instance.variable(at.err)) Out(&err_buffer_);
    log_ = new (instance.variable(at.log)) Out(&err_buffer_);
    in_->tie(out_);
    err_->tie(out_);
    err_->setf(std::ios_base::unitbuf);
  }

  void unsync() {
    own_in_ = std::make_unique<BufferedStdio<Char>>(stdin, true);
    own_out_ = std::make_unique<BufferedStdio<Char>>(stdout, false);
    own_err_ = std::make_unique<BufferedStdio<Char>>(stderr, false);
    own_log_ = std::make_unique<BufferedStdio<Char>>(stderr, false);
    in_->rdbuf(own_in_.get());
    out_->rdbuf(own_out_.get());
    err_->rdbuf(own_err_.get());
    log_->rdbuf(own_log_.get());
  }
  void flush() {
    out_->flush();
    err_->flush();
    log_->flush();
  }

 private:
  Synced in_buffer_, out_buffer_, err_buffer_;
  In* in_ = nullptr;
  Out* out_ = nullptr;
  Out* err_ = nullptr;
  Out* log_ = nullptr;
  std::unique_ptr<BufferedStdio<Char>> own_in_, own_out_, own_err_, own_log_;
};

// Not freed at the rank's end: threads that it left behind may still use them.
struct RankIostreams {
  explicit RankIostreams(const loader::ProgramInstance& instance)
      : narrow(instance, g_narrow), wide(instance, g_wide) {}
  Streams<char> narrow;
  Streams<wchar_t> wide;
  bool are_synced = true;
};

constexpr std::string_view kLibrary = "libstdc++.so";

void make_streams(job::Rank& rank) {
  auto* made = new RankIostreams(*rank.instance);
  rank.libc->iostreams = made;
  // First registered, last called: after the destructors of what uses them, as with libstdc++'s.
  rank.instance->at_exit({loader::ExitEntry::Kind::kCxa,
                          reinterpret_cast<void*>(+[](void* streams) {
                            static_cast<RankIostreams*>(streams)->narrow.flush();
                            static_cast<RankIostreams*>(streams)->wide.flush();
                          }),
                          made, nullptr});
}

void make_streams_of_program(job::Rank& rank) {
  if (rank.instance != nullptr && rank.instance->image().uses_library(kLibrary))
    make_streams(rank);
}

void make_streams_of_library(loader::ProgramInstance& instance, std::string_view name) {
  job::Rank* rank = own_rank();
  if (rank != nullptr && rank->instance == &instance && rank->libc != nullptr &&
      rank->libc->iostreams == nullptr && name.starts_with(kLibrary))
    make_streams(*rank);
}

__attribute__((constructor)) void register_streams() {
  const auto variable = [](const char* name, size_t bytes) {
    return loader::private_variable({name}, nullptr, bytes);
  };
  g_narrow = {
      variable("_ZSt3cin", sizeof std::cin), variable("_ZSt4cout", sizeof std::cout),
      variable("_ZSt4cerr", sizeof std::cerr), variable("_ZSt4clog", sizeof std::clog)};
  g_wide = {variable("_ZSt4wcin", sizeof std::wcin),
            variable("_ZSt5wcout", sizeof std::wcout),
            variable("_ZSt5wcerr", sizeof std::wcerr),
            variable("_ZSt5wclog", sizeof std::wclog)};
  job::Job::at_rank_start(job::HookOrder::kIostreams, &make_streams_of_program);
  loader::set_library_needed(&make_streams_of_library);
}

}  // namespace
}  // namespace mpc::interpose

// std::ios_base::sync_with_stdio(bool). As with libstdc++ this cannot be reversed.
MPC_EXPORT bool _ZNSt8ios_base15sync_with_stdioEb(bool sync) {
  using mpc::interpose::RankIostreams;
  mpc::interpose::LibcState* state = mpc::interpose::libc_state();
  if (state == nullptr || state->iostreams == nullptr)
    return MPC_NEXT(_ZNSt8ios_base15sync_with_stdioEb, bool (*)(bool))(sync);
  auto& streams = *static_cast<RankIostreams*>(state->iostreams);
  const bool was_synced = streams.are_synced;
  if (!sync && was_synced) {
    streams.narrow.unsync();
    streams.wide.unsync();
    streams.are_synced = false;
  }
  return was_synced;
}
