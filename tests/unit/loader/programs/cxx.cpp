// What C++ adds: inline and template statics (STB_GNU_UNIQUE), guards, vtables, constructors.
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "test_check.h"

inline int inline_variable = 5;
template <class T>
struct Template {
  static int count;
  static int& local() {
    static int value = 3;
    return value;
  }
};
template <class T>
int Template<T>::count = 11;
inline int& guarded() {
  static int value = test_rank() + 100;
  return value;
}
struct Object {
  explicit Object(const char* text) : name(text) { test_trace(name.c_str()); }
  ~Object() { test_trace(("~" + name).c_str()); }
  std::string name;
};
Object first("first");
Object second("second");
__attribute__((init_priority(200))) Object early("early");
std::map<std::string, int> map = {{"a", 1}, {"b", 2}};
thread_local std::vector<int> thread_vector = {1, 2, 3};

struct Base {
  virtual ~Base() = default;
  virtual int value() const { return 1; }
};
struct Derived final : Base {
  int value() const override { return 2; }
};

int main() {
  const int rank = test_rank();
  CHECK_THAT(inline_variable == 5);
  CHECK_THAT(Template<int>::count == 11 && Template<int>::local() == 3);
  CHECK_THAT(guarded() == rank + 100);
  inline_variable = Template<int>::count = Template<int>::local() = guarded() = rank;
  CHECK_THAT(first.name == "first" && map.size() == 2);
  map[std::to_string(rank)] = rank;
  CHECK_THAT(map.size() == 3);
  CHECK_THAT(thread_vector.size() == 3);
  thread_vector.resize(rank + 10);
  const std::unique_ptr<const Base> object(new Derived);
  const Base& base = *object;
  CHECK_THAT(base.value() == 2 && dynamic_cast<const Derived*>(&base) != nullptr);
  CHECK_THAT(typeid(base) == typeid(Derived));
  std::cout << std::flush;
  CHECK_THAT(inline_variable == rank && Template<int>::count == rank);
  CHECK_THAT(Template<int>::local() == rank && guarded() == rank);
  test_trace("main");
  return check_failures;
}
