#include "tools/mpcinfo/profile_file.h"

#include <stdexcept>

#include "base/json_integer.h"

namespace mpc::tools {
namespace {

constexpr int kMostRanks = 1 << 20;

void check(bool is_right, const char* what) {
  if (!is_right) throw std::out_of_range(what);
}

// Numbers of a row that are possible: a rank, an amount.
int rank_in(const Json& row, size_t at, int least, int ranks) {
  return static_cast<int>(integer_in(row.at(at), least, ranks - 1, "a rank"));
}
int64_t amount_in(const Json& row, size_t at) {
  return integer_in(row.at(at), 0, kMostNumber, "an amount");
}

profile::Profile numbers_of(const Json& file) {
  check(file.at("profile") == 1, "profile");
  profile::Profile out;
  out.program = file.at("program").get<std::string>();
  out.ranks = static_cast<int>(integer_in(file.at("ranks"), 0, kMostRanks, "ranks"));
  out.seconds = file.at("seconds").get<double>();
  out.samples = integer_in(file.at("samples"), 0, kMostNumber, "samples");
  check(file.at("states").size() == profile::kStates, "states");
  for (const Json& row : file.at("times_ns")) {
    profile::RankTimes times;
    times.rank = rank_in(row, 0, 0, out.ranks);
    for (size_t i = 0; i < times.ns.size(); ++i) times.ns[i] = amount_in(row, i + 1);
    out.times.push_back(times);
  }
  for (const Json& row : file.at("calls"))
    out.calls.push_back({rank_in(row, 0, 0, out.ranks), rank_in(row, 1, -1, out.ranks),
                         row.at(2).get<std::string>(), amount_in(row, 3),
                         amount_in(row, 4)});
  for (const Json& row : file.at("messages"))
    out.messages.push_back({rank_in(row, 0, 0, out.ranks),
                            rank_in(row, 1, -1, out.ranks),
                            static_cast<uint64_t>(amount_in(row, 2)),
                            static_cast<uint64_t>(amount_in(row, 3))});
  return out;
}

}  // namespace

Result<ProfileFile> read_profile(const std::string& path) {
  ProfileFile out;
  MPC_TRY(load_json(path, "mpcrun --profile-file", [&](const Json& file) {
    out.numbers = numbers_of(file);
    out.json = file;
  }));
  return out;
}

}  // namespace mpc::tools
