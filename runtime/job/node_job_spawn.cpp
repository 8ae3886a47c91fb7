// Ranks that a NodeJob gets while others run: MPI_Comm_spawn. They are like all its ranks, with
// numbers after those that exist: user-level threads with a private copy of their program.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/job/exit_status.h"
#include "runtime/job/interpreter.h"
#include "runtime/job/node_job.h"
#include "runtime/job/openmp.h"
#include "runtime/job/program_files.h"
#include "runtime/job/spawner.h"
#include "runtime/job/start_block.h"
#include "scheduler/binding.h"

namespace mpc::job {
namespace {

// In one job, also those that have ended; as many have heaps of their own (runtime/heap/owner.h).
constexpr int kMostRanks = 100000;

}  // namespace

NodeJob::Spawned& NodeJob::spawned(int world_rank) const noexcept {
  return *spawned_ranks_.get(local_index(world_rank) - ranks_.size());
}

World NodeJob::world_of(int world_rank) const noexcept {
  return world_rank < size() ? Job::world_of(world_rank) : spawned(world_rank).world;
}

// A program that is loaded already is not loaded again: the dynamic linker keeps what it has loaded.
Result<std::unique_ptr<NodeJob::Program>> NodeJob::open_program(const AppSpec& wanted) {
  Start start;
  auto made = make_program(wanted, &start);
  MPC_TRY(made);
  auto program = std::make_unique<Program>(std::move(*made));
  program->working_directory = wanted.working_directory;
  const auto is_same = [&](const Program& known) {
    return known.image != nullptr && known.file == program->file &&
           known.libraries == program->libraries && preloads(wanted).empty();
  };
  const auto known = std::find_if(programs_.begin(), programs_.end(), is_same);
  if (known != programs_.end()) {
    take_image(*program, known->image);
    return {std::move(program)};
  }
  for (size_t i = 0; i < spawned_programs_.size(); ++i) {
    const Program* const other = spawned_programs_.get(i);
    if (other == nullptr || !is_same(*other)) continue;
    take_image(*program, other->image);
    return {std::move(program)};
  }
  std::vector<std::string> libraries = preloads(wanted);
  libraries.insert(libraries.end(), start.libraries.begin(), start.libraries.end());
  auto image = loader::Image::open(start.image, {std::move(libraries)});
  MPC_TRY(image);
  take_image(*program, std::move(*image));
  return {std::move(program)};
}

// Adds them after the known ones, without ranks yet.
Result<> NodeJob::open_programs(const std::vector<AppSpec>& apps) {
  std::vector<std::unique_ptr<Program>> programs;
  for (const AppSpec& wanted : apps) {
    auto program = open_program(wanted);
    MPC_TRY(program);
    let_openmp_wait(*(*program)->image, (*program)->environment, units_of_ranks());
    programs.push_back(std::move(*program));
  }
  const size_t first = spawned_programs_.size();
  spawned_programs_.grow(first + programs.size());
  for (size_t i = 0; i < programs.size(); ++i)
    spawned_programs_.put(first + i, std::move(programs[i]));
  return {};
}

// No other thread can find them yet.
Result<> NodeJob::load_spawned(const World& world, const std::vector<AppSpec>& apps) {
  const size_t first_slot = local_index(world.first) - ranks_.size();
  std::vector<std::unique_ptr<Spawned>> made;
  for (size_t app = 0; app < apps.size(); ++app) {
    for (int i = 0; i < apps[app].ranks; ++i) {
      auto spawned = std::make_unique<Spawned>();
      Rank& rank = spawned->rank;
      rank.world_rank = world.first + static_cast<int>(made.size());
      rank.world_size = world.first + world.size;
      rank.app_index = world.first_app + static_cast<int>(app);
      rank.job = this;
      spawned->world = world;
      spawned->worker = rank.world_rank % choice_.application_workers;
      auto instance = program_of(rank).image->load_instance(rank.world_rank);
      MPC_TRY(instance);
      rank.instance = *instance;
      if (progress_cores_ != nullptr) {
        spawned->progress =
            progress_cores_->make_thread(&rank, rank.world_rank, spawned->worker);
        rank.progress = spawned->progress.get();
      }
      made.push_back(std::move(spawned));
    }
  }
  spawned_ranks_.grow(first_slot + made.size());
  for (size_t i = 0; i < made.size(); ++i)
    spawned_ranks_.put(first_slot + i, std::move(made[i]));
  return {};
}

// Either all begin at once, or none. Their numbers are used up in any case.
Result<> NodeJob::start_spawned(const World& world) {
  sched::Bindings& bindings = sched::bindings_of(*scheduler_);
  Result<> outcome;
  scheduler_->hold();
  for (int r = world.first; r < world.first + world.size && outcome.ok(); ++r) {
    Spawned& each = spawned(r);
    if (program_of(each.rank).has_team && bindings.has_several_cores(each.worker))
      bindings.widen(each.worker);
    sched::UltSpec ult;
    ult.entry = [this, &each] {
      if (each.is_called_off)
        each.rank.phase.store(kEnded, std::memory_order_release);
      else
        rank_main(each.rank);
    };
    ult.worker = each.worker;
    ult.identity = &each.rank;
    ult.name = "rank";
    auto started = scheduler_->spawn(std::move(ult));
    if (!started) outcome = started.error();
    // As in spawn_ranks().
    if (started)
      std::atomic_ref(each.rank.execution).store(*started, std::memory_order_relaxed);
  }
  for (int r = world.first; !outcome.ok() && r < world.first + world.size; ++r) {
    Spawned& each = spawned(r);
    each.is_called_off = true;
    if (each.rank.execution == nullptr)
      each.rank.phase.store(kEnded, std::memory_order_release);
  }
  scheduler_->release();
  return outcome;
}

Result<World> NodeJob::spawn(const std::vector<AppSpec>& apps, int parent) {
  // A rank of one process can be found by its number in any other one.
  if (!processes_.is_one_process()) return Job::spawn(apps, parent);
  const std::lock_guard lock(spawning_);
  World world;
  world.parent = parent;
  world.first = local_ranks().end;
  world.size = 0;
  for (const AppSpec& app : apps) world.size += app.ranks;
  world.first_app = static_cast<int>(programs_.size() + spawned_programs_.size());
  if (world.size > kMostRanks - world.first)
    return {Errc::kArg,
            fmt::format("{} more ranks: a job has {} at most, those that have "
                        "ended included, and {} numbers are taken",
                        world.size, kMostRanks, world.first)};
  MPC_TRY(sched::Scheduler::check_limits(world.size));
  MPC_TRY(open_programs(apps));
  MPC_TRY(load_spawned(world, apps));
  StartBlock::reserve(world.first + world.size);
  // Release pairs with local_ranks().
  spawned_.fetch_add(world.size, std::memory_order_release);
  MPC_TRY(start_spawned(world));
  return world;
}

// The rank has ended without MPI_Init: otherwise the rank that waits for it would not be told.
void NodeJob::check_spawned_end(const Rank& rank) {
  const World world = world_of(rank.world_rank);
  const bool is_of_spawner = world.parent < 0 && !spawner().empty();
  if (world.parent < 0 && !is_of_spawner) return;
  const std::string parent =
      is_of_spawner ? "its parent" : fmt::format("rank {}", world.parent);
  abort(1,
        fmt::format("mpcrun: rank {} ({}) ended without calling MPI_Init, for which {} "
                    "waits in MPI_Comm_spawn; the job is ended",
                    rank.world_rank, program_of(rank).path, parent));
}

}  // namespace mpc::job
