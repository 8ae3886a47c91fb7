#pragma once
// MatchQueue: posted receives or unexpected messages, found in constant time.
//
// Role:      preserves MPI's order (MPI-4.1 section 3.5): of several entries that match, the one
//            that came first. A list in order of arrival; once a search has gone past a few
//            entries, bins by (context, source, tag), one set for each pattern of wildcards in
//            use, until the queue is empty again. Most often the first entry is the right one.
// Users:     runtime/message, under the mailbox's lock.
// Threads:   none of its own.
// See also:  docs/design/0003-mailbox.md.
//
//   posted      one bin per receive, by its own key, wildcards included. A message checks
//               at most four bins (exact, any source, any tag, any) and takes the oldest.
//   unexpected  an entry is in the bin of every pattern that is in use; a receive checks
//               the one bin of its own pattern. Patterns come into use when first asked for.

#include <atomic>
#include <cstddef>
#include <memory>

#include "runtime/message/request.h"

namespace mpc::msg {

inline bool matches(const Key& receive, const Key& message) noexcept {
  return receive.context == message.context &&
         (receive.source == message.source || receive.source == kAnySource) &&
         (receive.tag == message.tag || receive.tag == kAnyTag);
}

class MatchQueue {
 public:
  // A search checks so many entries before it builds the bins. Chosen, not tuned: `bench_message
  // depth` shows lists of 8 and bins of 16 at the same cost; nothing in between has been compared.
  static constexpr size_t kLinearLimit = 8;

  MatchQueue() = default;
  MatchQueue(const MatchQueue&) = delete;
  MatchQueue& operator=(const MatchQueue&) = delete;

  // Exact under the lock, a hint without it.
  bool empty() const noexcept { return size() == 0; }
  size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }
  Entry* first() const noexcept { return list_.head; }  // then Entry::next[0]

 protected:
  struct Bin {
    Entry* head = nullptr;
    Entry* tail = nullptr;
  };
  MatchQueue(int patterns) : patterns_(patterns) {}

  void append(Entry& entry) {
    entry.order = ++clock_;
    entry.queued = true;
    link(list_, entry, 0);
    set_size(size() + 1);
    if (is_indexed()) index(entry);
  }
  void remove(Entry& entry) noexcept {
    entry.queued = false;
    unlink(list_, entry, 0);
    if (is_indexed()) forget(entry);
    set_size(size() - 1);
    if (empty()) built_ = 0;  // all bins are empty now; linear again
  }
  bool is_indexed() const noexcept { return built_ != 0; }
  void need_pattern(int pattern);
  // The oldest of the first kLinearLimit entries that `is_match` accepts, or null. *is_end: there
  // are no others.
  template <class IsMatch>
  Entry* find_early(IsMatch is_match, bool* is_end) const noexcept {
    Entry* entry = first();
    for (size_t i = 0; entry != nullptr && i < kLinearLimit;
         ++i, entry = entry->next[0]) {
      if (is_match(*entry)) return entry;
    }
    *is_end = entry == nullptr;
    return nullptr;
  }
  // Head of the bin that holds entries with this key; follow Entry::next[1 + pattern].
  Entry* bin_head(int pattern, const Key& key) const noexcept {
    return tables_[pattern][slot(key)].head;
  }
  // The bins' key of an entry: source and tag replaced by wildcards as the pattern says.
  static Key masked(const Key& key, int pattern) noexcept {
    return {key.context, (pattern & 1) != 0 ? kAnySource : key.source,
            (pattern & 2) != 0 ? kAnyTag : key.tag};
  }
  static int pattern_of(const Key& key) noexcept {
    return (key.source == kAnySource ? 1 : 0) | (key.tag == kAnyTag ? 2 : 0);
  }

 private:
  size_t slot(const Key& key) const noexcept;
  static void link(Bin& bin, Entry& entry, int level) noexcept {
    entry.next[level] = nullptr;
    entry.prev[level] = bin.tail;
    (bin.tail != nullptr ? bin.tail->next[level] : bin.head) = &entry;
    bin.tail = &entry;
  }
  static void unlink(Bin& bin, Entry& entry, int level) noexcept {
    Entry* const next = entry.next[level];
    Entry* const prev = entry.prev[level];
    (prev != nullptr ? prev->next[level] : bin.head) = next;
    (next != nullptr ? next->prev[level] : bin.tail) = prev;
  }
  void index(Entry& entry);            // adds it to the bins
  void forget(Entry& entry) noexcept;  // removes it from them
  void size_bins() noexcept;
  void build(int pattern);
  void grow();

  Bin list_;
  std::atomic<size_t> size_{0};  // written under the lock
  void set_size(size_t n) noexcept { size_.store(n, std::memory_order_relaxed); }

  uint64_t clock_ = 0;
  int patterns_ = 1;    // 1: entries are in one bin, by their own key
  unsigned built_ = 0;  // bit p: the bins of pattern p are filled
  size_t bins_ = 0;     // per pattern; a power of two
  std::unique_ptr<Bin[]> tables_[Entry::kPatterns];
};

class PostedQueue : public MatchQueue {
 public:
  PostedQueue() : MatchQueue(1) {}
  void append(Entry& entry) {
    ++wild_counts_[pattern_of(entry.key)];
    MatchQueue::append(entry);
  }
  void remove(Entry& entry) noexcept {
    --wild_counts_[pattern_of(entry.key)];
    MatchQueue::remove(entry);
  }
  // The oldest receive that a message with this key matches, or null; it stays.
  Entry* find(const Key& message) {
    Entry* const oldest = first();
    return oldest == nullptr || matches(oldest->key, message) ? oldest
                                                              : find_later(message);
  }

 private:
  Entry* find_later(const Key& message);
  Entry* find_indexed(const Key& message) const noexcept;
  size_t wild_counts_[Entry::kPatterns] = {};
};

class UnexpectedQueue : public MatchQueue {
 public:
  UnexpectedQueue() : MatchQueue(Entry::kPatterns) {}
  using MatchQueue::append;
  using MatchQueue::remove;
  // The oldest message that a receive with this key (wildcards allowed) takes, or null.
  Entry* find(const Key& receive);
};

}  // namespace mpc::msg
