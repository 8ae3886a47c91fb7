#include "tools/mpcinfo/model_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace mpc::tools {

const ModelTable::Row* ModelTable::best() const {
  const auto lowest =
      std::min_element(rows.begin(), rows.end(),
                       [](const Row& a, const Row& b) { return a.best() < b.best(); });
  return lowest == rows.end() ? nullptr : &*lowest;
}

std::string as_csv(const ModelTable& table) {
  std::string out = "nproc,kind,N,H,C,blocking_plus_C";
  const size_t splits = table.rows.empty() ? 0 : table.rows[0].overlapped.size();
  const bool has_choice = !table.rows.empty() && table.rows[0].chosen_split >= 0;
  for (size_t s = 0; s < splits; ++s) out += fmt::format(",T_nonblocking_S{}", s);
  for (size_t s = 0; s < splits; ++s) out += fmt::format(",T_overlapped_S{}", s);
  out += has_choice ? ",best_S,chosen_S" : ",best_S";
  out += table.hosts > 1 ? ",hosts\n" : "\n";
  for (const ModelTable::Row& row : table.rows) {
    out += fmt::format("{},{},{},{},{:.6f},{:.6f}", table.cores, table.kind, row.ranks,
                       row.height, row.compute, row.compute + row.blocking);
    for (double time : row.nonblocking) out += fmt::format(",{:.8g}", time);
    for (double time : row.overlapped) out += fmt::format(",{:.6f}", time);
    out += fmt::format(",{}", row.best_split);
    if (has_choice) out += fmt::format(",{}", row.chosen_split);
    if (table.hosts > 1) out += fmt::format(",{}", table.hosts);
    out += '\n';
  }
  return out;
}

std::string as_text(const ModelTable& table) {
  constexpr size_t kShown = 5;
  const size_t splits =
      table.rows.empty() ? 0 : std::min(kShown, table.rows[0].overlapped.size());
  const bool has_choice = !table.rows.empty() && table.rows[0].chosen_split >= 0;
  const std::string hosts =
      table.hosts > 1 ? fmt::format("{} hosts of ", table.hosts) : std::string();
  std::string out =
      fmt::format("{}, {}{} cores, times in {} ({}), with computation\n\n", table.title,
                  hosts, table.cores, table.unit, table.kind);
  out += fmt::format("{:>6}{:>6}{:>12}", "ranks", "cores", "blocking");
  for (size_t s = 0; s < splits; ++s)
    out += fmt::format("{:>12}", fmt::format("S={}", s));
  out += fmt::format("{:>8}{}\n", "best S", has_choice ? "  chosen S" : "");
  for (const ModelTable::Row& row : table.rows) {
    out += fmt::format("{:>6}{:>6}{:>12.6g}", row.ranks, table.cores - row.ranks,
                       row.compute + row.blocking);
    for (size_t s = 0; s < splits; ++s)
      out += fmt::format("{:>12.6g}", row.overlapped[s]);
    out += fmt::format("{:>8}", row.best_split);
    if (has_choice) out += fmt::format("{:>10}", row.chosen_split);
    out += '\n';
  }
  if (const ModelTable::Row* best = table.best())
    out += fmt::format(
        "\nFastest{}: {} ranks, the other {} cores for communication, S={}: {:.6g} "
        "{}.\n"
        "(\"cores\" are those left for communication.)\n",
        table.hosts > 1 ? ", on each host" : "", best->ranks, table.cores - best->ranks,
        best->best_split, best->best(), table.unit);
  return out;
}

}  // namespace mpc::tools
