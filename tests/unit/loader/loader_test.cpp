#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "runtime/loader/image.h"
#include "runtime/loader/rank_linker.h"
#include "test_api.h"

namespace mpc::loader {
namespace {

std::string program(const std::string& name) { return PROGRAMS "/" + name; }

std::unique_ptr<Image> open_image(const std::string& name, ImageOptions options = {}) {
  auto image = Image::open(program(name), options);
  EXPECT_TRUE(image.ok()) << image.error().message;
  return image.ok() ? std::move(*image) : nullptr;
}

std::vector<ProgramInstance*> load_instances(Image& image, int count) {
  std::vector<ProgramInstance*> instances;
  for (int rank = 0; rank < count; ++rank) {
    auto instance = image.load_instance(rank);
    EXPECT_TRUE(instance.ok()) << instance.error().message;
    if (instance.ok()) instances.push_back(*instance);
  }
  return instances;
}

char* find(ProgramInstance& instance, const char* symbol) {
  const auto found = instance.linker().symbol(RTLD_DEFAULT, symbol, "", nullptr);
  EXPECT_TRUE(found.ok()) << found.error().message;
  return found.ok() ? static_cast<char*>(*found) : nullptr;
}

// All copies at once, each on its own thread; their exit statuses.
std::vector<int> run_instances(const std::vector<ProgramInstance*>& instances,
                               const char* argument) {
  std::vector<int> statuses(instances.size(), -1);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < instances.size(); ++i)
    threads.emplace_back([&, i] {
      test_set_rank(instances[i]->rank());
      std::string name = "program", word = argument != nullptr ? argument : "";
      char* argv[] = {name.data(), argument != nullptr ? word.data() : nullptr,
                      nullptr};
      statuses[i] = instances[i]->run_main(argument != nullptr ? 2 : 1, argv, environ);
    });
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

void expect_all_succeed(const std::string& name, int count, const char* argument,
                        ImageOptions options = {}) {
  test_clear_traces();
  const auto image = open_image(name, options);
  ASSERT_NE(image, nullptr);
  const auto instances = load_instances(*image, count);
  EXPECT_EQ(run_instances(instances, argument), std::vector<int>(instances.size(), 0))
      << name;
}

class Copies : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Counts, Copies, testing::Values(1, 3, 50));

TEST_P(Copies, HaveTheirOwnGlobalsInC) {
  expect_all_succeed("globals", GetParam(), "argument");
}
TEST_P(Copies, HaveTheirOwnGlobalsWithoutOptimisation) {
  expect_all_succeed("globals_O0", GetParam(), "argument");
}
TEST_P(Copies, HaveTheirOwnLargeZeroedData) {
  expect_all_succeed("globals_large", GetParam(), "argument");
}
TEST_P(Copies, HaveTheirOwnGlobalsWhenHiddenAndStripped) {
  expect_all_succeed("globals_hidden", GetParam(), "argument");
}
TEST_P(Copies, HaveTheirOwnGlobalsWithPackedRelocations) {
  expect_all_succeed("globals_relr", GetParam(), "argument");
}
TEST_P(Copies, HaveTheirOwnInlineAndTemplateStaticsInCxx) {
  expect_all_succeed("cxx", GetParam(), nullptr);
  for (int rank = 0; rank < GetParam(); ++rank)
    EXPECT_EQ(std::string(test_get_trace(rank)),
              "early first second main ~second ~first ~early ");
}
TEST_P(Copies, HaveTheirOwnUserLibraries) {
  expect_all_succeed("with_library", GetParam(), nullptr);
  for (int rank = 0; rank < GetParam(); ++rank)
    EXPECT_EQ(std::string(test_get_trace(rank)),
              "second+ lib+ program+ program- lib- second- ");
}
TEST_P(Copies, HaveTheirOwnPreloadedLibrariesThatComeFirst) {
  expect_all_succeed("with_library", GetParam(), "preloaded",
                     {.preload = {program("libpreloaded.so")}});
}
TEST_P(Copies, RunIndirectFunctionsAndKeepAlignment) {
  expect_all_succeed("special", GetParam(), nullptr);
}
#ifdef HAS_FORTRAN
TEST_P(Copies, HaveTheirOwnFortranVariables) {
  expect_all_succeed("fortran", GetParam(), nullptr);
}
#endif
#ifdef HAS_CLANG
TEST_P(Copies, HaveTheirOwnGlobalsBuiltByClang) {
  expect_all_succeed("globals_clang", GetParam(), "argument");
}
#endif
#ifdef HAS_LLD
TEST_P(Copies, HaveTheirOwnGlobalsLinkedByLld) {
  expect_all_succeed("globals_lld", GetParam(), "argument");
}
#endif

TEST(ProgramInstance, RunsConstructorsMainAndDestructorsOnceInOrder) {
  test_clear_traces();
  const auto image = open_image("hooks");
  const auto instances = load_instances(*image, 3);
  EXPECT_EQ(run_instances(instances, nullptr), std::vector<int>(3, 9));
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(std::string(test_get_trace(rank)), "c200 c main d d200 ");
}

TEST(ProgramInstance, ExitsFromANestedCallWithTheLowByteOfTheStatus) {
  test_clear_traces();
  test_set_exit([](int status) { running_instance()->exit(status); });
  const auto image = open_image("hooks");
  const auto instances = load_instances(*image, 3);
  EXPECT_EQ(run_instances(instances, "exit"), std::vector<int>(3, (300 + 5) & 0xff));
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(std::string(test_get_trace(rank)), "c200 c main d d200 ");
}

TEST(ProgramInstance, ExitsAtOnceWithoutHandlers) {
  test_clear_traces();
  test_set_exit([](int status) { running_instance()->exit_now(status); });
  const auto image = open_image("hooks");
  const auto instances = load_instances(*image, 1);
  EXPECT_EQ(run_instances(instances, "exit"), std::vector<int>(1, (300 + 5) & 0xff));
  EXPECT_EQ(std::string(test_get_trace(0)), "c200 c main ");
}

TEST(ProgramInstance, RunsExitEntriesLastInFirstOut) {
  const auto image = open_image("hooks");
  ProgramInstance* instance = load_instances(*image, 1)[0];
  static std::string order;
  order.clear();
  const auto add = [&](const char* word) {
    instance->at_exit({ExitEntry::Kind::kCxa, reinterpret_cast<void*>(+[](void* text) {
                         order += static_cast<const char*>(text);
                       }),
                       const_cast<char*>(word), instance->base()});
  };
  add("a");
  add("b");
  instance->at_exit({ExitEntry::Kind::kOnExit,
                     reinterpret_cast<void*>(
                         +[](int status, void*) { order += std::to_string(status); }),
                     nullptr, nullptr});
  run_instances({instance}, nullptr);
  EXPECT_EQ(order, "9ba");
}

TEST(Image, TwoProgramsRunInOneProcess) {
  test_clear_traces();
  const auto one = open_image("globals");
  const auto two = open_image("cxx");
  const auto three = open_image("globals");  // the same file once more
  auto instances = load_instances(*one, 3);
  for (ProgramInstance* instance : load_instances(*three, 3))
    instances.push_back(instance);
  EXPECT_EQ(run_instances(instances, "argument"), std::vector<int>(6, 0));
  EXPECT_EQ(run_instances(load_instances(*two, 3), nullptr), std::vector<int>(3, 0));
}

TEST(Image, CostsAtMostThreeMappingsPerCopy) {
  EXPECT_LE(open_image("globals")->maps_per_instance(), 2);
  EXPECT_LE(open_image("cxx")->maps_per_instance(), 2);
  EXPECT_LE(open_image("globals_large")->maps_per_instance(), 3);
  const auto count_lines = [] {
    std::ifstream maps("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  };
  const auto image = open_image("globals");
  ASSERT_TRUE(image->reserve(500).ok());
  const auto before = count_lines();
  load_instances(*image, 500);
  EXPECT_LE(count_lines() - before, 2 * 500 + 8);
}

TEST(Image, SharesWhatACopyDoesNotChange) {
  const auto rss_kib = [] {
    std::ifstream file("/proc/self/smaps_rollup");
    std::string line;
    while (std::getline(file, line))
      if (line.starts_with("Pss:")) return std::stol(line.substr(4));
    return 0L;
  };
  const auto image = open_image("globals_large");
  load_instances(*image, 10);
  const long before = rss_kib();
  load_instances(*image, 200);
#ifdef __SANITIZE_THREAD__
  constexpr long kWithShadow =
      6;  // four bytes of shadow and half a byte of meta for each
#else
  constexpr long kWithShadow = 1;
#endif
  EXPECT_LT((rss_kib() - before) / 200, 64 * kWithShadow);  // of 10 MB each
}

TEST(Image, FindsCopiesAndSymbolsByAddress) {
  const auto image = open_image("with_library");
  const auto instances = load_instances(*image, 20);
  for (ProgramInstance* instance : instances) {
    char* symbol = find(*instance, "program_callback");
    ASSERT_NE(symbol, nullptr);
    EXPECT_EQ(find_instance(symbol), instance);
    const AddressInfo info = describe_address(symbol + 2);
    EXPECT_EQ(info.rank, instance->rank());
    EXPECT_EQ(std::string(info.path), program("with_library"));
    ASSERT_NE(info.symbol, nullptr);
    EXPECT_EQ(std::string(info.symbol), "program_callback");
    EXPECT_EQ(info.symbol_offset, 2U);
    char* library = find(*instance, "library_add");
    EXPECT_EQ(std::string(describe_address(library).path), program("other/libuser.so"));
    EXPECT_EQ(instance->from_master(instance->to_master(library)), library);
  }
  int local;
  EXPECT_EQ(find_instance(&local), nullptr);
  EXPECT_EQ(find_instance(nullptr), nullptr);
  EXPECT_EQ(describe_address(reinterpret_cast<void*>(&std::printf)).rank, -1);
}

// What a rank opens later and that cannot be its own: the reason, as dlerror() gives it.
std::string refusal(ProgramInstance& instance, const std::string& name) {
  const auto opened = instance.linker().open(name, RTLD_LAZY, nullptr);
  EXPECT_FALSE(opened.ok()) << name;
  return opened.ok() ? "" : opened.error().message;
}

TEST(Plugin, IsRefusedWithTheReason) {
  const auto image = open_image("with_library");
  const auto instances = load_instances(*image, 2);
  for (ProgramInstance* instance : instances) {
    const auto has = [&](const std::string& name, const std::string& text) {
      const std::string message = refusal(*instance, name);
      EXPECT_NE(message.find(text), std::string::npos) << message;
    };
    has(program("plain_pie"),
        "cannot dynamically load position-independent executable");
    has(program("plain_no_pie"), "cannot dynamically load executable");
    has(program("plain_object"), "object file");
    has(program("libtext_relocation.so"), "text relocations");
    has(program("libother_mpi.so"), "another MPI");
    has(program("nowhere.so"), "No such file or directory");
    has("libnowhere.so.1", "No such file or directory");
  }
}

TEST(Plugin, IsAHandleOfTheRankAlone) {
  const auto image = open_image("with_library");
  const auto instances = load_instances(*image, 2);
  std::vector<void*> handles;
  for (ProgramInstance* instance : instances) {
    const auto first =
        instance->linker().open(program("libpreloaded.so"), RTLD_NOW, nullptr);
    ASSERT_TRUE(first.ok()) << first.error().message;
    const auto again =
        instance->linker().open(program("libpreloaded.so"), RTLD_LAZY, nullptr);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*first, *again);
    handles.push_back(*first);
  }
  EXPECT_NE(handles[0], handles[1]);
  LoadedModule* module = instances[0]->linker().module_of_handle(handles[0]);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(instances[1]->linker().module_of_handle(handles[0]), nullptr);
  EXPECT_EQ(find_instance(module->base + 1), instances[0]);
  EXPECT_EQ(describe_address(module->base + 1).rank, 0);
  char* base = module->base;
  EXPECT_TRUE(instances[0]->linker().close(handles[0]).ok());
  EXPECT_EQ(find_instance(base + 1), instances[0]);
  EXPECT_TRUE(instances[0]->linker().close(handles[0]).ok());
  EXPECT_EQ(find_instance(base + 1), nullptr);
  EXPECT_FALSE(instances[0]->linker().close(handles[0]).ok());
  EXPECT_NE(instances[1]->linker().module_of_handle(handles[1]), nullptr);
}

TEST(Image, LoadsCopiesFromSeveralThreads) {
  const auto image = open_image("globals");
  std::vector<std::thread> threads;
  std::atomic<int> loaded{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i)
        loaded +=
            image->load_instance(t * 50 + i).ok();  // sequentially consistent: a test
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loaded, 200);
}

// --- refusals: the reason and the way out ---

struct Refusal {
  const char* name;
  const char* program;
  Errc code;
  const char* reason;
  const char* way_out;
};

class Refuses : public testing::TestWithParam<Refusal> {};

TEST_P(Refuses, WithReasonAndWayOut) {
  const Refusal& r = GetParam();
  const std::string path = r.program[0] == '/' ? r.program : program(r.program);
  const auto image = Image::open(path);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().code, r.code) << image.error().message;
  EXPECT_NE(image.error().message.find(r.reason), std::string::npos)
      << image.error().message;
  EXPECT_NE(image.error().message.find(r.way_out), std::string::npos)
      << image.error().message;
  EXPECT_NE(image.error().message.find(path), std::string::npos)
      << image.error().message;
}

