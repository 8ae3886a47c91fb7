// Plots with gnuplot: its input goes through a pipe, with the data inline, so that no file is left.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "tools/mpcinfo/model_table.h"

namespace mpc::tools {

namespace {

struct Series {
  std::string name, style;
  std::vector<std::pair<int, double>> points;
};

std::vector<Series> series_of(const ModelTable& table) {
  std::vector<Series> all;
  Series compute{"computation alone", "lines dt 3 lc rgb '#999999'", {}};
  Series blocking{"computation, then blocking", "lines dt 2 lw 2 lc rgb '#444444'", {}};
  for (const auto& row : table.rows) {
    compute.points.emplace_back(row.ranks, row.compute);
    blocking.points.emplace_back(row.ranks, row.compute + row.blocking);
  }
  all.push_back(compute);
  all.push_back(blocking);
  const char* colours[] = {"#1f77b4", "#ff7f0e", "#9467bd", "#2ca02c",
                           "#d62728", "#8c564b", "#17becf"};
  const size_t splits = table.rows.empty() ? 0 : table.rows[0].overlapped.size();
  for (size_t s = 0; s < splits; ++s) {
    Series one{fmt::format("overlapped, S={}", s),
               fmt::format("linespoints pt 7 ps 0.3 lc rgb '{}'",
                           colours[s % std::size(colours)]),
               {}};
    for (const auto& row : table.rows)
      one.points.emplace_back(row.ranks, row.overlapped[s]);
    all.push_back(one);
  }
  if (!table.rows.empty() && table.rows[0].chosen_split >= 0) {
    Series chosen{
        "S chosen by the model", "points pt 6 ps 0.9 lw 1.5 lc rgb 'black'", {}};
    for (const auto& row : table.rows)
      chosen.points.emplace_back(row.ranks,
                                 row.overlapped[static_cast<size_t>(row.chosen_split)]);
    all.push_back(chosen);
  }
  return all;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// The range of the plot is where communication decides: N from a third of the cores on, times up to
// three times the best one.
std::string script(const ModelTable& table, const std::string& terminal,
                   const std::string& path) {
  std::string out = fmt::format(
      "set terminal {}\nset output {}\nset title {} noenhanced\nset xlabel 'ranks "
      "(of {} cores; the others do communication)'\n"
      "set ylabel 'time of computation and communication ({})'\nset grid\n"
      "set key outside right\n",
      terminal, quoted(path), quoted(fmt::format("{} ({})", table.title, table.kind)),
      table.cores, table.unit);
  if (const auto* best = table.best()) {
    out += fmt::format("set yrange [0:{}]\n", 3 * best->best());
    const int first = std::max(table.rows.front().ranks, table.cores / 3);
    if (first < table.cores)
      out += fmt::format("set xrange [{}:{}]\n", first, table.cores);
  }
  const std::vector<Series> all = series_of(table);
  std::string plots;
  for (size_t i = 0; i < all.size(); ++i) {
    out += fmt::format("$data{} << EOD\n", i);
    for (const auto& [x, y] : all[i].points) out += fmt::format("{} {:.8g}\n", x, y);
    out += "EOD\n";
    plots += fmt::format("{}$data{} using 1:2 with {} title {}",
                         i == 0 ? "plot " : ", ", i, all[i].style, quoted(all[i].name));
  }
  return out + plots + "\n";
}

// Feeds `input` to gnuplot.
Result<> run_gnuplot(const std::string& input) {
  if (std::system("command -v gnuplot >/dev/null 2>&1") != 0)
    return {Errc::kNotFound,
            "plots need gnuplot, which is not in PATH (Debian: apt-get install "
            "gnuplot-nox); "
            "--csv prints the same numbers"};
  std::signal(SIGPIPE, SIG_IGN);  // a gnuplot that ends early shows in its exit status
  std::FILE* pipe = popen("gnuplot", "w");
  if (pipe == nullptr)
    return {Errc::kSystem,
            fmt::format("cannot start gnuplot: {}", std::strerror(errno))};
  std::fwrite(input.data(), 1, input.size(), pipe);
  const int status = pclose(pipe);
  if (status != 0)
    return {Errc::kSystem,
            fmt::format("gnuplot failed with status {}",
                        WIFEXITED(status) ? WEXITSTATUS(status) : status)};
  return {};
}

}  // namespace

Result<> plot(const ModelTable& table, const std::string& path) {
  std::string terminal;
  if (path.ends_with(".svg")) terminal = "svg size 1000,600 dynamic background 'white'";
  if (path.ends_with(".png")) terminal = "pngcairo size 1000,600";
  if (terminal.empty())
    return {Errc::kArg,
            fmt::format("plot '{}': the name must end in .svg or .png", path)};
  if (table.rows.empty())
    return {Errc::kArg, "nothing to plot: the machine has fewer than three cores"};
  return run_gnuplot(script(table, terminal, path));
}

}  // namespace mpc::tools
