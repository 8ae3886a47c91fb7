// What the first line of a script says, and which names are an interpreter's.
#include "runtime/job/script.h"

#include <gtest/gtest.h>

#include "runtime/job/interpreter.h"

namespace mpc::job {
namespace {

using Words = std::vector<std::string>;

TEST(Script, NamesItsInterpreterAndOneArgument) {
  EXPECT_EQ(words_of_script("#!/usr/bin/python3"), Words{"/usr/bin/python3"});
  EXPECT_EQ(words_of_script("#! /bin/python3 -u -B "),
            (Words{"/bin/python3", "-u -B"}));
  EXPECT_EQ(words_of_script("#!/usr/bin/awk\t-f"), (Words{"/usr/bin/awk", "-f"}));
  EXPECT_TRUE(words_of_script("#!").empty());
  EXPECT_TRUE(words_of_script("#!  ").empty());
  EXPECT_TRUE(words_of_script("print(1)").empty());
  EXPECT_TRUE(words_of_script("").empty());
}

TEST(Script, SaysWhatEnvWouldStart) {
  EXPECT_EQ(words_of_script("#!/usr/bin/env python3"), Words{"python3"});
  EXPECT_EQ(words_of_script("#!/usr/bin/env -S python3 -u  -B"),
            (Words{"python3", "-u", "-B"}));
  EXPECT_EQ(words_of_script("#!/usr/bin/env -Spython3"), Words{"python3"});
  EXPECT_EQ(words_of_script("#!/usr/bin/env -S A=1 python3"),
            (Words{"/usr/bin/env", "-S A=1 python3"}));
  EXPECT_EQ(words_of_script("#!/usr/bin/env -i"), (Words{"/usr/bin/env", "-i"}));
  EXPECT_EQ(words_of_script("#!/usr/bin/env"), Words{"/usr/bin/env"});
}

TEST(Interpreter, IsKnownByItsName) {
  for (const char* name :
       {"python", "python3", "/usr/bin/python3.11", "python3.13t", "/venv/bin/python",
        "python3.11d", "tclsh", "/usr/bin/tclsh8.6"})
    EXPECT_TRUE(is_interpreter(name)) << name;
  for (const char* name : {"pythonic", "python3-config", "ipython3", "python3.py",
                           "/usr/lib/python3/run", "pypy3", ""})
    EXPECT_FALSE(is_interpreter(name)) << name;
}

TEST(Interpreter, NamesTheLibraryOfAVersion) {
  EXPECT_EQ(library_of_interpreter("/usr/bin/python3.11"), "libpython3.11.so.1.0");
  EXPECT_EQ(library_of_interpreter("python3.13t"), "libpython3.13t.so.1.0");
  for (const char* name : {"python3", "python", "python3.", "ruby3.1", "python.3"})
    EXPECT_EQ(library_of_interpreter(name), "") << name;
}

}  // namespace
}  // namespace mpc::job
