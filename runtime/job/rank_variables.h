#pragma once
// Rank variables: the numbers of a rank in its environment, by the names that other launchers use.
//
// Role:      the one list of them: scripts and programs read them where they cannot ask MPI.
// Users:     runtime/job/node_job.cpp (ranks that share a process), tools/mpcrun/hosted.cpp (ranks
//            that are processes of their own), tools/mpcrun/scripts.cpp.
// Threads:   plain data.
// See also:  docs/switching.md (Variables of a rank); runtime/wireup/starter.h, which must not take a child of a
//            rank for a process of such a launcher: it looks for what is_of_starter() removes.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/lone_child.h"

namespace mpc::job {

struct RankNumbers {
  int rank = 0, size = 1;              // in MPI_COMM_WORLD
  int local_rank = 0, local_size = 1;  // among its ranks on this host
};

struct RankVariable {
  const char* name;
  int RankNumbers::*number;
};

inline constexpr RankVariable kRankVariables[] = {
    {"OMPI_COMM_WORLD_RANK", &RankNumbers::rank},
    {"OMPI_COMM_WORLD_SIZE", &RankNumbers::size},
    {"OMPI_COMM_WORLD_LOCAL_RANK", &RankNumbers::local_rank},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", &RankNumbers::local_size},
    {"OMPI_COMM_WORLD_NODE_RANK", &RankNumbers::local_rank},
    {"PMI_RANK", &RankNumbers::rank},
    {"PMI_SIZE", &RankNumbers::size},
    {"MPI_LOCALRANKID", &RankNumbers::local_rank},
    {"MPI_LOCALNRANKS", &RankNumbers::local_size},
    {"MV2_COMM_WORLD_RANK", &RankNumbers::rank},
    {"MV2_COMM_WORLD_SIZE", &RankNumbers::size},
    {"MV2_COMM_WORLD_LOCAL_RANK", &RankNumbers::local_rank},
    {"MV2_COMM_WORLD_LOCAL_SIZE", &RankNumbers::local_size},
};

inline bool is_rank_variable(std::string_view name) noexcept {
  return std::any_of(std::begin(kRankVariables), std::end(kRankVariables),
                     [&](const RankVariable& one) { return name == one.name; });
}

// By such a variable a process would find another launcher that has started mpcrun, or another job
// of ours, and not that of the rank.
inline bool is_of_starter(std::string_view name) noexcept {
  return name == kMarkVariable || name == "PMI_FD" || name == "PMI_PORT" ||
         name.starts_with("PMIX_") || name.starts_with("OMPI_MCA_orte_") ||
         name.starts_with("OMPI_MCA_ess") || name == "OMPI_MCA_pmix";
}

// Removes what a starter has left for mpcrun itself, which is no rank.
inline void remove_rank_variables(std::vector<std::string>& environment) {
  std::erase_if(environment, [](std::string_view entry) {
    const std::string_view name = entry.substr(0, entry.find('='));
    return is_rank_variable(name) || is_of_starter(name);
  });
}

inline void add_rank_variables(std::vector<std::string>& environment,
                               const RankNumbers& numbers) {
  for (const RankVariable& one : kRankVariables)
    environment.push_back(std::string(one.name) + "=" +
                          std::to_string(numbers.*one.number));
}

// The same for this process, which finds our launcher by PMIx.
inline void set_rank_variables(const RankNumbers& numbers) {
  std::vector<std::string> others;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name(*entry, std::strcspn(*entry, "="));
    if (is_of_starter(name) && !name.starts_with("PMIX_")) others.emplace_back(name);
  }
  for (const std::string& name : others) ::unsetenv(name.c_str());
  for (const RankVariable& one : kRankVariables)
    ::setenv(one.name, std::to_string(numbers.*one.number).c_str(), 1);
}

}  // namespace mpc::job
