#include "nbc/model/machine_file.h"

#include "nbc/model/model_json.h"
#include "nbc/model/whole_file.h"

namespace mpc::nbc {

Result<Parameters> read_parameters(const std::string& path) {
  auto text = read_whole_file(path);
  if (!text) return text.error();
  auto parameters = parameters_from_json(*text);
  if (!parameters)
    return {parameters.error().code, path + ": " + parameters.error().message};
  return parameters;
}

Result<> write_parameters(const Parameters& parameters, const std::string& path) {
  return write_whole_file(to_json(parameters), path);
}

std::string parameters_path(const std::string& fingerprint) {
  const std::string folder = cache_folder();
  return folder.empty() ? "" : folder + "/machine-" + fingerprint + ".json";
}

}  // namespace mpc::nbc
