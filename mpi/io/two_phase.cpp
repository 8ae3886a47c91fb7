#include "mpi/io/two_phase.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include "mpi/objects/meeting.h"
#include "mpi/objects/process.h"
#include "runtime/io/domains.h"
#include "runtime/io/shipment.h"
#include "runtime/job/job.h"
#include "runtime/message/message.h"

namespace mpc::mpi {
namespace {

using io::Count;

// cb_nodes: how many processes access the file for all of them; 0: each process may.
Count wanted_aggregators(const File& file) {
  const std::string* const text = file.hints.find("cb_nodes");
  return text != nullptr ? std::strtoll(text->c_str(), nullptr, 10) : 0;
}

// The members of a process leave their parts; the processes learn how much each of them has.
struct DomainRoom final : Room {
  std::vector<io::Part> parts;
  io::Extent mine;
  std::vector<io::Extent> others;  // by process, without this one
  io::Domains domains;
  bool is_write = false;

  void visit(const Access& access, const File& file) {
    const io::Tuning& tuning = file.tuning;
    is_write = access.is_write();
    parts.emplace_back(access.view(), access.begin(), access.buffer());
    mine.add(parts.back());
    mine.hint = is_write ? tuning.collective_writes : tuning.collective_reads;
    mine.window_bytes = tuning.collective_window_bytes;
    mine.aggregators = wanted_aggregators(file);
  }
  void pack(ByteWriter& out) const override { out.put(mine); }
  void merge(ByteReader& in) override { others.push_back(in.get<io::Extent>()); }
  void conclude(Ids&) override {
    std::vector<io::Extent> all = others;
    all.insert(all.begin() + index, mine);
    domains = io::divide(all);
  }
};

// How much of the file each process has moved.
struct ReachRoom final : Room {
  io::Reach reach;
  void pack(ByteWriter& out) const override { out.put(reach); }
  void merge(ByteReader& in) override { reach.note(in.get<io::Reach>()); }
};

// One member of each process, the one of the lowest rank, is its agent: it sends to the other
// agents.
struct Agent {
  int rank = -1;  // in the communicator of the file
  int world_rank = -1;
};
std::vector<Agent> agents_of(const Comm& comm, const ProcessList& list) {
  const job::ProcessMap& map = comm.self().job->processes();
  std::vector<Agent> agents(list.processes().size());
  size_t found = 0;
  for (int i = 0; i < comm.size() && found < agents.size(); ++i) {
    const int world_rank = comm.group()->world_rank(i);
    Agent& agent =
        agents[static_cast<size_t>(list.index_of(list.process_of(map, world_rank)))];
    if (agent.rank >= 0) continue;
    agent = {i, world_rank};
    ++found;
  }
  return agents;
}

class ExchangeReason final : public sched::WaitReason {
 public:
  explicit ExchangeReason(const char* call) noexcept : call_(call) {}
  std::string text() const override {
    return fmt::format("{}: exchanges data with other processes", call_);
  }

 private:
  const char* call_;
};

// Precedes the data of a window; contains their first groups.
struct Header {
  Count group_count = 0, bytes = 0;
  int error = 0;  // errno: the data cannot be sent
  std::array<io::RunGroup, 4> groups{};
};
// Precedes the data that have been read.
struct Answer {
  int error = 0;
  Count stop = io::kNotStopped;
};
enum Tag : int { kHeader, kGroups, kData, kAnswer, kAnswerData };

// What is exchanged with another process in one round: one message each way.
struct Partner {
  size_t process = 0;
  Header header;
  Answer answer;
  io::Shipment shipment;
};

// The exchange of one process, carried out by its agent.
class Exchanging {
 public:
  Exchanging(const char* call, File& file, const DomainRoom& room)
      : reason_(call),
        comm_(file.comm()),
        self_(comm_.self()),
        target_(file.share().target(file.tuning)),
        room_(room),
        domains_(room.domains),
        me_(static_cast<size_t>(room.index)),
        agents_(agents_of(comm_, *comm_.members().processes)) {
    const auto& list = domains_.aggregators;
    const auto at = std::ranges::find(list, room.index);
    if (at != list.end()) my_domain_ = static_cast<size_t>(at - list.begin());
  }

  io::Reach run() {
    for (Count round = 0; round < domains_.windows_each; ++round) {
      std::vector<Partner> mine = describe(round), all;
      Answer answer;
      room_.is_write ? write(round, mine, all) : read(round, mine, all, answer);
      wait(sends_);
    }
    return reach_;
  }

