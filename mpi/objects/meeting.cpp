#include "mpi/objects/meeting.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "runtime/message/message.h"

namespace mpc::mpi {
namespace {

struct KeyHash {
  size_t operator()(const MeetingKey& key) const noexcept {
    uint64_t h = (key.place * 0x9e3779b97f4a7c15u) ^ (key.sequence << 8) ^
                 static_cast<uint64_t>(key.kind);
    if (!key.label.empty()) h ^= std::hash<std::string>{}(key.label);
    return static_cast<size_t>(h ^ (h >> 31));
  }
};

struct Shard {
  std::mutex mutex;
  std::unordered_map<MeetingKey, std::shared_ptr<Room>, KeyHash> rooms;
};
// Never destroyed: ranks may still meet while main()'s statics go.
std::array<Shard, 16>& shards() {
  static auto* const all = new std::array<Shard, 16>;
  return *all;
}

class MeetingReason final : public sched::WaitReason {
 public:
  MeetingReason(const Room& room, const char* what) : room_(room), what_(what) {}
  std::string text() const override {
    // Read without the lock: a report may be made while a member holds it.
    return fmt::format("{}: waits for the other members ({} needed)", what_,
                       room_.expected);
  }

 private:
  const Room& room_;
  const char* what_;
};

}  // namespace

namespace detail {

std::shared_ptr<Room> enter(job::Rank& self, const MeetingKey& key, int expected,
                            MakeRoom make, bool will_wait,
                            const std::function<void(Room&, bool, bool)>& visit) {
  Shard& shard = shards()[KeyHash{}(key) % 16];
  std::shared_ptr<Room> room;
  std::vector<job::Rank*> to_wake;
  {
    std::unique_lock table(shard.mutex);
    auto& entry = shard.rooms[key];
    if (!entry) {
      entry = make();
      entry->expected = expected;
    }
    room = entry;
    const std::lock_guard inside(room->mutex);
    const bool first = room->arrived == 0;
    const bool last = ++room->arrived == room->expected;
    if (last) shard.rooms.erase(key);
    table.unlock();
    visit(*room, first, last);
    if (last) {
      to_wake.swap(room->waiting);
      // Pairs with the acquire in wait_for_end(): the conclusion is visible to all.
      room->is_over.store(true, std::memory_order_release);
    } else if (will_wait) {
      room->waiting.push_back(&self);
    }
    // Under the room's lock: see wait_for_end().
    for (job::Rank* rank : to_wake) msg::notify(*rank);
  }
  return room;
}

void wait_for_end(job::Rank& self, Room& room, const char* what) {
  auto is_over = [](void* argument) {
    return static_cast<Room*>(argument)->is_over.load(std::memory_order_acquire);
  };
  if (!is_over(&room))
    msg::wait_until(self, nullptr, 0, is_over, &room, MeetingReason(room, what));
  // A rank that polls may see the end before it is notified. It must not go on to its own end,
  // as after MPI_Finalize, while the last member still notifies it.
  const std::lock_guard inside(room.mutex);
}

}  // namespace detail
}  // namespace mpc::mpi
