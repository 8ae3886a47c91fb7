#include "nbc/model/tuned_file.h"

#include <fmt/format.h>

#include "base/fnv.h"
#include "nbc/model/model_json.h"
#include "nbc/model/whole_file.h"

namespace mpc::nbc {

Result<Tuned> read_tuned(const std::string& path) {
  auto text = read_whole_file(path);
  if (!text) return text.error();
  auto tuned = tuned_from_json(*text);
  if (!tuned) return {tuned.error().code, path + ": " + tuned.error().message};
  return tuned;
}

Result<> write_tuned(const Tuned& tuned, const std::string& path) {
  return write_whole_file(to_json(tuned), path);
}

std::string tuned_path(const TunedMachine& machine) {
  const std::string folder = cache_folder();
  if (folder.empty()) return "";
  const uint64_t number = fnv_of(
      fmt::format("{}\n{}\n{}", machine.cpu, machine.cores, machine.fingerprint));
  return fmt::format("{}/tuned-{:016x}.json", folder, number);
}

}  // namespace mpc::nbc
