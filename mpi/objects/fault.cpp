#include "mpi/objects/fault.h"

#include <execinfo.h>
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <tuple>

#include "base/log.h"
#include "base/mpi_handle_names.h"
#include "base/settings.h"
#include "runtime/job/addr2line.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/job.h"
#include "runtime/loader/image.h"

// Symbols of the linker: where this library's file begins and where its code ends.
extern "C" {
[[gnu::visibility("hidden")]] extern const char __ehdr_start;  // NOLINT
[[gnu::visibility("hidden")]] extern const char etext;         // NOLINT
}

namespace mpc::mpi {
namespace {

constexpr const char* kActions[] = {"report", "abort"};
EnumSetting setting_action(
    "mpi.check_action", 0, kActions, 2,
    "What follows a fault that mpi.check=full finds: report (it is printed, the job "
    "goes on, and ends "
    "with status 121 if it would end with 0) or abort (the job ends with it)");

thread_local constinit const void* t_call_place
    __attribute__((tls_model("initial-exec"))) = nullptr;

bool is_ours(const void* address) noexcept {
  return address >= &__ehdr_start && address < &etext;
}

// The return address outside this library: a call from Fortran comes through one of our functions.
const void* caller_outside() noexcept {
  constexpr int kMostFrames = 16;
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  for (int i = 0; i < count; ++i)
    if (!is_ours(frames[i])) return frames[i];
  return nullptr;
}

struct Count {
  uint64_t seen = 0;
};
struct Faults {
  std::mutex mutex;
  std::map<std::tuple<std::string, CodePlace, CodePlace>, Count> counts;
  std::map<CodePlace, std::string> texts;
};
// Never destroyed: objects may end after main().
Faults& faults() {
  static auto* const all = new Faults;
  return *all;
}

std::string find_line(const CodePlace& place) {
  char function[160] = "", line[200] = "";
  job::addr2line::Answer answer{function, sizeof function, line, sizeof line};
  const size_t offset = place.offset;
  constexpr int kMostMs = 3000;
  static std::once_flag once;
  std::call_once(once, job::addr2line::find_program);  // a program without mpcrun
  // job::addr2line is made for the one report of a crash: all its children use the same stack.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  job::addr2line::ask(place.path.c_str(), &offset, &answer, 1, kMostMs);
  if (line[0] != '\0') return line;
  return fmt::format("{}+{:#x}", place.path, place.offset);
}

}  // namespace

const void* call_place() noexcept { return t_call_place; }

void set_call_place(const void* return_address) noexcept {
  t_call_place = is_ours(return_address) ? caller_outside() : return_address;
}

CallSite this_call() noexcept {
  return {sched::Execution::self().call(), call_place()};
}

CodePlace place_of(const void* return_address) {
  if (return_address == nullptr) return {};
  // A return address belongs to the line of its call, one byte before it.
  const loader::AddressInfo info =
      loader::describe_address(static_cast<const char*>(return_address) - 1);
  if (info.path == nullptr) return {};
  return {info.path, info.offset};
}

std::string text_of(const CodePlace& place) {
  if (place.path.empty()) return "an unknown place";
  Faults& all = faults();
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.texts.find(place);
    if (found != all.texts.end()) return found->second;
  }
  std::string text = find_line(place);
  const std::lock_guard lock(all.mutex);
  return all.texts.try_emplace(place, std::move(text)).first->second;
}

std::string call_at(const char* call, const CodePlace& place) {
  if (place.path.empty()) return call;
  return fmt::format("{} at {}", call, text_of(place));
}

std::string elements_text(dt::Count count, uint32_t abi_code, uint32_t uniform_code,
                          dt::Count elements) {
  const char* name = abi_code != 0 ? abi::handle_name(abi_code) : nullptr;
  if (name != nullptr) return fmt::format("{} {}", count, name);
  const char* basic = uniform_code != 0 ? abi::handle_name(uniform_code) : "elements";
  return fmt::format("{} of a derived type of {} {}", count, elements,
                     basic != nullptr ? basic : "elements");
}

std::string elements_text(dt::Count count, const dt::Datatype& type) {
  return elements_text(count, type.abi_code(), type.uniform_code(), type.elements());
}

namespace detail {

bool is_new_fault(const char* kind, const CodePlace& a, const CodePlace& b) {
  Faults& all = faults();
  const std::lock_guard lock(all.mutex);
  return ++all.counts[{kind, a, b}].seen == 1;
}

void print_fault(const char* kind, const std::string& text) {
  std::string whole = fmt::format("{}: {}", kind, text);
  job::Job& job = job::Job::instance();
  if (setting_action.get() == 1)
    job.abort(job::kExitCheck,
              fmt::format("mpc: rank {}: {}", job::current_rank()->world_rank, whole));
  log::line(log::Level::kError, whole);
  job.note_refusal(job::kExitCheck, "");
}

}  // namespace detail

void report_fault_counts() {
  Faults& all = faults();
  const std::lock_guard lock(all.mutex);
  if (all.counts.empty()) return;
  uint64_t total = 0;
  std::string text;
  for (const auto& [key, count] : all.counts) {
    const auto& [kind, a, b] = key;
    total += count.seen;
    if (count.seen == 1) continue;
    text += fmt::format("\n  {} times: {}", count.seen, kind);
    for (const CodePlace* place : {&a, &b}) {
      const auto found = all.texts.find(*place);
      if (found != all.texts.end()) text += fmt::format(", {}", found->second);
    }
  }
  log::line(log::Level::kError,
            fmt::format("mpi.check: {} fault{}, seen {} time{}{}", all.counts.size(),
                        all.counts.size() == 1 ? "" : "s", total, total == 1 ? "" : "s",
                        text));
}

}  // namespace mpc::mpi
