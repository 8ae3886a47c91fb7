#include <unistd.h>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>

#include "parts.h"

#define CHECK(what) \
  if (!(what)) return __LINE__

// Unique in a process, which has several ranks.
template <class T>
struct Made {
  static inline T count{2};
};

namespace {

struct Counter {
  static inline int alive = 0;
  int value = 4;
  Counter() { ++alive; }
  ~Counter() { --alive; }
};
thread_local Counter counter;
thread_local std::string text = "thread";

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Failure() override = default;
};

struct Buffer : std::stringbuf {
  int sync() override { return std::stringbuf::sync(); }
};

std::string described(int number) {
  std::ostringstream out;
  out << std::setw(4) << number << ' ' << std::fixed << std::setprecision(2) << 1.5
      << ' ' << std::boolalpha << true;
  return out.str();
}

}  // namespace

int check_cxx(int number) {
  Made<int>::count += number;
  CHECK(described(7) == "   7 1.50 true");
  std::istringstream in("12 3.5 word");
  int i = 0;
  double d = 0;
  std::string s;
  in >> i >> d >> s;
  CHECK(i == 12 && d == 3.5 && s == "word");
  try {
    throw Failure(described(number));
  } catch (const std::runtime_error& e) {
    CHECK(e.what() == described(number) && typeid(e) == typeid(Failure));
  }
  try {
    (void)std::string().at(3);
    return __LINE__;
  } catch (const std::out_of_range&) {
  }
  std::cout << "cout of " << number << std::endl;
  std::cout << std::hex;
  usleep(5000);
  std::clog << "clog of " << number << '\n';
  CHECK(Made<int>::count == 2 + number);
  std::cerr << "cerr of " << number << '\n';
  std::ostringstream hexadecimal;
  hexadecimal.copyfmt(std::cout);
  hexadecimal << 255;
  CHECK(hexadecimal.str() == "ff");
  std::cout << std::dec;
  CHECK(std::use_facet<std::ctype<char>>(std::locale()).toupper('a') == 'A');
  CHECK(std::has_facet<std::numpunct<char>>(std::cout.getloc()));
  CHECK(std::regex_match("abc12", std::regex("[a-c]+[0-9]+")));
  Buffer buffer;
  std::ostream on_buffer(&buffer);
  on_buffer << "buffer " << number;
  CHECK(buffer.str() == "buffer " + std::to_string(number));
  counter.value += number;
  text += std::to_string(number);
  bool is_right = false;
  std::thread([&] {
    is_right = counter.value == 4 && text == "thread" && Counter::alive == 2;
  }).join();
  CHECK(is_right && Counter::alive == 1);
  CHECK(counter.value == 4 + number && text == "thread" + std::to_string(number));
  return 0;
}
