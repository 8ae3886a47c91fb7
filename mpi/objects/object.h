#pragma once
// Object: the head of every dynamic MPI object, by which a wrong handle is detected.
//
// Role:      kind, owner rank, magic word, reference count, Fortran index.
// Users:     all object types of mpi/.
// Threads:   reference counts are atomic; the rest belongs to the owner rank unless said.
// See also:  mpi/objects/handles.h (from handle to object).

#include <atomic>
#include <cstdint>

namespace mpc::mpi {

enum class Kind : uint8_t {
  kComm = 1,
  kGroup,
  kDatatype,
  kOp,
  kRequest,
  kMessage,
  kInfo,
  kErrhandler,
  kWin,
  kFile,
  kSession,
  kUserBuilder,
  kUserSchedule,  // <mpc/schedule.h>: no handles of MPI, never converted to integers
};
inline constexpr int kKindCount = 14;  // with the unused 0

// mpi.check=full: objects are recorded with the calls that create them (mpi/objects/made.h). Set
// once, in the first MPI_Init, with release.
inline constinit std::atomic<bool> g_notes_objects{false};

class Object;
namespace detail {
[[gnu::cold]] void note_made(const Object& object);
[[gnu::cold]] void note_gone(const Object& object);
}  // namespace detail

class Object {
 public:
  static constexpr uint32_t kAlive = 0x4d50434f;  // "MPCO"
  static constexpr uint32_t kFreed = 0xdeadf7ee;

  explicit Object(Kind kind, int owner_world_rank) noexcept
      : kind_(kind), owner_(owner_world_rank) {
    note();
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Kind kind() const noexcept { return kind_; }
  int owner() const noexcept { return owner_; }  // world rank; -1: of the process
  bool is_alive() const noexcept { return magic_ == kAlive; }

  // The user freed the handle; the object lives on while operations hold references.
  void mark_freed() noexcept {
    magic_ = kFreed;
    exempt();
  }
  // The user need not free this object, so it is not reported.
  void exempt() noexcept {
    if (!is_noted_) [[likely]]
      return;
    is_noted_ = false;
    detail::note_gone(*this);
  }

  // Handles and pending operations hold references. (Groups, types and ops may be shared.)
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  // True when this was the last reference; acq_rel: the deleter sees all earlier writes.
  [[nodiscard]] bool release() noexcept {
    return references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  int fortran_index = -1;  // index of MPI_*_toint / c2f, -1 until asked for

 protected:
  ~Object() { mark_freed(); }
  // There is no record of the object, and no integer for it.
  bool is_plain() const noexcept { return !is_noted_ && fortran_index < 0; }
  // A plain object whose life is over serves as a new one of the same kind and owner.
  void renew() noexcept {
    magic_ = kAlive;
    note();
  }

 private:
  void note() noexcept {
    if (g_notes_objects.load(std::memory_order_acquire) && owner_ >= 0) [[unlikely]] {
      is_noted_ = true;
      detail::note_made(*this);
    }
  }

  volatile uint32_t magic_ = kAlive;
  Kind kind_;
  bool is_noted_ = false;
  int owner_;
  std::atomic<uint32_t> references_{1};
};

}  // namespace mpc::mpi
