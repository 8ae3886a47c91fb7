#pragma once
// FirstLine: the line that a daemon reads from its standard input.
//
// Role:      which host it is, its secret, where the head of its job listens.
// Users:     tools/mpclaunch/hosts.cpp writes it, tools/mpclaunch/connect.cpp reads it.
// Threads:   plain data.
// See also:  tools/mpclaunch/secret.h.

#include <sstream>
#include <string>
#include <vector>

#include "tools/mpclaunch/secret.h"

namespace mpc::launch {

struct FirstLine {
  int host = -1;
  Secret secret{};
  int port = 0;
  std::vector<std::string> addresses;
};

inline constexpr size_t kMostFirstLineBytes = 4096;
inline constexpr char kFirstWord[] = "mpclaunch1";

inline std::string first_line(int host, const Secret& secret, int port,
                              const std::string& addresses) {
  std::ostringstream out;
  out << kFirstWord << ' ' << host << ' ' << text_of(secret) << ' ' << port << ' '
      << addresses;
  std::string line = out.str();
  if (line.size() >= kMostFirstLineBytes)  // the last addresses are the least likely
    line.resize(line.rfind(' ', kMostFirstLineBytes - 1));
  return line + '\n';
}

inline bool read_first_line(const std::string& text, FirstLine* out) {
  std::istringstream in(text);
  std::string word, secret;
  if (!(in >> word >> out->host >> secret >> out->port) || word != kFirstWord ||
      !read_secret(secret, &out->secret))
    return false;
  while (in >> word) out->addresses.push_back(word);
  return true;
}

}  // namespace mpc::launch
