#include "tools/mpcinfo/page.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "tools/mpcinfo/page_template.h"

namespace mpc::tools {
namespace {

// Within a <script> no data may look like its end, or like a comment.
std::string for_script(const Json& data) {
  std::string out;
  for (const char c : data.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string for_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (static_cast<unsigned char>(c) >= ' ')
      out += c;
  }
  return out;
}

}  // namespace

// The placeholders are in the template in this order; inserted text is not searched again.
std::string page_html(const std::string& title, const Json& trace,
                      const Json& profile) {
  const Json data = {{"trace", trace}, {"profile", profile}};
  const std::pair<std::string_view, std::string> places[] = {
      {"@TITLE@", for_html(title)},
      {"@STYLE@", kPageStyle},
      {"@DATA@", for_script(data)},
      {"@SCRIPT@", std::string(kPageLogic) + kPageView},
  };
  std::string_view rest = kPageFrame;
  std::string out;
  for (const auto& [name, text] : places) {
    const size_t at = rest.find(name);
    if (at == std::string_view::npos) break;
    out.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + name.size());
  }
  return out.append(rest);
}

std::string write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  return file ? "" : path + ": " + std::strerror(errno != 0 ? errno : EIO);
}

}  // namespace mpc::tools
