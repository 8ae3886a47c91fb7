#include "runtime/message/match_queue.h"

namespace mpc::msg {
namespace {
constexpr size_t kFirstBins = 64;
constexpr size_t kGrowth = 4;
}  // namespace

size_t MatchQueue::slot(const Key& key) const noexcept {
  // Fibonacci hashing of the three numbers; neighbouring sources or tags spread well.
  uint64_t h = (uint64_t{key.context} << 32) ^ static_cast<uint32_t>(key.source);
  h *= 0x9e3779b97f4a7c15u;
  h ^= h >> 32;
  h += static_cast<uint32_t>(key.tag);
  h *= 0xd6e8feb86659fd93u;
  return (h >> 32) & (bins_ - 1);
}

// The size of an index that is built from scratch: the size
// that appending one by one would have reached.
void MatchQueue::size_bins() noexcept {
  size_t wanted = bins_ == 0 ? kFirstBins : bins_;
  while (wanted < size()) wanted *= kGrowth;
  if (wanted == bins_) return;
  for (auto& table : tables_) table.reset();
  bins_ = wanted;
}

void MatchQueue::build(int pattern) {
  if (built_ == 0) size_bins();
  if (!tables_[pattern]) tables_[pattern] = std::make_unique<Bin[]>(bins_);
  for (Entry* e = list_.head; e != nullptr; e = e->next[0]) {
    const Key key = patterns_ == 1 ? e->key : masked(e->key, pattern);
    link(tables_[pattern][slot(key)], *e, 1 + pattern);
  }
  built_ |= 1u << pattern;
}

void MatchQueue::grow() {
  const unsigned built = built_;
  bins_ *= kGrowth;
  built_ = 0;
  for (int p = 0; p < patterns_; ++p) {
    tables_[p].reset();
    if ((built >> p & 1u) != 0) build(p);
  }
}

void MatchQueue::need_pattern(int pattern) {
  if ((built_ >> pattern & 1u) == 0) build(pattern);
}

void MatchQueue::index(Entry& entry) {
  for (int p = 0; p < patterns_; ++p) {
    if ((built_ >> p & 1u) == 0) continue;
    const Key key = patterns_ == 1 ? entry.key : masked(entry.key, p);
    link(tables_[p][slot(key)], entry, 1 + p);
  }
  if (size() > bins_) grow();
}

void MatchQueue::forget(Entry& entry) noexcept {
  for (int p = 0; p < patterns_; ++p) {
    if ((built_ >> p & 1u) == 0) continue;
    const Key key = patterns_ == 1 ? entry.key : masked(entry.key, p);
    unlink(tables_[p][slot(key)], entry, 1 + p);
  }
}

Entry* PostedQueue::find_later(const Key& message) {
  if (!is_indexed()) {
    bool is_end = false;
    auto is_match = [&](const Entry& e) { return matches(e.key, message); };
    if (Entry* entry = find_early(is_match, &is_end)) return entry;
    if (is_end) return nullptr;
    need_pattern(0);
  }
  return find_indexed(message);
}

Entry* PostedQueue::find_indexed(const Key& message) const noexcept {
  Entry* best = nullptr;
  for (int p = 0; p < Entry::kPatterns; ++p) {
    if (wild_counts_[p] == 0) continue;
    const Key key = masked(message, p);
    Entry* e = bin_head(0, key);
    while (e != nullptr && e->key != key) e = e->next[1];
    if (e != nullptr && (best == nullptr || e->order < best->order)) best = e;
  }
  return best;
}

Entry* UnexpectedQueue::find(const Key& receive) {
  if (first() == nullptr) return nullptr;
  if (matches(receive, first()->key)) return first();
  if (!is_indexed()) {
    bool is_end = false;
    auto is_match = [&](const Entry& e) { return matches(receive, e.key); };
    if (Entry* entry = find_early(is_match, &is_end)) return entry;
    if (is_end) return nullptr;
  }
  const int pattern = pattern_of(receive);
  need_pattern(pattern);
  Entry* e = bin_head(pattern, receive);
  while (e != nullptr && !matches(receive, e->key)) e = e->next[1 + pattern];
  return e;
}

}  // namespace mpc::msg
