#include "mpi/objects/buffers_in_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/datatype/cursor.h"
#include "scheduler/annotate.h"

namespace mpc::mpi {
namespace {

using dt::Count;

struct Block {
  uintptr_t begin, end;
};
// A layout with gaps and more blocks than this is not compared.
constexpr size_t kMostBlocks = size_t{1} << 18;
// Of one use with others. What it meets beyond is of the same kind in programs that have so many.
constexpr int kMostReports = 16;

// Calls take(address, bytes) for each run of bytes; ends early if that returns false.
template <class Take>
void for_each_run(const BufferUse& use, Take take) {
  const dt::Datatype& type = *use.type;
  dt::Cursor cursor(use.base, type.layout(), use.count, type.extent(), 0);
  while (cursor.leaf() != nullptr) {
    const Count bytes = cursor.contiguous_bytes();
    if (bytes > 0 && !take(cursor.position(), static_cast<size_t>(bytes))) return;
    cursor.pass_bytes(bytes);
  }
}

// The blocks that touch [begin, end), sorted; empty if there are too many.
std::vector<Block> blocks_of(const BufferUse& use, uintptr_t begin, uintptr_t end) {
  if (use.is_plain) return {{use.begin, use.end}};
  std::vector<Block> out;
  size_t seen = 0;
  for_each_run(use, [&](const char* at, size_t bytes) {
    const auto from = reinterpret_cast<uintptr_t>(at);
    if (from < end && from + bytes > begin) out.push_back({from, from + bytes});
    return ++seen < kMostBlocks;
  });
  if (seen >= kMostBlocks) return {};
  std::sort(out.begin(), out.end(),
            [](const Block& a, const Block& b) { return a.begin < b.begin; });
  return out;
}

// Any fixed mixing will do; it need not withstand an attacker. The program may be about to change the bytes, or have another
// operation do so: that is the fault that is looked for.
MPC_UNSEEN_BY_TSAN uint64_t mix(uint64_t sum, const char* at, size_t bytes) noexcept {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, at + i, sizeof word);
    sum = (sum ^ word) * kFactor;
    sum ^= sum >> 29;
  }
  for (; i < bytes; ++i)
    sum = (sum ^ static_cast<unsigned char>(at[i])) * kFactor + (sum >> 31);
  return sum;
}

std::string line_of(const BufferUse& use) {
  return fmt::format(
      "{} {} {} at {}", call_at(use.site), use.writes ? "writes" : "reads",
      elements_text(use.count, *use.type), reinterpret_cast<const void*>(use.begin));
}

void report_meeting(const BufferUse& first, const BufferUse& second) {
  const bool is_one_call =
      first.site.address == second.site.address && first.site.call == second.site.call;
  report_fault("buffers overlap", place_of(first.site.address),
               place_of(second.site.address), [&] {
                 return fmt::format(
                     "two operations that are under way at once use the "
                     "same bytes{}\n  {}\n  {}",
                     is_one_call ? " (or two buffers of one call)" : "", line_of(first),
                     line_of(second));
               });
}

bool are_foes(const BufferUse& a, const BufferUse& b) {
  return (a.writes || b.writes) && do_overlap(a, b);
}

}  // namespace

BufferUse::BufferUse(const void* its_base, Count its_count,
                     const dt::Datatype& its_type, bool does_write,
                     CallSite its_site) noexcept
    : base(its_base),
      count(its_count),
      type(&its_type),
      writes(does_write),
      site(its_site),
      begin(0),
      end(0),
      is_plain(its_type.is_contiguous()) {
  if (count <= 0 || its_type.size() == 0) return;
  const auto at = reinterpret_cast<uintptr_t>(base);
  const Count rest = (count - 1) * its_type.extent();
  begin = at + static_cast<uintptr_t>(its_type.true_lb() + std::min<Count>(rest, 0));
  end = at + static_cast<uintptr_t>(its_type.true_lb() + its_type.true_extent() +
                                    std::max<Count>(rest, 0));
}

bool do_overlap(const BufferUse& a, const BufferUse& b) {
  const uintptr_t begin = std::max(a.begin, b.begin), end = std::min(a.end, b.end);
  if (begin >= end) return false;
  if (a.is_plain && b.is_plain) return true;
  const std::vector<Block> of_a = blocks_of(a, begin, end),
                           of_b = blocks_of(b, begin, end);
  size_t i = 0, k = 0;
  while (i < of_a.size() && k < of_b.size()) {
    if (of_a[i].begin < of_b[k].end && of_b[k].begin < of_a[i].end) return true;
    if (of_a[i].end <= of_b[k].end)
      ++i;
    else
      ++k;
  }
  return false;
}

