#pragma once
// Card: what each process of a job tells the others about itself before ranks run.
//
// Role:      which ranks it has and on which workers; whether it runs with the
//            same settings. Everything that processes conclude separately, and
//            must conclude alike, is checked here first.
// Users:     runtime/job/node_job_processes.cpp.
// Threads:   the process's main thread.
// See also:  runtime/wireup/wireup.h; docs/cluster.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/job/process_map.h"
#include "runtime/wireup/place.h"
#include "runtime/wireup/wireup.h"

namespace mpc::job {

struct Card {
  int ranks = 0;  // of the job
  RankRange local;
  int application_workers = 0;
  int cores = 0;             // that its ranks may use
  uint64_t host = 0;         // host_identity()
  uint64_t settings = 0;     // fnv_of(settings_text())
  std::vector<int> workers;  // of each local rank
  // build_of() the library, then of each program of the job; 0: not known here. The same number of
  // them in all processes.
  std::vector<uint64_t> builds;
};

wireup::Bytes encode(const Card& card);
// Errors: kSystem: these bytes are no card.
Result<Card> decode(const wireup::Bytes& bytes);

// The settings that decide how ranks talk to each other, one "name=value" per line.
std::string settings_text();
// "nbc.arity=4 (there nbc.arity=2)" for the first difference; "": none.
std::string first_difference(std::string_view here, std::string_view there);

using wireup::host_identity;

// The cores of all hosts; processes of one host may use the same ones.
int cores_of(const std::vector<Card>& cards);

// A sentence about the first of these things, named as in `builds`, of which a process has another build
// than process 0; "": there is none.
std::string other_build(const std::vector<Card>& cards,
                        const std::vector<std::string>& names);

// Waits for all processes. Errors: kArg: they do not fit together, and why; kSystem.
Result<std::vector<Card>> exchange_cards(wireup::Wireup& wireup, const Card& mine);

}  // namespace mpc::job
