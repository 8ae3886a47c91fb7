#pragma once
// Child: one process of the job, as its launcher sees it.
//
// Role:      starts mpcrun once more, with a socket to talk by and the numbers of what it shares.
// Users:     tools/mpclaunch.
// Threads:   one.
// See also:  runtime/wireup/record.h.

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/wireup/record.h"

namespace mpc::launch {

struct Child {
  int index = 0;
  int first_rank = 0, last_rank = 0;
  pid_t pid = -1;
  int socket = -1;
  bool is_running = false;
  bool has_finished = false;  // its ranks have ended by themselves
  bool owes_table = false;
  std::string table;

  // "process 1 (ranks 4-7)".
  std::string name() const;
  // A process that is gone already does not matter.
  void order(wireup::Order order) const noexcept;
};

// What is alike for all.
struct StartOfChild {
  std::string program;           // mpcrun
  std::vector<char*> arguments;  // with the null behind the last
  int console_memory = -1;
  sigset_t signals{};  // the mask to start with
};

// `environment`: beside what this process has. Errors: kSystem.
Result<> start(Child& child, const StartOfChild& how,
               const std::vector<std::string>& environment);

}  // namespace mpc::launch