constexpr const char* kMpcc = "compile and link it with mpcc";
INSTANTIATE_TEST_SUITE_P(
    Programs, Refuses,
    testing::Values(
        Refusal{"Missing", "no_such_program", Errc::kNotFound, "No such file", ""},
        Refusal{"Directory", "/tmp", Errc::kPermission, "directory", ""},
        Refusal{"Script", "script", Errc::kImage, "is a script", "built by mpcc"},
        Refusal{"Text", "text", Errc::kImage, "is not a program", ""},
        Refusal{"Empty", "empty", Errc::kImage, "is empty", ""},
        Refusal{"NotExecutable", "not_executable", Errc::kPermission, "not executable",
                "chmod +x"},
        Refusal{"Static", "plain_static", Errc::kImage, "statically linked", kMpcc},
        Refusal{"NoPie", "plain_no_pie", Errc::kImage, "fixed address", kMpcc},
        Refusal{"Pie", "plain_pie", Errc::kImage, "not built by mpcc", kMpcc},
        Refusal{"CopyRelocation", "plain_copy", Errc::kImage, "'stdout'", kMpcc},
        Refusal{"LocalExecTls", "plain_tls", Errc::kImage, "thread_local", kMpcc},
        Refusal{"Object", "plain_object", Errc::kImage, "object file",
                "link it with mpcc"},
        Refusal{"SharedLibrary", "plain_shared", Errc::kImage, "shared library", kMpcc},
        Refusal{"TextRelocation", "text_relocation", Errc::kImage, "text relocations",
                "-fPIC"},
        Refusal{"OtherMpi", "other_mpi", Errc::kImage, "another MPI (libmpich.so.12)",
                kMpcc}),
    [](const auto& tested) { return tested.param.name; });

