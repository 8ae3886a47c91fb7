#pragma once
// Exchange: the head's part of the questions that processes of different hosts ask each other at a
// job's start.
//
// Role:      the centre of a star: collects what each host puts into a fence and sends it to all;
//            forwards a question to the host that knows, and the answer back.
// Users:     tools/mpclaunch/head.h.
// Threads:   that of the loop; fence() and ask() the PMIx library's.
// See also:  tools/mpclaunch/pmix_server.h.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/mpclaunch/frame.h"
#include "tools/mpclaunch/loop.h"
#include "tools/mpclaunch/plan.h"
#include "tools/mpclaunch/pmix_server.h"

namespace mpc::launch {

class Exchange final : public Relay {
 public:
  using Send = std::function<void(int host, Frame kind, const Packer& payload)>;

  // `here`: the host of the plan that the head itself serves; -1: none.
  Exchange(Loop& loop, const Plan& plan, int here, Send send);

  // The fence of the head's own host.
  void fence(std::string put) override;
  void ask(int64_t number, int process) override;
  // Treats a kFence, kAsk or kAnswerTo of another host.
  void take(int host, Frame kind, std::string_view payload);

 private:
  struct Question {
    int host = 0;
    int64_t number = 0;
  };
  void put(int host, std::string text);
  void question(Question from, int process);
  void answer(int64_t number, int status, std::string_view put);

  Loop& loop_;
  const Plan& plan_;
  const int here_;
  const Send send_;
  // For each host, what it has put into the fences that are not complete.
  std::vector<std::deque<std::string>> puts_;
  std::map<int64_t, Question> questions_;
  int64_t last_question_ = 0;
};

}  // namespace mpc::launch
