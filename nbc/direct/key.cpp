#include "nbc/direct/key.h"

#include <fmt/format.h>

#include <cctype>

#include "base/mpi_handle_names.h"

namespace mpc::nbc::direct {
namespace {

std::string describe(uint64_t key) {
  const auto op_code = static_cast<uint8_t>(key >> 8);
  if (op_code == kSplits) return "MPI_Comm_split or a call of its kind";
  std::string name = name_of(static_cast<Coll>(key & 0xff));
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  if (bytes_of(key) == 0) return "MPI_" + name;
  return fmt::format(
      "MPI_{} of {} bytes{}", name, bytes_of(key),
      op_code != 0 ? fmt::format(", {}", abi::handle_name(op_code)) : "");
}

}  // namespace

std::string difference(int rank, uint64_t key, int other, uint64_t other_key) {
  return fmt::format("rank {} calls {} while rank {} calls {}", rank, describe(key),
                     other, describe(other_key));
}

}  // namespace mpc::nbc::direct
