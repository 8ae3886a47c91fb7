// The protocol that finds deadlocks over several processes, in all orders of its steps: it never says so
// where something can still happen, and always where nothing can.
//
// A process of the model has one rank, whose program sends and receives. Each step of a rank, of the network,
// of a look at a process, and of what processes tell each other, is one that another one may precede.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/message/rest.h"

namespace mpc::msg {
namespace {

constexpr int kMostProcesses = 4;

// 'S' or 'R' and the process: "S1R1". One for each process.
using Programs = std::vector<std::string>;

// What the model does otherwise than the real thing, to see that it notices.
enum class Fault { kNone, kCountsFirst, kAsksNobody };

enum class Rank : uint8_t { kRuns, kIsReady, kWaits, kHasEnded };
enum class Look : uint8_t { kNone, kHasTraffic, kHasEpoch };

struct Told {
  Rest rest;
  uint32_t answers;
  auto operator<=>(const Told&) const = default;
};

struct Process {
  uint8_t at = 0;  // in its program
  Rank rank = Rank::kRuns;
  bool is_sending = false;  // it has been counted
  std::array<uint8_t, kMostProcesses> unexpected{};
  // Of each process: arrivals whose effect is there and not counted, or the other way round.
  std::array<uint8_t, kMostProcesses> half_done{};
  Look look = Look::kNone;
  uint8_t looks = 0;  // that have begun, where not all are tried
  Rest seen, now;
  RestTeller teller;
  std::vector<uint32_t> asked;  // the first is heard first
  std::vector<Told> told;
  auto operator<=>(const Process&) const = default;
};

struct State {
  std::vector<Process> processes;
  std::array<std::array<uint8_t, kMostProcesses>, kMostProcesses> net{};  // from, to
  RestCollector collector{0};
  bool has_alarm = false;
  auto operator<=>(const State&) const = default;
};

class Model {
 public:
  // most_looks: at each process, as long as something can go on; 0: any number.
  Model(const Programs& programs, Fault fault, uint8_t most_looks)
      : programs_(programs), fault_(fault), most_looks_(most_looks) {}

  State start() const {
    State state;
    state.processes.resize(programs_.size());
    state.collector = RestCollector(count());
    return state;
  }

  // What may come next, in the order in which a fair world does it.
  std::vector<State> next(const State& state) const {
    std::vector<State> out;
    const auto add = [&](auto step) {
      out.push_back(state);
      if (!step(out.back())) out.pop_back();
    };
    for (int p = 0; p < count(); ++p) {
      add([&](State& s) { return step_rank(s, p); });
      for (int from = 0; from < count(); ++from) {
        add([&](State& s) { return arrive(s, from, p); });
        add([&](State& s) { return finish_arrival(s, from, p); });
      }
      add([&](State& s) { return may_look(s, p) && step_look(s, p); });
      add([&](State& s) { return hear_question(s, p); });
      add([&](State& s) { return hear_rest(s, p); });
    }
    return out;
  }

  // Nothing but the protocol can go on.
  bool is_stuck(const State& state) const {
    for (int p = 0; p < count(); ++p) {
      State copy = state;
      if (step_rank(copy, p)) return false;
      for (int from = 0; from < count(); ++from)
        if (arrive(copy, from, p) || finish_arrival(copy, from, p)) return false;
    }
    return true;
  }
  static bool does_anybody_wait(const State& state) {
    for (const Process& p : state.processes)
      if (p.rank == Rank::kWaits) return true;
    return false;
  }
  // Everybody who has something to say says it.
  State settle(State state) const {
    bool goes_on = true;
    while (goes_on && !state.has_alarm) {
      goes_on = false;
      for (int p = 0; p < count(); ++p) {
        while (state.processes[at(p)].look != Look::kNone) step_look(state, p);
        while (hear_question(state, p)) goes_on = true;
        do {
          step_look(state, p);
        } while (state.processes[at(p)].look != Look::kNone);
        while (hear_rest(state, p)) goes_on = true;
      }
    }
    return state;
  }

 private:
  int count() const { return static_cast<int>(programs_.size()); }
  static size_t at(int p) { return static_cast<size_t>(p); }

