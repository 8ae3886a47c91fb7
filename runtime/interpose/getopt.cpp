// getopt(), getopt_long() and getopt_long_only() on variables of each rank's own (optind and
// its companions are private to each copy of the program). Behaviour and messages are those of
// GNU libc, which has no reentrant form to build on.
//
// Source: POSIX.1 getopt(); the GNU libc manual, "Parsing program options using getopt".

#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

namespace mpc::interpose {
namespace {

// The offsets of these variables in a copy; see loader::private_variable().
struct Offsets {
  size_t argument, index, prints, unknown;
};
Offsets g_offsets;

__attribute__((constructor)) void register_variables() {
  char* const none = nullptr;
  const int one = 1;
  const int question = '?';
  g_offsets = {loader::private_variable({"optarg"}, &none, sizeof none),
               loader::private_variable({"optind"}, &one, sizeof one),
               loader::private_variable({"opterr"}, &one, sizeof one),
               loader::private_variable({"optopt"}, &question, sizeof question)};
}

enum Order { kPermute, kStopAtFirst, kReturnEach };

constexpr int kEnd = -1;
constexpr int kUnknown = '?';
constexpr int kNoLongOption = -2;  // of "-xyz" with getopt_long_only: try short ones

class OptionParser {
 public:
  OptionParser(loader::ProgramInstance& instance, LibcState& state, int argc,
               char** argv, const char* accepted)
      : state_(state),
        argc_(argc),
        argv_(argv),
        accepted_(accepted),
        argument_(*static_cast<char**>(instance.variable(g_offsets.argument))),
        index_(*static_cast<int*>(instance.variable(g_offsets.index))),
        shown_unknown_(*static_cast<int*>(instance.variable(g_offsets.unknown))),
        unknown_(state.unknown_option),
        prints_(*static_cast<int*>(instance.variable(g_offsets.prints)) != 0) {}

  void use_long(const option* options, int* found, bool only) {
    long_options_ = options;
    found_ = found;
    long_only_ = only;
  }

  int next(bool is_posix) {
    const int result = parse(is_posix);
    shown_unknown_ = unknown_;
    return result;
  }

 private:
  int parse(bool is_posix) {
    if (argc_ < 1) return kEnd;
    argument_ = nullptr;
    read_modes(is_posix);
    if (state_.option_position == nullptr || *state_.option_position == '\0') {
      int result = 0;
      if (!advance(result)) return result;
    }
    return short_option();
  }

  bool is_option(const char* word) const { return word[0] == '-' && word[1] != '\0'; }

  void read_modes(bool is_posix) {
    const char mode = accepted_[0];
    if (index_ == 0 || !state_.has_option_state) {
      if (index_ == 0) index_ = 1;
      state_.first_nonoption = state_.last_nonoption = index_;
      state_.option_position = nullptr;
      state_.option_order = mode == '-'   ? kReturnEach
                            : mode == '+' ? kStopAtFirst
                            : is_posix || ::getenv("POSIXLY_CORRECT") != nullptr
                                ? kStopAtFirst
                                : kPermute;
      state_.has_option_state = true;
    }
    if (mode == '-' || mode == '+') ++accepted_;
    colon_first_ = accepted_[0] == ':';
    if (colon_first_) prints_ = false;
  }

  // Options found after the skipped words move before them.
  void move_skipped_words_back() {
    std::rotate(argv_ + state_.first_nonoption, argv_ + state_.last_nonoption,
                argv_ + index_);
    state_.first_nonoption += index_ - state_.last_nonoption;
    state_.last_nonoption = index_;
  }

  // Advances to the next word. False: `result` is the answer; true: a short option follows.
  bool advance(int& result) {
    state_.last_nonoption = std::min(state_.last_nonoption, index_);
    state_.first_nonoption = std::min(state_.first_nonoption, index_);
    if (state_.option_order == kPermute) skip_words();
    if (index_ != argc_ && std::strcmp(argv_[index_], "--") == 0) {
      ++index_;
      if (state_.first_nonoption == state_.last_nonoption)
        state_.first_nonoption = index_;
      else if (state_.last_nonoption != index_)
        move_skipped_words_back();
      state_.last_nonoption = argc_;
      index_ = argc_;
    }
    if (index_ == argc_) {
      if (state_.first_nonoption != state_.last_nonoption)
        index_ = state_.first_nonoption;
      result = kEnd;
      return false;
    }
    char* word = argv_[index_];
    if (!is_option(word)) {
      if (state_.option_order == kStopAtFirst) {
        result = kEnd;
      } else {
        argument_ = argv_[index_++];
        result = 1;
      }
      return false;
    }
    return !is_long_option(word, result);
  }

