#pragma once
// Between the program plugins.cpp and the libraries that it opens.
#include <stdexcept>
#include <string>

// The program's, and the libraries see them (-rdynamic).
extern "C" int host_counter;
extern "C" void host_note(const char* what);  // appends to the rank's trace

struct HostError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct PluginError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One object per rank, whoever defines it.
template <class T>
struct Unique {
  static int value;
};
template <class T>
int Unique<T>::value = 1;
