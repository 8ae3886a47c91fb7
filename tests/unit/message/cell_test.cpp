// Cells: what a message's first cell says is what its sender has put there, and no other cell can be
// taken for one.

#include "runtime/message/cell.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/message/match_queue.h"

namespace mpc::msg {
namespace {

constexpr uint64_t kPositions[] = {
    0, 1, 3, 255, 256, 65'534, 65535, (1u << 31), uint64_t{1} << 40};

Arrival first_of(uint64_t position, CellKind kind, const Key& key, size_t bytes,
                 uint64_t left_out = 0) {
  Cell cell{};
  std::memcpy(cell.payload, &key.source, sizeof key.source);
  std::memcpy(cell.payload + sizeof key.source, &key.tag, sizeof key.tag);
  const uint64_t word = first_word(position, kind, key.context, bytes, left_out);
  EXPECT_TRUE(is_first(word, position));
  return read_first(word, cell);
}

TEST(Cells, ACompactMessageSaysWhatItsSenderHasSaid) {
  const Key keys[] = {
      {0, 0, 0}, {5, 7, 9}, {(1u << 14) - 1, (1 << 14) - 1, (1 << 16) - 1}};
  for (const uint64_t position : kPositions) {
    for (const Key& key : keys) {
      for (size_t bytes = 0; bytes <= kCompactBytes; ++bytes) {
        ASSERT_TRUE(fits_compact(key, bytes));
        const uint64_t word = compact_word(position, key, bytes);
        ASSERT_TRUE(is_first(word, position));
        const Arrival message = read_first(word, Cell{});
        EXPECT_EQ(message.key, key);
        EXPECT_EQ(message.bytes, bytes);
        EXPECT_EQ(message.cells, 1u);
        EXPECT_EQ(message.kind, CellKind::kInline);
        EXPECT_TRUE(message.is_compact);
      }
    }
  }
}

TEST(Cells, WhatDoesNotFitIsNotCompact) {
  EXPECT_FALSE(fits_compact({0, 0, 0}, kCompactBytes + 1));
  EXPECT_FALSE(fits_compact({1u << 14, 0, 0}, 8));
  EXPECT_FALSE(fits_compact({~0u, 0, 0}, 8));
  EXPECT_FALSE(fits_compact({0, 1 << 14, 0}, 8));
  EXPECT_FALSE(fits_compact({0, -1, 0}, 8));
  EXPECT_FALSE(fits_compact({0, 0, 1 << 16}, 8));
  EXPECT_FALSE(fits_compact({0, 0, -3}, 8));
}

// One comparison decides as matches() does.
TEST(Cells, APatternMatchesTheCompactMessagesOfItsReceive) {
  const ContextId contexts[] = {0, 1, 5, (1u << 14) - 1, 1u << 14, ~0u};
  const int sources[] = {kAnySource, 0, 1, 7, (1 << 14) - 1, 1 << 14, 0x7fffffff};
  const int tags[] = {kAnyTag, 0, 1, 9, (1 << 16) - 1, 1 << 16, 0x7fffffff};
  std::vector<Key> keys;
  for (const ContextId context : contexts)
    for (const int source : sources)
      for (const int tag : tags) keys.push_back({context, source, tag});
  for (const Key& message : keys) {
    if (!fits_compact(message, 8)) continue;  // nor do wildcards
    for (const uint64_t position : kPositions) {
      const uint64_t word = compact_word(position, message, position % 9);
      EXPECT_TRUE(is_compact(word));
      EXPECT_EQ(compact_bytes(word), position % 9);
      for (const Key& receive : keys)
        ASSERT_EQ(compact_pattern(receive).matches(word), matches(receive, message))
            << receive.context << ' ' << receive.source << ' ' << receive.tag;
    }
  }
}

TEST(Cells, AnyOtherMessageSaysWhatItsSenderHasSaid) {
  const Key keys[] = {{0, 0, 0}, {~0u, 0x7fffffff, 0x7fffffff}, {1u << 31, -1, -7}};
  for (const uint64_t position : kPositions) {
    for (const Key& key : keys) {
      for (size_t bytes = 0; bytes <= kInlineBytes; ++bytes) {
        const Arrival message = first_of(position, CellKind::kInline, key, bytes);
        EXPECT_EQ(message.key, key);
        EXPECT_EQ(message.bytes, bytes);
        EXPECT_EQ(message.cells, 1 + (bytes + 13) / 14);
        EXPECT_EQ(message.kind, CellKind::kInline);
        EXPECT_FALSE(message.is_compact);
      }
      for (const CellKind kind : {CellKind::kBlock, CellKind::kRendezvous}) {
        const Arrival message = first_of(position, kind, key, sizeof(void*));
        EXPECT_EQ(message.key, key);
        EXPECT_EQ(message.kind, kind);
        EXPECT_EQ(message.cells, 2u);
      }
    }
  }
}

TEST(Cells, ThoseThatAreLeftOutAreCounted) {
  for (uint64_t left_out = 0; left_out < kCellsPerLine; ++left_out) {
    const Arrival message =
        first_of(77, CellKind::kInline, {9, 8, 7}, kInlineBytes, left_out);
    EXPECT_EQ(message.cells, 1 + kInlineBytes / kPieceBytes + left_out);
    EXPECT_EQ(message.bytes, kInlineBytes);
    EXPECT_EQ(message.key, (Key{9, 8, 7}));
  }
}

// Of all positions that ever stand at this place.
TEST(Cells, ACellOfPayloadIsNeverTakenForAMessage) {
  for (uint64_t place = 0; place < kCells; ++place) {
    for (uint64_t lap = 0; lap < (1u << 16) / kCells; ++lap) {
      const uint64_t left_here = static_cast<uint16_t>(place + lap * kCells);
      for (const uint64_t looked_for : {place, place + kCells, place + (kCells << 7)})
        ASSERT_FALSE(is_first(left_here, looked_for));
    }
  }
}

// A message of one lap is not one of the next.
TEST(Cells, AMessageOfTheLapBeforeIsNotNew) {
  for (const uint64_t position : kPositions)
    EXPECT_FALSE(is_first(compact_word(position, {1, 2, 3}, 8), position + kCells));
}

}  // namespace
}  // namespace mpc::msg