  bool step_rank(State& s, int number) const {
    Process& p = s.processes[at(number)];
    if (p.rank == Rank::kIsReady) {  // the switch to it
      ++p.now.epoch;
      p.rank = Rank::kRuns;
      return true;
    }
    if (p.rank != Rank::kRuns) return false;
    const std::string& program = programs_[at(number)];
    if (p.at == program.size()) {
      p.rank = Rank::kHasEnded;
      return true;
    }
    const size_t peer = static_cast<size_t>(program[p.at + 1u] - '0');
    if (program[p.at] == 'S') {
      if (p.is_sending) {
        ++s.net[at(number)][peer];
        p.at = static_cast<uint8_t>(p.at + 2);
      } else {
        ++p.now.sent;
      }
      p.is_sending = !p.is_sending;
    } else if (p.unexpected[peer] != 0) {
      --p.unexpected[peer];
      p.at = static_cast<uint8_t>(p.at + 2);
    } else {
      p.rank = Rank::kWaits;
    }
    return true;
  }

  void have_effect(Process& p, int number, size_t from) const {
    ++p.unexpected[from];
    const std::string& program = programs_[at(number)];
    if (p.rank == Rank::kWaits && static_cast<size_t>(program[p.at + 1u] - '0') == from)
      p.rank = Rank::kIsReady;
  }
  bool arrive(State& s, int from, int to) const {
    if (s.net[at(from)][at(to)] == 0) return false;
    --s.net[at(from)][at(to)];
    Process& p = s.processes[at(to)];
    ++p.half_done[at(from)];
    if (fault_ == Fault::kCountsFirst)
      ++p.now.received;
    else
      have_effect(p, to, at(from));
    return true;
  }
  bool finish_arrival(State& s, int from, int to) const {
    Process& p = s.processes[at(to)];
    if (p.half_done[at(from)] == 0) return false;
    --p.half_done[at(from)];
    if (fault_ == Fault::kCountsFirst)
      have_effect(p, to, at(from));
    else
      ++p.now.received;
    return true;
  }

  bool may_look(State& s, int number) const {
    Process& p = s.processes[at(number)];
    if (p.look != Look::kNone || most_looks_ == 0) return true;
    return p.looks++ < most_looks_;
  }
  static bool end_look(Process& p) {
    p.look = Look::kNone;
    p.seen = {};
    return true;
  }
  // As JobWatch::look_at_all() and Quiescence::rest() do it; it may begin at any time.
  bool step_look(State& s, int number) const {
    Process& p = s.processes[at(number)];
    const bool runs = p.rank == Rank::kRuns || p.rank == Rank::kIsReady;
    switch (p.look) {
      case Look::kNone:
        p.seen = {};
        p.seen.received = p.now.received;
        p.seen.sent = p.now.sent;
        p.look = Look::kHasTraffic;
        return true;
      case Look::kHasTraffic:
        if (runs) return end_look(p);
        p.seen.epoch = p.now.epoch;
        p.look = Look::kHasEpoch;
        return true;
      case Look::kHasEpoch:
        if (runs) return end_look(p);
        p.seen.has_ended = p.rank == Rank::kHasEnded;
        if (const auto answers = p.teller.tell(p.seen))
          p.told.push_back({p.seen, *answers});
        return end_look(p);
    }
    return false;
  }
  static bool hear_question(State& s, int number) {
    Process& p = s.processes[at(number)];
    if (p.asked.empty() || p.look != Look::kNone) return false;
    p.teller.ask(p.asked.front());
    p.asked.erase(p.asked.begin());
    return true;
  }
  bool hear_rest(State& s, int number) const {
    Process& p = s.processes[at(number)];
    if (p.told.empty()) return false;
    const Told told = p.told.front();
    p.told.erase(p.told.begin());
    auto verdict = s.collector.take(number, told.rest, told.answers);
    if (verdict == RestCollector::Verdict::kAsk && fault_ == Fault::kAsksNobody)
      verdict = RestCollector::Verdict::kDeadlock;
    if (verdict == RestCollector::Verdict::kAsk)
      for (Process& each : s.processes) each.asked.push_back(s.collector.question());
    if (verdict == RestCollector::Verdict::kDeadlock) s.has_alarm = true;
    return true;
  }

