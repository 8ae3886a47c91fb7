#pragma once
// Track: what one member shows the others in one-way collectives, and its progress with them.
//
// Role:      a ring of posts, so that a member that only sends runs ahead of the receivers; rooms
//            for data that do not fit in a post; the counters that tell when a post may be
//            overwritten.
// Users:     nbc/direct/lane.h; a Team creates one for each member at the first need.
// Threads:   written by the member (fields say what others read), by one execution at a time.
// See also:  docs/design/0007-direct-collectives.md, "One way": why this is correct.
//
//   epoch      ... 40   41   42   43 ...             of all collectives of the team
//   posts      [8]  [9]  [10] [11]                   epoch % kPosts: a line each, flag and data
//   rooms      [8]  [9]  [10] [11]                   epoch % kRooms: 4 KiB each, on demand
//   done       40: told after each kTellEvery-th, in a line of its own

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "nbc/direct/post.h"
#include "runtime/message/sleeper.h"

namespace mpc::nbc::direct {

// How many collectives a member may be ahead of the slowest one, with data in posts or in rooms.
inline constexpr uint64_t kPosts = 32, kRooms = 16;
// After this many collectives a member tells that it is done with them. A member that waits for a
// post or room of its own waits for what all members tell before the next one, so rooms must last
// for twice as many.
inline constexpr uint64_t kTellEvery = 8;
static_assert(kRooms >= 2 * kTellEvery && kPosts >= kRooms);
// Rooms are not a power of two apart: otherwise all of them would compete for the same cache lines.
inline constexpr size_t kRoomStep = kScratchBytes + 576;
// To fetch a line takes as long as some calls: posts are fetched this many collectives in advance.
inline constexpr uint64_t kFetchAhead = 4;

struct Track {
  Post posts[kPosts];

  // Read by writers once in a while.
  alignas(64) std::atomic<uint64_t> done{0};  // all collectives up to this one
  std::atomic<uint64_t> read{0};  // the last one in which it has read others' buffers

  // Read by each member that shows something; written only when this member waits for long. What it
  // waits for: the post of that number of that member, or anything that this member tells
  // (Lane::kAnything).
  alignas(64) msg::Sleeper sleeper;
  std::atomic<int> awaited_member{-1};
  std::atomic<uint64_t> awaited_number{0};

  // For the member only.
  alignas(64) std::unique_ptr<unsigned char[]> rooms;
  std::string complaint;
  uint64_t found_ahead = 0;  // calls in a row that found the post, up to kFetchAhead

  Post& post(uint64_t epoch) noexcept { return posts[epoch % kPosts]; }
  // Memory for `bytes` (at most kScratchBytes) that others may read when the post is shown.
  unsigned char* room_for(uint64_t epoch, size_t bytes);
  // Fetches lines that will be written soon: the post of a later collective than `epoch`, and
  // `bytes` in the room of the next one.
  void fetch_for_writing(uint64_t epoch, size_t bytes) noexcept;
};

}  // namespace mpc::nbc::direct
