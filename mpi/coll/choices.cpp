#include "mpi/coll/choices.h"

#include <algorithm>
#include <numeric>

#include "mpi/objects/go_direct.h"
#include "nbc/algorithms/select.h"
#include "nbc/overlap/tree_split.h"
#include "runtime/datatype/abi.h"
#include "runtime/job/core_choice.h"

namespace mpc::mpi {
namespace {

using nbc::Coll;

// A call of rank 0 with blocks of `bytes` bytes, as all members would give it alike.
struct DescribedCall {
  nbc::Shape shape;
  std::vector<nbc::Count> counts, displs;
  std::vector<nbc::TypeShape> types;
  std::vector<int> around;

  DescribedCall(const DescribedJob& job, Coll coll, int64_t bytes) {
    const auto n = static_cast<size_t>(job.size());
    shape.coll = coll;
    shape.size = job.size();
    shape.send_count = shape.recv_count = bytes;
    shape.send_type = shape.recv_type = nbc::TypeShape(*dt::predefined(dt::abi::kByte));
    shape.place_of_rank = job.worker_of_rank;
    shape.is_in_one_process = true;
    shape.workers = job.workers.get();
    const nbc::CollTraits& traits = nbc::traits_of(coll);
    around = {shape.size - 1, 1 % shape.size};
    if (traits.is_neighborhood) {
      shape.sources = shape.destinations = around;
      shape.is_cartesian = true;
    }
    if (!traits.is_irregular() && coll != Coll::kReduceScatter) return;
    counts.assign(n, bytes);
    types.assign(n, shape.recv_type);
    for (size_t i = 0; i < n; ++i) displs.push_back(static_cast<int64_t>(i) * bytes);
    shape.send_counts = shape.recv_counts = counts;
    shape.send_displs = shape.recv_displs = displs;
    shape.send_types = shape.recv_types = types;
  }
  DescribedCall(const DescribedCall&) = delete;
};

bool scatters_reduced(Coll coll) noexcept {
  return coll == Coll::kReduceScatter || coll == Coll::kReduceScatterBlock;
}

CollChoice by_messages(const nbc::Shape& shape) {
  CollChoice choice;
  choice.by = nbc::wanted_algorithm(shape) != nullptr ? "nbc.algorithm" : "table";
  choice.algorithm = nbc::select(shape).name;
  return choice;
}

std::string what_is_done(const DescribedJob& job, const DirectAsk& ask, int64_t bytes,
                         Way way) {
  if (way == Way::kOneWay) return "through posts";
  if (way == Way::kNeighbours)
    return bytes <= static_cast<int64_t>(nbc::direct::kScratchBytes) ? "through posts"
                                                                     : "copied once";
  nbc::direct::Call call;
  call.coll = ask.coll;
  if (nbc::traits_of(ask.coll).is_reduction) {
    call.element_bytes = 1;
    call.count = static_cast<nbc::Count>(ask.bytes);
  } else {
    call.send_block = ask.bytes;
  }
  return nbc::direct::describe(*job.team, call);
}

}  // namespace

Result<DescribedJob> describe_job(const std::string& machine, int ranks,
                                  int comm_cores) {
  auto found =
      machine.empty() ? topo::Machine::detect() : topo::Machine::by_name(machine);
  if (!found) return found.error();
  DescribedJob job;
  job.machine = std::move(found).value();
  job::CoreWish wish;
  wish.comm_cores = comm_cores;
  wish.ranks = ranks > 0
                   ? ranks
                   : std::max(1, job.machine->core_count() - std::max(0, comm_cores));
  auto placing = job::place_alone(*job.machine, wish);
  if (!placing) return placing.error();
  job.worker_of_rank = std::move(placing->worker_of_rank);
  job.application_cores = placing->application_workers;
  job.communication_cores = placing->communication_workers;
  job.team = std::make_unique<nbc::direct::Team>(job.worker_of_rank);
  const std::vector<int> one(job.worker_of_rank.size(), 0);
  auto workers = std::make_unique<nbc::Homes>(one, job.worker_of_rank, one);
  if (workers->has_groups()) job.workers = std::move(workers);
  job.chooser = std::make_unique<nbc::Chooser>(nbc::parameters_for(job.machine.get()));
  return Result<DescribedJob>(std::move(job));
}

CollChoice blocking_choice(const DescribedJob& job, Coll coll, int64_t bytes) {
  const DescribedCall call(job, coll, bytes);
  DirectAsk ask{coll, static_cast<size_t>(bytes)};
  if (scatters_reduced(coll)) ask.bytes *= static_cast<size_t>(job.size());
  ask.type = dt::predefined(dt::abi::kByte);
  const Way way =
      is_direct_on() && job.size() > 1 ? direct_way(*job.team, ask) : Way::kMessages;
  if (way == Way::kMessages) return by_messages(call.shape);
  CollChoice choice;
  choice.way = way;
  choice.what = what_is_done(job, ask, bytes, way);
  choice.by = "table";
  return choice;
}

CollChoice nonblocking_choice(const DescribedJob& job, Coll coll, int64_t bytes) {
  DescribedCall call(job, coll, bytes);
  nbc::Shape& shape = call.shape;
  shape.is_nonblocking = true;
  const DirectAsk ask{.coll = coll,
                      .bytes = static_cast<size_t>(bytes),
                      .type = dt::predefined(dt::abi::kByte)};
  const Way way =
      is_direct_on() && job.size() > 1 ? later_way(*job.team, ask) : Way::kMessages;
  if (way != Way::kMessages) {
    CollChoice choice;
    choice.way = way;
    choice.what = way != Way::kMeeting     ? "through posts"
                  : coll == Coll::kBarrier ? "no data"
                                           : "the last one acts for all";
    choice.by = "table";
    return choice;
  }
  CollChoice choice = by_messages(shape);
  if (!nbc::traits_of(coll).has_split_tree || job.size() < 2) return choice;
  if (const auto forced = nbc::forced_split()) {
    choice.split = *forced;
    return choice;
  }
  if (!nbc::is_worth_a_choice(shape, job.communication_cores)) return choice;
  nbc::Situation situation = nbc::situation_of(
      shape, job.size(), 1, job.application_cores, job.communication_cores);
  const nbc::TreePlan plan = nbc::plan_tree(*job.chooser, situation, shape);
  if (plan.algorithm != nullptr) {
    choice.algorithm = plan.algorithm;
    choice.arity = plan.arity;
    choice.segment_bytes = plan.segment_bytes;
    choice.by = "model";
  }
  choice.split = nbc::first_split(*job.chooser, situation, shape, plan);
  return choice;
}

}  // namespace mpc::mpi
