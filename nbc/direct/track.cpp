#include "nbc/direct/track.h"

#include <algorithm>

#include "base/prefetch.h"

namespace mpc::nbc::direct {
namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kFetchedBytes = 1024;  // a core does not fetch more than this at once

}  // namespace

unsigned char* Track::room_for(uint64_t epoch, size_t bytes) {
  if (bytes <= Post::kInlineBytes) return post(epoch).data;
  if (rooms == nullptr) rooms.reset(new unsigned char[kRooms * kRoomStep]);
  return rooms.get() + epoch % kRooms * kRoomStep;
}

void Track::fetch_for_writing(uint64_t epoch, size_t bytes) noexcept {
  prefetch_for_write(&post(epoch + kFetchAhead));
  // Fetched in advance, so that leave() need not wait for the line when it tells.
  if (epoch % kTellEvery == kTellEvery - kFetchAhead) prefetch_for_write(&done);
  if (bytes <= Post::kInlineBytes || rooms == nullptr) return;
  const unsigned char* const room = rooms.get() + (epoch + 1) % kRooms * kRoomStep;
  for (size_t at = 0; at < std::min(bytes, kFetchedBytes); at += kLineBytes)
    prefetch_for_write(room + at);
}

}  // namespace mpc::nbc::direct
