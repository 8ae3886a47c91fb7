#pragma once
// StartFrame: the description of the job that a daemon receives.
//
// Role:      the payload of Frame::kStart.
// Users:     tools/mpclaunch/head_hosts.cpp writes it, tools/mpclaunch/daemon.h reads it.
// Threads:   plain data.
// See also:  docs/cluster.md (what goes along to other hosts).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/mpclaunch/frame.h"

namespace mpc::launch {

struct StartFrame {
  std::string plan;             // encode()
  int host = 0;                 // of the plan: where the daemon is
  std::string job;              // its name
  std::string program;          // mpcrun
  std::string folder;           // where it runs
  bool has_one_output = false;  // standard output and error are the same file
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=VALUE
};

inline Packer pack(const StartFrame& start) {
  Packer out;
  out.text(start.plan).number(start.host).text(start.job).text(start.program);
  out.text(start.folder).number(start.has_one_output);
  for (const auto* list : {&start.arguments, &start.environment}) {
    out.number(static_cast<int64_t>(list->size()));
    for (const std::string& word : *list) out.text(word);
  }
  return out;
}

// Empty: the frame is damaged.
inline std::optional<StartFrame> unpack_start(std::string_view bytes) {
  Unpacker in(bytes);
  StartFrame start;
  start.plan = in.text();
  start.host = in.small();
  start.job = in.text();
  start.program = in.text();
  start.folder = in.text();
  start.has_one_output = in.number() != 0;
  for (auto* list : {&start.arguments, &start.environment})
    for (int64_t left = in.number(); left > 0 && in.is_whole(); --left)
      list->emplace_back(in.text());
  if (!in.is_whole()) return std::nullopt;
  return start;
}

}  // namespace mpc::launch