uint64_t checksum_of(const BufferUse& use) noexcept {
  if (use.is_empty()) return 0;
  if (use.is_plain)
    return mix(1, reinterpret_cast<const char*>(use.begin), use.end - use.begin);
  uint64_t sum = 1;
  for_each_run(use, [&sum](const char* at, size_t bytes) {
    sum = mix(sum, at, bytes);
    return true;
  });
  return sum;
}

int BuffersInUse::class_of(const BufferUse& use) noexcept {
  return static_cast<int>(std::bit_width(use.end - use.begin));
}

template <class LookAt>
void BuffersInUse::for_each_near(Shelf& shelf, const BufferUse& use, LookAt look_at) {
  for (int k = 0; k < kClasses; ++k) {
    ByBegin& uses = shelf[k];
    if (uses.empty()) continue;
    const uintptr_t longest = k < 64 ? uintptr_t{1} << k : ~uintptr_t{0};
    const uintptr_t first = use.begin > longest ? use.begin - longest : 0;
    for (auto it = uses.lower_bound(first); it != uses.end() && it->first < use.end;
         ++it)
      if (!look_at(it)) return;
  }
}

bool BuffersInUse::meets(const BufferUse& use) {
  bool does = meets_any(shelves_[1][0], shelves_[1][1], use);
  if (use.writes && meets_any(shelves_[0][0], shelves_[0][1], use)) does = true;
  return does;
}

// All of these are foes of this use if they have bytes in common. Cost: linear in those that become suspect.
bool BuffersInUse::meets_any(Shelf& innocent, Shelf& suspect, const BufferUse& use) {
  int reports = 0;
  for_each_near(suspect, use, [&](ByBegin::iterator other) {
    if (!do_overlap(other->second.use, use)) return true;
    report_meeting(other->second.use, use);
    return ++reports < kMostReports;
  });
  std::vector<ByBegin::iterator> found;
  for_each_near(innocent, use, [&](ByBegin::iterator other) {
    if (do_overlap(other->second.use, use)) found.push_back(other);
    return true;
  });
  for (const ByBegin::iterator other : found) {
    Kept& kept = other->second;
    if (++reports <= kMostReports) report_meeting(kept.use, use);
    kept.is_suspect = true;
    const int k = class_of(kept.use);
    kept.where->kept = suspect[k].insert(innocent[k].extract(other));
  }
  return reports > 0;
}

void BuffersInUse::begin(const void* operation, std::vector<BufferUse> uses) {
  const std::lock_guard lock(mutex_);
  for (BufferUse& use : uses) {
    if (use.is_empty()) continue;
    const bool is_suspect = meets(use);
    const uint64_t checksum = use.writes ? 0 : checksum_of(use);
    const uintptr_t at = use.begin;
    ByBegin& uses_of_class =
        shelves_[use.writes ? 1 : 0][is_suspect ? 1 : 0][class_of(use)];
    const auto kept =
        uses_of_class.emplace(at, Kept{std::move(use), checksum, is_suspect, nullptr});
    kept->second.where = &of_operation_.emplace(operation, Where{kept})->second;
  }
}

void BuffersInUse::look(const std::vector<BufferUse>& uses) {
  const std::lock_guard lock(mutex_);
  std::vector<const BufferUse*> sorted;
  for (const BufferUse& use : uses) {
    if (use.is_empty()) continue;
    meets(use);
    sorted.push_back(&use);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const BufferUse* a, const BufferUse* b) { return a->begin < b->begin; });
  int reports = 0;
  for (size_t i = 0; i < sorted.size(); ++i)
    for (size_t k = i + 1; k < sorted.size() && sorted[k]->begin < sorted[i]->end; ++k)
      if (are_foes(*sorted[i], *sorted[k])) {
        report_meeting(*sorted[i], *sorted[k]);
        if (++reports == kMostReports) return;
      }
}

void BuffersInUse::end(const void* operation, bool is_certain) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = of_operation_.equal_range(operation);
  for (auto it = first; it != last; ++it) {
    const Kept& kept = it->second.kept->second;
    const BufferUse& use = kept.use;
    if (is_certain && !use.writes && !kept.is_suspect &&
        checksum_of(use) != kept.checksum) {
      const CallSite ends = this_call();
      report_fault(
          "send buffer changed", place_of(use.site.address), place_of(ends.address),
          [&] {
            return fmt::format(
                "the program has written to a buffer before the operation that "
                "reads it was complete\n  {}\n  completed by {}",
                line_of(use), call_at(ends));
          });
    }
    shelves_[use.writes ? 1 : 0][kept.is_suspect ? 1 : 0][class_of(use)].erase(
        it->second.kept);
  }
  of_operation_.erase(first, last);
}

}  // namespace mpc::mpi