  void skip_words() {
    if (state_.last_nonoption != index_) {
      if (state_.first_nonoption != state_.last_nonoption)
        move_skipped_words_back();
      else
        state_.first_nonoption = index_;
    }
    while (index_ < argc_ && !is_option(argv_[index_])) ++index_;
    state_.last_nonoption = index_;
  }

  bool is_long_option(char* word, int& result) {
    state_.option_position = word + 1;
    if (long_options_ == nullptr) return false;
    if (word[1] == '-') {
      state_.option_position = word + 2;
      result = long_option("--");
      return true;
    }
    if (!long_only_ || (word[2] == '\0' && std::strchr(accepted_, word[1]) != nullptr))
      return false;
    result = long_option("-");
    if (result != kNoLongOption) return true;
    state_.option_position = word + 1;
    return false;
  }

  int short_option() {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): negative beyond ASCII, as with glibc
    const int letter = *state_.option_position++;
    const char* rule = std::strchr(accepted_, letter);
    const bool ends_word = *state_.option_position == '\0';
    if (ends_word) ++index_;
    if (rule == nullptr || letter == ':' || letter == ';') {
      if (prints_) ::fprintf(stderr, "%s: invalid option -- '%c'\n", argv_[0], letter);
      unknown_ = letter;
      return kUnknown;
    }
    if (rule[0] == 'W' && rule[1] == ';' && long_options_ != nullptr)
      return long_option_by_letter(letter);
    if (rule[1] != ':') return letter;
    int result = letter;
    if (!ends_word) {
      argument_ = state_.option_position;
      ++index_;
    } else if (rule[2] != ':') {
      if (index_ == argc_)
        result = lacks_argument(letter);
      else
        argument_ = argv_[index_++];
    }
    state_.option_position = nullptr;
    return result;
  }

  int lacks_argument(int letter) {
    if (prints_)
      ::fprintf(stderr, "%s: option requires an argument -- '%c'\n", argv_[0], letter);
    unknown_ = letter;
    return colon_first_ ? ':' : kUnknown;
  }

  // "-W foo" with "W;" in the accepted letters means "--foo".
  int long_option_by_letter(int letter) {
    if (*state_.option_position == '\0') {
      if (index_ == argc_) return lacks_argument(letter);
      state_.option_position = argv_[index_];
    }
    long_only_ = false;
    return long_option("-W ");
  }

  int long_option(const char* prefix) {
    const char* name = state_.option_position;
    const size_t length = std::strcspn(name, "=");
    std::vector<int> candidates;
    const int match = find_long(name, length, candidates);
    if (candidates.size() > 1) return is_ambiguous(prefix, candidates);
    if (match < 0) {
      const bool may_be_short = long_only_ && argv_[index_][1] != '-' &&
                                std::strchr(accepted_, *name) != nullptr;
      if (may_be_short) return kNoLongOption;
      if (prints_)
        ::fprintf(stderr, "%s: unrecognized option '%s%s'\n", argv_[0], prefix, name);
      state_.option_position = nullptr;
      ++index_;
      unknown_ = 0;
      return kUnknown;
    }
    const option& o = long_options_[match];
    ++index_;
    state_.option_position = nullptr;
    if (name[length] == '=') {
      if (o.has_arg == no_argument)
        return complain(o, prefix, "doesn't allow an argument", kUnknown);
      argument_ = const_cast<char*>(name + length + 1);
    } else if (o.has_arg == required_argument) {
      if (index_ == argc_)
        return complain(o, prefix, "requires an argument",
                        colon_first_ ? ':' : kUnknown);
      argument_ = argv_[index_++];
    }
    if (found_ != nullptr) *found_ = match;
    if (o.flag == nullptr) return o.val;
    *o.flag = o.val;
    return 0;
  }

