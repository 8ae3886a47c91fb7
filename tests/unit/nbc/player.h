#pragma once
// Player: a case with real memory, types and operations, run by the engine on real ranks.
//
// Role:      fills the buffers, makes each rank's Binding, compares with the naive reference.
// Users:     tests/unit/nbc.
// Threads:   prepare() and check() by one thread; binding() by the rank.
// See also:  cases.h.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "nbc/engine/engine.h"
#include "tests/unit/nbc/cases.h"

namespace mpc::nbc::test {

// The real datatype of case_type(index).
const dt::Datatype* real_type(int index);

// Operations on bytes, element by element of a case type: a sum, or the composition of the
// maps z -> a z + b modulo 16, which is associative and not commutative.
unsigned char sum(unsigned char a, unsigned char b);
unsigned char compose(unsigned char a, unsigned char b);

class Player {
 public:
  // `is_user_operation`: reductions must run as the owning rank, and check that they do.
  Player(Case c, const Algorithm& algorithm, bool is_user_operation,
         const std::vector<int>& world_ranks, int tag_base);

  // User operations also run on progress threads; otherwise they check that they do not. The same
  // for all players of a world.
  void let_run_in_background(bool on) { may_run_in_background_ = on; }

  const Case& description() const { return case_; }
  const Algorithm& algorithm() const { return algorithm_; }
  std::shared_ptr<const Schedule> schedule(int rank) const;
  Binding binding(int rank) const;
  // Fills the buffers of one rank with what belongs to `round`.
  void fill(int rank, unsigned round);
  // What is wrong at this rank, or "". All ranks must have been filled with `round`.
  std::string check(int rank, unsigned round) const;

 private:
  struct Memory {
    int64_t low = 0;
    std::vector<unsigned char> bytes;
    void* base = nullptr;
    unsigned char& at(int64_t offset) {
      return bytes[static_cast<size_t>(offset - low)];
    }
    unsigned char at(int64_t offset) const {
      return bytes[static_cast<size_t>(offset - low)];
    }
  };
  struct PerRank {
    Player* player = nullptr;
    int type = 0;
    int world_rank = 0;
    bool is_user = false;
    Memory send, recv;
    void* buffers[3] = {};
    std::vector<const dt::Datatype*> types;
    std::shared_ptr<const Schedule> schedule;
  };
  static void apply(void* context, const void* in, void* inout, Count n);
  static void apply3(void* context, const void* a, const void* b, void* out, Count n);
  unsigned char input(int rank, int64_t index, unsigned round) const;
  static unsigned char guard(int64_t offset, unsigned round);

  Case case_;
  const Algorithm& algorithm_;
  bool is_user_operation_;
  bool may_run_in_background_ = false;
  std::vector<int> world_ranks_;
  int tag_base_;
  std::deque<PerRank> ranks_;
};

}  // namespace mpc::nbc::test