 private:
  // --- messages: started one by one, waited for together -----------------------------------
  // What is sent may have to wait for the receiver, which may wait for what it receives itself. So
  // there is no wait before the end of a round.
  using Requests = std::vector<std::unique_ptr<msg::Request>>;
  void send(size_t to, Tag tag, const void* data, Count bytes) {
    msg::start_send(
        self_, *sends_.emplace_back(new msg::Request),
        {data, bytes, dt::predefined(dt::abi::kByte), agents_[to].world_rank,
         comm_.context(), tag, comm_.rank(), msg::Mode::kStandard});
  }
  // If there is no memory it receives the message without data.
  void receive(size_t from, Tag tag, void* data, Count bytes) {
    msg::start_recv(self_, *receives_.emplace_back(new msg::Request),
                    {data, data != nullptr ? bytes : 0, dt::predefined(dt::abi::kByte),
                     agents_[from].rank, comm_.context(), tag});
  }
  void wait(Requests& requests) {
    std::vector<msg::Request*> all;
    for (const auto& request : requests) all.push_back(request.get());
    msg::wait_all(self_, all.data(), all.size(), reason_);
    requests.clear();
  }

  // --- what this process has -------------------------------------------------------------------
  // For each aggregator that has a window in this round: what this process has in it.
  std::vector<Partner> describe(Count round) {
    std::vector<Partner> out;
    for (size_t i = 0; i < domains_.aggregators.size(); ++i) {
      const auto [begin, end] = domains_.window_of(i, round);
      if (begin == end) continue;
      Partner& partner = out.emplace_back();
      partner.process = static_cast<size_t>(domains_.aggregators[i]);
      partner.shipment = io::describe(room_.parts, begin, end);
      fill(partner, begin, end);
    }
    return out;
  }
  void fill(Partner& partner, Count begin, Count end) {
    io::Shipment& shipment = partner.shipment;
    const Count bytes = shipment.bytes;
    const bool has_room = shipment.make_room(bytes);
    if (!has_room) note({ENOMEM, begin});
    if (has_room && room_.is_write && bytes > 0)
      io::load(room_.parts, begin, end, shipment);
    Header& header = partner.header;
    header.group_count = has_room ? static_cast<Count>(shipment.groups.size()) : 0;
    header.bytes = has_room ? bytes : 0;
    if (!has_room) shipment = {};
    const size_t inside = std::min(shipment.groups.size(), header.groups.size());
    std::copy_n(shipment.groups.begin(), inside, header.groups.begin());
  }
  void send_description(const Partner& partner) {
    const auto& groups = partner.shipment.groups;
    send(partner.process, kHeader, &partner.header, sizeof partner.header);
    if (groups.size() > partner.header.groups.size())
      send(partner.process, kGroups, groups.data(),
           static_cast<Count>(groups.size() * sizeof groups[0]));
  }

  // --- what the aggregator of a window receives ------------------------------------------------
  // Receives what all other processes have in the window, without their data.
  std::vector<Partner> collect_descriptions() {
    std::vector<Partner> all(agents_.size());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].process = i;
      if (i != me_) receive(i, kHeader, &all[i].header, sizeof all[i].header);
    }
    wait(receives_);
    for (Partner& one : all) {
      if (one.process == me_) continue;
      auto& groups = one.shipment.groups;
      const size_t count = static_cast<size_t>(one.header.group_count);
      groups.resize(count);
      if (count > one.header.groups.size())
        receive(one.process, kGroups, groups.data(),
                static_cast<Count>(count * sizeof groups[0]));
      else
        std::copy_n(one.header.groups.begin(), count, groups.begin());
    }
    wait(receives_);
    return all;
  }

  static std::vector<io::Shipment> shipments_of(std::vector<Partner>& all) {
    std::vector<io::Shipment> out;
    for (Partner& one : all) out.push_back(std::move(one.shipment));
    return out;
  }
  void note(const io::WindowOutcome& outcome) { reach_.note(outcome); }

  bool has_window(Count round) const {
    if (!my_domain_) return false;
    const auto [begin, end] = domains_.window_of(*my_domain_, round);
    return begin < end;
  }

  void write(Count round, std::vector<Partner>& mine, std::vector<Partner>& all) {
    for (const Partner& partner : mine) {
      if (partner.process == me_) continue;
      send_description(partner);
      if (partner.header.bytes > 0)
        send(partner.process, kData, partner.shipment.data(), partner.header.bytes);
    }
    if (!has_window(round)) return;
    const Count begin = domains_.window_of(*my_domain_, round).first;
    all = collect_descriptions();
    for (Partner& one : all) {
      if (one.process == me_ || one.header.bytes == 0) continue;
      if (!one.shipment.make_room(one.header.bytes)) note({ENOMEM, begin});
      receive(one.process, kData, one.shipment.data(), one.header.bytes);
    }
    wait(receives_);
    take_own(mine, all);
    note(io::write_shipments(target_, shipments_of(all)));
  }

