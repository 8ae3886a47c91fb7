#include "runtime/job/openmp.h"

#include <cstdlib>
#include <string_view>

namespace mpc::job {
namespace {

// The value of `name`, or null.
const char* value_of(const std::vector<std::string>& environment,
                     std::string_view name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name) && entry[name.size()] == '=')
      return entry.c_str() + name.size() + 1;
  return nullptr;
}

bool has_llvm_openmp(const loader::Image& image) {
  return image.has_library("libomp.so") || image.has_library("libiomp5.so");
}

}  // namespace

bool has_openmp(const loader::Image& image) {
  return has_llvm_openmp(image) || image.has_library("libgomp.so");
}

bool has_openmp_threads(const loader::Image& image,
                        const std::vector<std::string>& environment) {
  if (!has_openmp(image)) return false;
  const char* threads = value_of(environment, "OMP_NUM_THREADS");
  return threads == nullptr || std::string_view(threads) != "1";
}

void let_openmp_wait(const loader::Image& image, std::vector<std::string>& environment,
                     UnitCounts units) {
  if (!image.has_library("libgomp.so")) return;  // LLVM's runtime detects that itself
  for (const char* name :
       {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"})
    if (value_of(environment, name) != nullptr) return;
  // A list is for nested levels; if it is no number, OpenMP complains itself.
  const char* wanted = value_of(environment, "OMP_NUM_THREADS");
  int threads = wanted != nullptr ? std::atoi(wanted) : 0;
  if (threads <= 0) threads = units.seen;
  if (threads > 1 && threads > units.own)
    environment.push_back("OMP_WAIT_POLICY=passive");
}

void allow_many_openmp(const loader::Image& image,
                       std::vector<std::string>& environment) {
  constexpr const char* kName = "KMP_DUPLICATE_LIB_OK";
  if (has_llvm_openmp(image) && value_of(environment, kName) == nullptr)
    environment.push_back(std::string(kName) + "=TRUE");
}

}  // namespace mpc::job
