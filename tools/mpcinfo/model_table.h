#pragma once
// ModelTable: a model's times for every number of ranks and every S, as CSV, text or a plot.
//
// Role:      the output of `mpcinfo model` and `simulate`.
// Users:     tools/mpcinfo.
// Threads:   one.
// See also:  docs/overlap-model.md.

#include <string>
#include <vector>

#include "base/result.h"

namespace mpc::tools {

struct ModelTable {
  struct Row {
    int ranks = 0, height = 0;
    double compute = 0, blocking = 0;
    std::vector<double> nonblocking, overlapped;  // by S
    int best_split = 0;
    int chosen_split = -1;  // -1: none was chosen
    double best() const { return overlapped[static_cast<size_t>(best_split)]; }
  };
  std::string title;  // "ibcast on knl64"
  std::string kind;   // "constant", "calibrated", "simulated"
  std::string unit;   // "transfers", "us"
  int cores = 0;      // of one host; ranks likewise
  int hosts = 1;
  std::vector<Row> rows;

  // The row with the lowest time; null if there is none.
  const Row* best() const;
};

// A line of names, then one line per N; the columns of the reference table, for a cluster also its
// hosts.
std::string as_csv(const ModelTable& table);
// For people: S = 0..3, the best S, and a sentence that names the best choice.
std::string as_text(const ModelTable& table);
// Plots T against N for every S with gnuplot, as SVG or PNG by the name's ending.
// Errors: kArg (another ending), kNotFound (no gnuplot), kSystem.
Result<> plot(const ModelTable& table, const std::string& path);

}  // namespace mpc::tools
