#include "runtime/wireup/ranks_variable.h"

#include <cstdlib>
#include <sstream>

#include "runtime/wireup/record.h"

namespace mpc::wireup {

std::string ranks_text(const RanksByHost& ranks) {
  std::string out;
  for (const std::vector<int>& host : ranks) {
    if (&host != &ranks.front()) out += ';';
    for (const int& number : host)
      out += (&number != &host.front() ? "," : "") + std::to_string(number);
  }
  return out;
}

RanksByHost parse_ranks(std::string_view text) {
  RanksByHost out;
  std::istringstream hosts{std::string(text)};
  for (std::string host; std::getline(hosts, host, ';');) {
    std::istringstream numbers(host);
    out.emplace_back();
    for (std::string number; std::getline(numbers, number, ',');)
      out.back().push_back(std::atoi(number.c_str()));
  }
  return out;
}

RanksByHost ranks_in_environment() {
  const char* const text = std::getenv(kRanksVariable);
  return parse_ranks(text != nullptr ? text : "");
}

}  // namespace mpc::wireup
