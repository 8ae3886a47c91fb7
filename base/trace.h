#pragma once
// Trace: records what happened when, where and on whose behalf, in memory until the job's end.
//
// Role:      shows the path of one operation through the layers. Off by default: then a place
//            that could record costs one load and a branch.
// Users:     every layer records; runtime/trace writes `mpcrun --trace FILE`; tests take().
// Threads:   any may record: each execution (a thread_local belongs to the user-level thread)
//            writes to chunks of its own, without locks.
// See also:  docs/tracing.md, docs/design/0011-trace.md; base/log.h for text.
//
//   constexpr trace::Site kCopy{"transport", "copy", {"bytes", "source"}};
//   trace::Span span(kCopy, {bytes, source});          begin and end
//   trace::instant(kMatch, {bytes}, receiver);         a moment
//   MPC_TRACE("layer", "what", value);                 the same with one value, in one line
//
// The memory is one array of chunks. An execution that has filled its chunk takes the next one (one
// fetch_add for 63 events); when none is left, later events are counted
// and dropped. An event is never moved or overwritten (apart from
// `trace::end`, see there), so a reader may come at any time.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace mpc::trace {

inline constexpr int kMaxValues = 5;

// A place in the code that records: static, so that an event needs only a pointer.
struct Site {
  const char* layer;
  const char* name;
  const char* values[kMaxValues] = {};  // what the values mean; null: unused
  // The first value is a `const char*` (static text), and names the event.
  bool is_named_by_value = false;
  // A span in which the execution does not switch: shown on the core's track, too.
  bool is_work = false;
};

enum class Kind : uint8_t {
  kInstant,
  kBegin,  // of a span: spans of one execution are nested
  kEnd,
  kFlightBegin,  // of something that may end elsewhere; the last value is its number
  kFlightEnd,
  kRun,  // from now on the recorder runs on its core
};

enum class Role : uint8_t {
  kUnknown,   // a thread that a rank has started, or one of ours
  kRank,      // a rank's main execution
  kProgress,  // its progress thread
  kIdle,      // a worker without anything to run
};

// The recorder's own rank.
inline constexpr int32_t kOwn = -1;

struct Event {
  uint64_t time_ns;  // CLOCK_MONOTONIC
  const Site* site;
  uint64_t values[kMaxValues];
  int32_t rank;  // the rank that the event is about; or kOwn
  int16_t core;  // the worker that the recorder runs on; -1: none
  Kind kind;
};

// The recorder. `who` is the identity (rank) that it has given, or that the who source gives.
struct Writer {
  uint32_t number;  // of the execution: the number of its first chunk
  Role role;
  void* who;
};

namespace detail {
extern std::atomic<bool> is_on;
void record(Kind kind, const Site& site, const uint64_t* values, size_t count,
            int32_t rank) noexcept;
void end(const Site& site) noexcept;

inline void record(Kind kind, const Site& site, std::initializer_list<uint64_t> values,
                   int32_t rank) noexcept {
  record(kind, site, values.begin(), values.size(), rank);
}
}  // namespace detail

inline bool enabled() noexcept { return detail::is_on.load(std::memory_order_relaxed); }

using Values = std::initializer_list<uint64_t>;

inline uint64_t text(const char* static_text) noexcept {
  return reinterpret_cast<uintptr_t>(static_text);
}

// All of these: Caller: any. Switches: no. Cost: off 1 ns; on about 50 ns, mostly the clock.
inline void instant(const Site& site, Values values = {},
                    int32_t rank = kOwn) noexcept {
  if (__builtin_expect(enabled(), 0))
    detail::record(Kind::kInstant, site, values, rank);
}
inline void begin(const Site& site, Values values = {}, int32_t rank = kOwn) noexcept {
  if (__builtin_expect(enabled(), 0)) detail::record(Kind::kBegin, site, values, rank);
}
// Short spans that repeat at once (same site, same values: a rank that polls) are merged into one;
// the last value of its begin counts the repetitions.
inline void end(const Site& site) noexcept {
  if (__builtin_expect(enabled(), 0)) detail::end(site);
}
inline void flight_begin(const Site& site, Values values, int32_t rank) noexcept {
  if (__builtin_expect(enabled(), 0))
    detail::record(Kind::kFlightBegin, site, values, rank);
}
inline void flight_end(const Site& site, Values values, int32_t rank) noexcept {
  if (__builtin_expect(enabled(), 0))
    detail::record(Kind::kFlightEnd, site, values, rank);
}
class Span {
 public:
  explicit Span(const Site& site, Values values = {}, int32_t rank = kOwn) noexcept
      : site_(site) {
    begin(site_, values, rank);
  }
  ~Span() { end(site_); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  const Site& site_;
};

// Tells who the calling execution is, for everything that it records. Once, at its beginning.
void introduce(Role role, void* who) noexcept;

// Starts again with room for `capacity` events. Caller: while no other thread records.
// False: no memory.
bool start(size_t capacity) noexcept;
// Events may still be added for an instant, by executions that were about to.
void stop() noexcept;
uint64_t lost_count() noexcept;

// Calls visit(const Event&, const Writer&) for all events; those of one execution in their
// order. Caller: any, after stop().
template <class Visit>
void for_each(Visit visit);

// A copy, ordered by time. Caller: after stop().
struct Taken : Event {
  Writer writer;
};
std::vector<Taken> take();

// Installed by the layers that know which rank runs here, and on which worker.
void set_who_source(void* (*source)()) noexcept;
void set_core_source(int (*source)()) noexcept;

// ---- implementation of the templates -------------------------------------------------------

namespace detail {

inline constexpr size_t kChunkEvents = 63;

// One page. The header is as long as an event.
struct alignas(64) Chunk {
  std::atomic<uint32_t> used;  // release; the events below this index are written
  uint32_t writer;
  std::atomic<Role> role;
  std::atomic<void*> who;
  alignas(64) Event events[kChunkEvents];
};
static_assert(sizeof(Event) == 64 && sizeof(Chunk) == 4096);

size_t chunk_count() noexcept;
const Chunk& chunk(size_t index) noexcept;

extern const Site kRunSite;

}  // namespace detail

// For the scheduler: the caller has been switched to.
inline void runs() noexcept {
  if (__builtin_expect(enabled(), 0))
    detail::record(Kind::kRun, detail::kRunSite, {}, kOwn);
}

inline Writer writer_of(const detail::Chunk& chunk) noexcept {
  return {chunk.writer, chunk.role.load(std::memory_order_relaxed),
          chunk.who.load(std::memory_order_relaxed)};
}

template <class Visit>
void for_each(Visit visit) {
  for (size_t i = 0; i < detail::chunk_count(); ++i) {
    const detail::Chunk& chunk = detail::chunk(i);
    // Acquire pairs with the release in record().
    const uint32_t used = chunk.used.load(std::memory_order_acquire);
    for (uint32_t e = 0; e < used; ++e) visit(chunk.events[e], writer_of(chunk));
  }
}

}  // namespace mpc::trace

#define MPC_TRACE(layer, what, value)                                             \
  do {                                                                            \
    if (__builtin_expect(::mpc::trace::enabled(), 0)) {                           \
      static constexpr ::mpc::trace::Site mpc_trace_site{layer, what, {"value"}}; \
      ::mpc::trace::instant(mpc_trace_site, {static_cast<uint64_t>(value)});      \
    }                                                                             \
  } while (0)
