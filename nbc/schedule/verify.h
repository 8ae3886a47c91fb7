#pragma once
// Verifier: proves that the schedules of all ranks together form a correct collective, without
// running MPI.
//
// Role:      matching (every send meets one receive of the same bytes, in the order of tags),
//            freedom from deadlock even if no message is ever buffered, no two unordered nodes
//            on the same bytes, no access outside a buffer, no read of bytes that nothing wrote,
//            and the data flow: which value ends up where, as symbols.
// Users:     tests; builders of own collectives.
// Threads:   one.
// See also:  docs/design/0004-schedules.md.
//
// Why one run is a proof: nodes wait only for other nodes, and which send meets which receive
// is fixed (messages between the same ranks with the same tag must be ordered in the graph, or
// it is an error). Such a system has no choice that could matter: if one order of execution
// with synchronous sends ends, all do, and with the same data.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "nbc/schedule/schedule.h"

namespace mpc::nbc {

// One byte's value: 0 is "nothing wrote it".
using Symbol = uint32_t;

// Atoms are values that ranks contribute; others are `a op b`, stored with their parentheses.
class SymbolTable {
 public:
  SymbolTable() : pairs_(1) {}
  Symbol atom();
  Symbol combine(Symbol a, Symbol b);
  bool is_atom(Symbol s) const { return pairs_[s].first == 0; }
  // The atoms from left to right: two values are equal for every associative operation if
  // their sequences are, for every commutative one if the sorted sequences are.
  std::vector<Symbol> sequence(Symbol s) const;

 private:
  std::vector<std::pair<Symbol, Symbol>> pairs_;
  std::map<std::pair<Symbol, Symbol>, Symbol> known_;
};

// A datatype as the verifier sees it: blocks (offset, bytes) of one element, in the order of
// the type map.
struct VerifyType {
  int64_t extent = 1;
  std::vector<std::pair<int64_t, int64_t>> blocks{{0, 1}};
  int64_t size() const;
};

class Verifier {
 public:
  explicit Verifier(int rank_count);
  ~Verifier();
  SymbolTable& symbols() noexcept;
  // Ownership: the schedule and the types must outlive the verifier.
  void set_schedule(int rank, const Schedule& schedule,
                    std::vector<const VerifyType*> types);
  // The bytes from `low` on (which may be negative), relative to the slot's address.
  void set_buffer(int rank, uint16_t slot, int64_t low, std::vector<Symbol> content);
  // A message or copy may be shorter than its target, as MPI allows; otherwise it is an error.
  void allow_short_messages() noexcept;
  // Errors: kInternal, with rank, node and the problem in the first line; then that
  // rank's schedule.
  Result<> run();
  Symbol at(int rank, uint16_t slot, int64_t offset) const;

 private:
  struct State;
  class Simulation;
  std::unique_ptr<State> state_;
};

}  // namespace mpc::nbc
