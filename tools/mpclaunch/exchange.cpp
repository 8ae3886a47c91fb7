#include "tools/mpclaunch/exchange.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace mpc::launch {
namespace {

constexpr int kNotFound = -46;  // PMIX_ERR_NOT_FOUND

}  // namespace

Exchange::Exchange(Loop& loop, const Plan& plan, int here, Send send)
    : loop_(loop),
      plan_(plan),
      here_(here),
      send_(std::move(send)),
      puts_(plan.hosts.size()) {}

void Exchange::fence(std::string text) {
  loop_.post([this, text = std::move(text)] { put(here_, text); });
}

void Exchange::ask(int64_t number, int process) {
  loop_.post([this, number, process] { question({here_, number}, process); });
}

void Exchange::take(int host, Frame kind, std::string_view payload) {
  Unpacker in(payload);
  if (kind == Frame::kFence) return put(host, std::string(in.text()));
  const int64_t number = in.number();
  const int second = in.small();
  if (kind == Frame::kAsk) return question({host, number}, second);
  answer(number, second, in.text());
}

// The order of hosts does not matter, but it is the same for all.
void Exchange::put(int host, std::string text) {
  puts_[static_cast<size_t>(host)].push_back(std::move(text));
  if (std::any_of(puts_.begin(), puts_.end(),
                  [](const auto& of) { return of.empty(); }))
    return;
  std::string all;
  for (auto& of_host : puts_) {
    all += of_host.front();
    of_host.pop_front();
  }
  Packer done;
  done.text(all);
  for (int h = 0; h < static_cast<int>(puts_.size()); ++h)
    if (h != here_) send_(h, Frame::kFenceDone, done);
  if (here_ >= 0) PmixServer::fence_done(all);
}

void Exchange::question(Question from, int process) {
  const int64_t number = ++last_question_;
  questions_[number] = from;
  if (process < 0 || process >= plan_.processes()) return answer(number, kNotFound, {});
  const int host = plan_.host_of(process);
  if (host != here_)
    return send_(host, Frame::kAskHere, Packer().number(number).number(process));
  struct Context {
    Exchange* exchange;
    int64_t number;
  };
  PmixServer::look_up(
      process,
      [](void* arg, int status, std::string_view put) {
        const std::unique_ptr<Context> context(static_cast<Context*>(arg));
        context->exchange->loop_.post(
            [exchange = context->exchange, number = context->number, status,
             text = std::string(put)] { exchange->answer(number, status, text); });
      },
      new Context{this, number});
}

void Exchange::answer(int64_t number, int status, std::string_view put) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;
  const Question from = found->second;
  questions_.erase(found);
  if (from.host == here_) return PmixServer::answer(from.number, status, put);
  send_(from.host, Frame::kAnswer,
        Packer().number(from.number).number(status).text(put));
}

}  // namespace mpc::launch
