// A library in C++ for a program that is not: its constructors print, too.
#include <iostream>
#include <string>

namespace {
struct Noted {
  Noted() {
    std::cout << "constructor" << std::endl;
    std::wclog.setf(std::ios_base::hex, std::ios_base::basefield);
  }
  ~Noted() { std::cout << "destructor" << std::endl; }
} noted;
}  // namespace

// The number of integers in standard input; -1: the streams are not as they should be.
extern "C" int streams_count(int rank) {
  for (int i = 0; i < 10; ++i) std::cout << rank << " says line " << i << std::endl;
  std::wcerr << L"";
  if (!std::cout.good() || !std::cerr.good() || !std::wcerr.good()) return -1;
  if (std::cin.tie() != &std::cout || (std::wclog.flags() & std::ios_base::hex) == 0)
    return -1;
  int count = 0;
  for (int value; std::cin >> value;) ++count;
  return std::cin.eof() ? count : -1;
}
