// std::cin, cout and their companions: the state of one rank's is not the others'.
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

#include "host_api.h"

namespace {

bool is_odd() { return test_rank() % 2 == 1; }

void yield_often() {
  for (int i = 0; i < 20; ++i) test_yield();
}

// Before main(): the streams are there when constructors run.
struct AtStart {
  AtStart() { std::cout << std::hex << std::dec; }
} at_start;

void check_state() {
  if (is_odd()) {
    std::cin.setstate(std::ios_base::eofbit | std::ios_base::failbit);
    std::cout << std::hex << std::setfill('*');
    std::wcout.setstate(std::ios_base::failbit);
    std::cerr.exceptions(std::ios_base::badbit);
  }
  yield_often();
  CHECK_THAT(std::cin.good() == !is_odd());
  CHECK_THAT(((std::cout.flags() & std::ios_base::hex) != 0) == is_odd());
  CHECK_THAT((std::cout.fill() == '*') == is_odd());
  CHECK_THAT(std::wcout.good() == !is_odd());
  CHECK_THAT((std::cerr.exceptions() == std::ios_base::badbit) == is_odd());
  std::cout << std::dec << std::setfill(' ');
  std::cin.clear();
}

void check_ties() {
  CHECK_THAT(std::cin.tie() == &std::cout && std::cerr.tie() == &std::cout);
  CHECK_THAT((std::cerr.flags() & std::ios_base::unitbuf) != 0);
  std::ostringstream own;
  std::streambuf* before = std::cout.rdbuf(own.rdbuf());
  yield_often();
  std::cout << "rank " << test_rank();
  CHECK_THAT(own.str() == "rank " + std::to_string(test_rank()));
  std::cout.rdbuf(before);
}

}  // namespace

// The job's input is "0 1 2 ... 99\n" for rank 0, and empty for the others.
int main() {
  check_state();
  check_ties();
  if (is_odd()) CHECK_THAT(std::ios_base::sync_with_stdio(false));
  yield_often();
  int count = 0;
  for (int value; std::cin >> value; yield_often()) CHECK_THAT(value == count++);
  CHECK_THAT(std::cin.eof() && count == (test_rank() == 0 ? 100 : 0));
  for (int i = 0; i < 10; ++i) {  // whole lines, buffered or not
    std::cout << test_rank() << " says ";
    yield_often();
    std::cout << "line " << i << '\n';
  }
  return check_failures;
}
