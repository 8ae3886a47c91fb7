#include "runtime/wireup/verdict.h"

#include <utility>

namespace mpc::wireup {

bool Verdict::Note::take(int its_status, std::string its_message) {
  if (is_there) return false;
  is_there = true;
  status = its_status;
  message = std::move(its_message);
  return true;
}

bool Verdict::end(int status, std::string message) {
  if (is_ending_) return false;
  is_ending_ = true;
  return reason_.take(status, std::move(message));
}

bool Verdict::end_by_crash(int process) {
  if (is_ending_) return false;
  is_ending_ = true;
  crashed_ = process;
  return true;
}

void Verdict::note_failure(int status, std::string message) {
  failure_.take(status, std::move(message));
}

void Verdict::note_refusal(int status, std::string message) {
  refusal_.take(status, std::move(message));
}

void Verdict::end_of(int process, int status) {
  if (process == crashed_)
    reason_.take(status, "");
  else if (status != 0 && !is_ending_)
    note_refusal(status, "");  // it has said why
}

int Verdict::status() const noexcept {
  if (failure_.is_there) return failure_.status;
  if (reason_.status != 0) return reason_.status;
  return refusal_.status;
}

std::string Verdict::messages() const {
  std::string out;
  for (const Note* note : {&refusal_, &failure_, &reason_}) {
    out += note->message;
    if (!out.empty() && out.back() != '\n') out += '\n';
  }
  return out;
}

}  // namespace mpc::wireup
