#pragma once
// SplitRoom, InterSplitRoom: which member belongs to which part after MPI_Comm_split.
//
// Role:      collects colors and keys, sorts once for all members of a process.
// Users:     mpi/objects/comm_make.cpp.
// Threads:   as rooms (mpi/objects/meeting.h).
// See also:  MPI-4.1 section 7.4.2.

#include <vector>

#include "mpi.h"
#include "mpi/objects/group_table.h"
#include "mpi/objects/meeting.h"

namespace mpc::mpi {

struct Choice {
  int color = MPI_UNDEFINED, key = 0;
};

// The choices of all members of a group, by rank. Ranks without a color are not sent to other
// processes: "no color" is the initial value there.
void pack_choices(const std::vector<Choice>& choices, ByteWriter& out);
void merge_choices(std::vector<Choice>& choices, ByteReader& in);

struct SplitRoom final : Room {
  GroupRef group;               // of the communicator
  std::vector<Choice> choices;  // by rank
  struct Part {
    GroupRef group;
    ContextGrant ids;  // the context, then a reserve if there are several processes
  };
  std::vector<Part> parts;
  std::vector<int> part_of;  // by rank; -1: undefined
  std::vector<int> rank_of;  // new rank by old rank

  void visit(const GroupRef& members, int rank, Choice choice);
  void pack(ByteWriter& out) const override { pack_choices(choices, out); }
  void merge(ByteReader& in) override { merge_choices(choices, in); }
  int pairs_wanted() const override { return 1 + kReservePairs; }
  void conclude(Ids& ids) override;
};

// Members of the same color in both groups of an intercommunicator form a new one; a color that
// only one group has gives MPI_COMM_NULL.
struct InterSplitRoom final : Room {
  struct Side {
    GroupRef group;
    std::vector<Choice> choices;  // by rank
    std::vector<int> part_of, rank_of;
  };
  struct Part {
    GroupRef groups[2];  // by side
    ContextGrant ids;    // the context, that of each side, then a reserve as above
  };
  static constexpr int kContexts = 3;
  Side sides[2];  // the low group first
  std::vector<Part> parts;

  void visit(const GroupRef groups[2], int side, int rank, Choice choice);
  void pack(ByteWriter& out) const override;
  void merge(ByteReader& in) override;
  int pairs_wanted() const override { return kContexts + kReservePairs; }
  void conclude(Ids& ids) override;

 private:
  void add_part(std::vector<int>& low, std::vector<int>& high, Ids& ids);
};

}  // namespace mpc::mpi