  // An exact name, or the only abbreviation; two with the same meaning are no conflict.
  int find_long(const char* name, size_t length, std::vector<int>& candidates) const {
    int first = -1;
    for (int i = 0; long_options_[i].name != nullptr; ++i) {
      if (std::strncmp(long_options_[i].name, name, length) != 0) continue;
      if (std::strlen(long_options_[i].name) == length) {
        candidates.clear();
        return i;
      }
    }
    for (int i = 0; long_options_[i].name != nullptr; ++i) {
      const option& o = long_options_[i];
      if (std::strncmp(o.name, name, length) != 0) continue;
      if (first < 0) {
        first = i;
        candidates.push_back(i);
        continue;
      }
      const option& f = long_options_[first];
      if (long_only_ || f.has_arg != o.has_arg || f.flag != o.flag || f.val != o.val)
        candidates.push_back(i);
    }
    return first;
  }

  int is_ambiguous(const char* prefix, const std::vector<int>& candidates) {
    if (prints_) {
      ::flockfile(stderr);
      ::fprintf(stderr, "%s: option '%s%s' is ambiguous; possibilities:", argv_[0],
                prefix, state_.option_position);
      for (const int i : candidates)
        ::fprintf(stderr, " '%s%s'", prefix, long_options_[i].name);
      ::fprintf(stderr, "\n");
      ::funlockfile(stderr);
    }
    state_.option_position += std::strlen(state_.option_position);
    ++index_;
    unknown_ = 0;
    return kUnknown;
  }

  int complain(const option& o, const char* prefix, const char* what, int result) {
    if (prints_)
      ::fprintf(stderr, "%s: option '%s%s' %s\n", argv_[0], prefix, o.name, what);
    unknown_ = o.val;
    return result;
  }

  LibcState& state_;
  int argc_;
  char** argv_;
  const char* accepted_;
  char*& argument_;
  int& index_;
  int& shown_unknown_;  // optopt
  int& unknown_;
  bool prints_;
  bool colon_first_ = false;
  const option* long_options_ = nullptr;
  int* found_ = nullptr;
  bool long_only_ = false;
};

// Null: the caller is not in a rank, so libc's function is right.
loader::ProgramInstance* instance_with_options(LibcState*& state) {
  state = libc_state();
  return state != nullptr ? own_instance() : nullptr;
}

int parse_long(loader::ProgramInstance& instance, LibcState& state, int argc,
               char* const* argv, const char* accepted, const option* options,
               int* found, bool only) {
  OptionParser parser(instance, state, argc, const_cast<char**>(argv), accepted);
  parser.use_long(options, found, only);
  return parser.next(false);
}

}  // namespace
}  // namespace mpc::interpose

#define NEXT(name) MPC_NEXT(name, decltype(&::name))
using mpc::interpose::instance_with_options;
using mpc::interpose::LibcState;
using mpc::interpose::OptionParser;

extern "C" int __posix_getopt(int, char* const*, const char*) noexcept;

MPC_EXPORT int getopt(int argc, char* const* argv, const char* accepted) noexcept {
  LibcState* state;
  auto* instance = instance_with_options(state);
  if (instance == nullptr) return NEXT(getopt)(argc, argv, accepted);
  return OptionParser(*instance, *state, argc, const_cast<char**>(argv), accepted)
      .next(false);
}
// getopt() for programs that ask for POSIX only.
MPC_EXPORT int __posix_getopt(int argc, char* const* argv,
                              const char* accepted) noexcept {
  LibcState* state;
  auto* instance = instance_with_options(state);
  if (instance == nullptr) return NEXT(__posix_getopt)(argc, argv, accepted);
  return OptionParser(*instance, *state, argc, const_cast<char**>(argv), accepted)
      .next(true);
}
MPC_EXPORT int getopt_long(int argc, char* const* argv, const char* accepted,
                           const option* options, int* found) noexcept {
  LibcState* state;
  auto* instance = instance_with_options(state);
  if (instance == nullptr)
    return NEXT(getopt_long)(argc, argv, accepted, options, found);
  return mpc::interpose::parse_long(*instance, *state, argc, argv, accepted, options,
                                    found, false);
}
MPC_EXPORT int getopt_long_only(int argc, char* const* argv, const char* accepted,
                                const option* options, int* found) noexcept {
  LibcState* state;
  auto* instance = instance_with_options(state);
  if (instance == nullptr)
    return NEXT(getopt_long_only)(argc, argv, accepted, options, found);
  return mpc::interpose::parse_long(*instance, *state, argc, argv, accepted, options,
                                    found, true);
}