  void take_own(std::vector<Partner>& mine, std::vector<Partner>& all) {
    const auto own = std::ranges::find(mine, me_, &Partner::process);
    if (own != mine.end()) all[me_].shipment = std::move(own->shipment);
  }

  void read(Count round, std::vector<Partner>& mine, std::vector<Partner>& all,
            Answer& answer) {
    for (const Partner& partner : mine)
      if (partner.process != me_) send_description(partner);
    if (has_window(round)) {
      const auto [begin, end] = domains_.window_of(*my_domain_, round);
      all = collect_descriptions();
      answer = read_window(mine, all, begin, end);
      for (const Partner& one : all) {
        if (one.process == me_ || one.header.bytes == 0) continue;
        send(one.process, kAnswer, &answer, sizeof answer);
        send(one.process, kAnswerData, one.shipment.data(),
             one.shipment.data() != nullptr ? one.header.bytes : 0);
      }
    }
    for (Partner& partner : mine) {
      if (partner.process == me_ || partner.header.bytes == 0) continue;
      receive(partner.process, kAnswer, &partner.answer, sizeof partner.answer);
      receive(partner.process, kAnswerData, partner.shipment.data(),
              partner.header.bytes);
    }
    wait(receives_);
    for (const Partner& partner : mine)
      if (partner.process != me_ && partner.header.bytes > 0)
        give(partner.process, partner.shipment, round, partner.answer);
  }

  Answer read_window(std::vector<Partner>& mine, std::vector<Partner>& all, Count begin,
                     Count end) {
    io::WindowOutcome outcome;
    for (Partner& one : all) {
      if (one.process == me_ || one.header.bytes == 0) continue;
      if (!one.shipment.make_room(one.header.bytes)) outcome = {ENOMEM, begin};
    }
    take_own(mine, all);
    std::vector<io::Shipment> shipments = shipments_of(all);
    if (outcome.error == 0) outcome = io::read_shipments(target_, shipments);
    note(outcome);
    if (shipments[me_].data() != nullptr)
      io::unload(room_.parts, begin, end, shipments[me_], outcome.stopped_at);
    for (size_t i = 0; i < all.size(); ++i) all[i].shipment = std::move(shipments[i]);
    return {outcome.error, outcome.stopped_at};
  }

  // Receives data of a window that another process has read.
  void give(size_t process, const io::Shipment& shipment, Count round,
            const Answer& answer) {
    const auto& list = domains_.aggregators;
    const auto at = std::ranges::find(list, static_cast<int>(process));
    const auto [begin, end] =
        domains_.window_of(static_cast<size_t>(at - list.begin()), round);
    io::unload(room_.parts, begin, end, shipment, answer.stop);
  }

  const ExchangeReason reason_;
  Comm& comm_;
  job::Rank& self_;
  const io::Target target_;
  const DomainRoom& room_;
  const io::Domains& domains_;
  const size_t me_;  // this process's index among those of the file
  const std::vector<Agent> agents_;
  std::optional<size_t> my_domain_;
  Requests sends_, receives_;
  io::Reach reach_;
};

bool is_agent(const Comm& comm) {
  const job::ProcessMap& map = comm.self().job->processes();
  const int here = map.process_of(comm.self().world_rank);
  for (int i = 0; i < comm.rank(); ++i)
    if (map.process_of(comm.group()->world_rank(i)) == here) return false;
  return true;
}

}  // namespace

bool exchange_and_access(const char* call, File& file, Access& access) {
  Comm& comm = file.comm();
  const auto room = meet<DomainRoom>(
      comm.self(), meeting_key(MeetingKind::kFile, comm), comm.members(),
      [&](DomainRoom& r) { r.visit(access, file); }, call);
  if (!room->domains.is_exchanged()) return false;
  io::Reach reach;
  if (is_agent(comm)) reach = Exchanging(call, file, *room).run();
  const auto end = meet<ReachRoom>(
      comm.self(), meeting_key(MeetingKind::kFile, comm), comm.members(),
      [&](ReachRoom& r) { r.reach.note(reach); }, call);
  const io::Part part(access.view(), access.begin(), access.buffer());
  access.set_outcome(io::outcome_of(part, end->reach));
  return true;
}

}  // namespace mpc::mpi