// Files that no compiler makes. Each test is a process of its own, several run at once, and all
// make these files: a file gets its name when it is whole.
class Environment : public testing::Environment {
  void SetUp() override {
    make("script", "#!/bin/sh\nexit 0\n", 0755);
    make("text", "hello, this is some text and no program at all\n", 0755);
    make("empty", "", 0755);
    std::ifstream from(program("globals"), std::ios::binary);
    make("not_executable", std::string(std::istreambuf_iterator<char>(from), {}), 0644);
  }
  static void make(const char* name, const std::string& content, mode_t mode) {
    const std::string whole = program(name),
                      part = whole + "." + std::to_string(::getpid());
    std::ofstream(part, std::ios::binary) << content;
    ASSERT_EQ(::chmod(part.c_str(), mode), 0);
    ASSERT_EQ(::rename(part.c_str(), whole.c_str()), 0);
  }
};
[[maybe_unused]] auto* const g_environment =
    testing::AddGlobalTestEnvironment(new Environment);

TEST(Image, RefusesAProgramWhoseLibraryIsMissing) {
  const auto duplicate = program("library_missing");
  std::ifstream from(program("with_library"), std::ios::binary);
  std::ofstream(duplicate, std::ios::binary) << from.rdbuf();
  ::chmod(duplicate.c_str(), 0755);
  ASSERT_EQ(::mkdir(program("nowhere").c_str(), 0755) == 0 || errno == EEXIST, true);
  const std::string moved = program("nowhere/library_missing");
  ASSERT_EQ(::rename(duplicate.c_str(), moved.c_str()), 0);
  const auto image = Image::open(moved);
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.error().message.find("libuser.so"), std::string::npos)
      << image.error().message;
}

}  // namespace
}  // namespace mpc::loader