  const Programs programs_;
  const Fault fault_;
  const uint8_t most_looks_;
};

std::string text_of(const Programs& programs) {
  std::string out;
  for (const std::string& program : programs) out += "[" + program + "] ";
  return out;
}

// "": right.
std::string judge(const Model& model, const State& state) {
  const bool is_stuck = model.is_stuck(state);
  const bool is_deadlock = is_stuck && Model::does_anybody_wait(state);
  if (state.has_alarm && !is_deadlock) return "a false alarm";
  if (is_stuck && model.settle(state).has_alarm != is_deadlock)
    return is_deadlock ? "a deadlock that nobody sees" : "a late false alarm";
  return "";
}

// All states that can be reached. Returns what is wrong with one of them.
std::string explore(const Programs& programs, Fault fault, uint8_t most_looks,
                    size_t* states = nullptr) {
  const Model model(programs, fault, most_looks);
  std::set<State> seen = {model.start()};
  std::deque<const State*> left = {&*seen.begin()};
  while (!left.empty()) {
    const State& state = *left.front();
    left.pop_front();
    if (const std::string problem = judge(model, state); !problem.empty())
      return problem + ": " + text_of(programs);
    if (state.has_alarm) continue;
    for (State& next : model.next(state)) {
      const auto [entry, is_new] = seen.insert(std::move(next));
      if (is_new) left.push_back(&*entry);
    }
  }
  if (states != nullptr) *states += seen.size();
  return "";
}

// Of messages between two processes; the first always comes to rest.
const Programs kPrograms[] = {{"", "R0"},      {"R1", "R0"}, {"S1", "R0"},
                              {"S1", "R0R0"},  {"S1", "S0"}, {"R1", "S0R0"},
                              {"S1R1", "R0S0"}};

TEST(RestModel, TwoProcessesInAllOrders) {
  size_t states = 0;
  for (const Programs& programs : kPrograms)
    ASSERT_EQ(explore(programs, Fault::kNone, 2, &states), "");
  EXPECT_GT(states, 200'000u);
}

// As often as they like.
TEST(RestModel, TwoProcessesThatLookAtThemselvesAllTheTime) {
  for (const Programs& programs : {Programs{"R1", "R0"}, Programs{"S1", "R0"}})
    ASSERT_EQ(explore(programs, Fault::kNone, 0), "");
}

TEST(RestModel, FaultsOfTheProtocolAreFound) {
  for (const Fault fault : {Fault::kCountsFirst, Fault::kAsksNobody})
    EXPECT_NE(explore({"S1", "R0R0"}, fault, 2), "") << static_cast<int>(fault);
}

// One order of many, of longer programs.
std::string walk(const Programs& programs, std::mt19937& random) {
  const Model model(programs, Fault::kNone, 0);
  State state = model.start();
  for (int steps = 0; steps < 2000 && !state.has_alarm; ++steps) {
    if (model.is_stuck(state)) break;
    std::vector<State> all = model.next(state);
    state = std::move(all[random() % all.size()]);
    // What is told is heard late: it says what was.
    if (std::string problem = judge(model, state); !problem.empty()) return problem;
  }
  return judge(model, state);
}

TEST(RestModel, FourProcessesInSomeOrders) {
  const char* const text = std::getenv("MPC_TEST_SEED");
  const unsigned seed =
      text != nullptr ? static_cast<unsigned>(std::atoi(text)) : std::random_device{}();
  for (unsigned i = 0; i < 500; ++i) {
    std::mt19937 random(seed + i);
    const int processes = 2 + static_cast<int>(random() % 3);
    Programs programs;
    for (int p = 0; p < processes; ++p) {
      std::string program;
      for (auto n = random() % 6; n > 0; --n) {
        const auto other = 1 + random() % static_cast<unsigned>(processes - 1);
        program += random() % 2 ? 'S' : 'R';
        program += static_cast<char>('0' + (static_cast<unsigned>(p) + other) %
                                               static_cast<unsigned>(processes));
      }
      programs.push_back(program);
    }
    ASSERT_EQ(walk(programs, random), "")
        << "MPC_TEST_SEED=" << seed + i << " " << text_of(programs);
  }
}

}  // namespace
}  // namespace mpc::msg
