#pragma once
// StateTable: what ranks are doing, one row per group of ranks in the same state.
//
// Role:      the rows of the deadlock report and of the table of Ctrl-\, of one process or of several.
// Users:     runtime/job (report), runtime/message (processes exchange it).
// Threads:   plain data.
// See also:  runtime/job/report.h.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mpc::job {

struct StateRow {
  std::string text;        // for one rank: "waits in MPI_Recv(...)"
  std::vector<int> ranks;  // sorted, each once
  uint32_t threads = 0;    // more than ranks: threads of one rank in the same state
  int64_t longest_ns =
      0;  // how long the first of them has waited; 0: not known, or none waits
};
// The first rank of each row is larger than that of the row before.
using StateTable = std::vector<StateRow>;

// Merges rows in any order, with equal texts or not, and ranks in any order and repeated.
StateTable merged(std::vector<StateRow> rows);
// One line per row: "  ranks 0-3: wait in MPI_Recv(...), since 3.2 s".
std::string to_text(const StateTable& table);
// "0-3,7" for sorted rank numbers; long lists are shortened and show their number.
std::string format_ranks(const std::vector<int>& ranks);

// For another process of the same build.
std::vector<std::byte> encode(const StateTable& table);
// False: these bytes are no table.
bool decode(std::span<const std::byte> bytes, StateTable* table);

}  // namespace mpc::job
