#include "runtime/wireup/table_question.h"

#include <algorithm>
#include <utility>

namespace mpc::wireup {
namespace {

// Longer than a process waits for the others' rows.
constexpr uint64_t kPatienceNs = 3000 * kMs;

}  // namespace

TableQuestion::TableQuestion(size_t processes, Ask ask, Answer answer)
    : processes_(processes), ask_(std::move(ask)), answer_(std::move(answer)) {}

void TableQuestion::begin(Why why) {
  why_ = std::max(why_, why);
  next_ = 0;
  ask_next();
}

void TableQuestion::take(size_t process, const std::string& table) {
  if (why_ == Why::kNothing) return;
  if (!table.empty()) return end(table);
  if (process == asked_) ask_next();
}

void TableQuestion::lose(size_t process) {
  if (why_ != Why::kNothing && process == asked_) ask_next();
}

void TableQuestion::keep_deadline(uint64_t now) {
  if (take_if_over(deadline_ns_, now)) ask_next();
}

void TableQuestion::ask_next() {
  while (next_ < processes_) {
    asked_ = next_++;
    if (!ask_(asked_)) continue;
    deadline_ns_ = now_ns() + kPatienceNs;
    return;
  }
  end("  no process answers\n");
}

void TableQuestion::end(const std::string& table) {
  deadline_ns_ = 0;
  answer_(std::exchange(why_, Why::kNothing), table);
}

}  // namespace mpc::wireup
