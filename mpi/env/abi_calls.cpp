// Bodies of the chapter on the ABI in MPI 5.0: what the library knows about Fortran.
//
// The Fortran bindings of this library are those of mpcfort, whose compiler is GNU Fortran, so
// everything is known from the start. A foreign Fortran layer may set the same values again, but
// no others.

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "mpi/impl/abi.h"
#include "mpi/objects/info.h"
#include "mpi/objects/lookup.h"

namespace mpc::mpi::impl {
namespace {

constexpr int kTrue = 1, kFalse = 0;  // GNU Fortran's, for every size of LOGICAL
constexpr int kLogicalSize = 4;

// Checks the size of LOGICAL in this library's bindings.
Err check_size(int size) {
  if (size == kLogicalSize) return kSuccess;
  return fail(MPI_ERR_ABI,
              fmt::format("LOGICAL has {} bytes here, not {}", kLogicalSize, size));
}

struct OptionalType {
  const char* key;
  MPI_Datatype type;
};

// Not constexpr: handles are addresses in C++.
InfoHints fortran_facts() {
  const OptionalType optional[] = {
      {"mpi_logical1_supported", MPI_LOGICAL1},
      {"mpi_logical2_supported", MPI_LOGICAL2},
      {"mpi_logical4_supported", MPI_LOGICAL4},
      {"mpi_logical8_supported", MPI_LOGICAL8},
      {"mpi_logical16_supported", MPI_LOGICAL16},
      {"mpi_integer1_supported", MPI_INTEGER1},
      {"mpi_integer2_supported", MPI_INTEGER2},
      {"mpi_integer4_supported", MPI_INTEGER4},
      {"mpi_integer8_supported", MPI_INTEGER8},
      {"mpi_integer16_supported", MPI_INTEGER16},
      {"mpi_real2_supported", MPI_REAL2},
      {"mpi_real4_supported", MPI_REAL4},
      {"mpi_real8_supported", MPI_REAL8},
      {"mpi_real16_supported", MPI_REAL16},
      {"mpi_complex4_supported", MPI_COMPLEX4},
      {"mpi_complex8_supported", MPI_COMPLEX8},
      {"mpi_complex16_supported", MPI_COMPLEX16},
      {"mpi_complex32_supported", MPI_COMPLEX32},
      {"mpi_double_complex_supported", MPI_DOUBLE_COMPLEX},
  };
  InfoHints facts;
  facts.set("mpi_logical_size", "4");
  facts.set("mpi_integer_size", "4");
  facts.set("mpi_real_size", "4");
  facts.set("mpi_double_precision_size", "8");
  for (const auto& [key, type] : optional) {
    const dt::Datatype* found = nullptr;
    facts.set(key, lookup(type, &found).code == MPI_SUCCESS ? "true" : "false");
  }
  return facts;
}

}  // namespace

Err abi_get_fortran_booleans(int size, void* logical_true, void* logical_false,
                             int* is_set) {
  MPC_MPI_TRY(check_size(size));
  *is_set = 1;
  std::memcpy(logical_true, &kTrue, sizeof kTrue);
  std::memcpy(logical_false, &kFalse, sizeof kFalse);
  return kSuccess;
}

Err abi_set_fortran_booleans(int size, void* logical_true, void* logical_false) {
  MPC_MPI_TRY(check_size(size));
  if (std::memcmp(logical_true, &kTrue, sizeof kTrue) == 0 &&
      std::memcmp(logical_false, &kFalse, sizeof kFalse) == 0)
    return kSuccess;
  return fail(MPI_ERR_ABI, "the values of LOGICAL are known already: 1 and 0");
}

Err abi_get_fortran_info(MPI_Info* info) {
  *info = create_info(fortran_facts())->handle();
  return kSuccess;
}

Err abi_set_fortran_info(Info* info) {
  if (info == nullptr) return kSuccess;
  const InfoHints facts = fortran_facts();
  for (const auto& [key, value] : info->hints.entries()) {
    const std::string* known = facts.find(key);
    if (known != nullptr && *known != value)
      return fail(MPI_ERR_ABI,
                  fmt::format("{} is {} here, not {}", key, *known, value));
  }
  return kSuccess;
}

}  // namespace mpc::mpi::impl
