#pragma once
// Info: an ordered list of (key, value) texts.
//
// Role:      MPI-4.1 chapter 10; hints of communicators, windows, files.
// Users:     bodies of mpi/.
// Threads:   belongs to its rank; a lock inside for thread-multiple.

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi.h"
#include "mpi/objects/error.h"
#include "mpi/objects/object.h"

namespace mpc::mpi {

// The list alone, without a handle. A communicator stores its hints in one.
class InfoHints {
 public:
  void set(std::string_view key, std::string_view value);
  bool remove(std::string_view key);
  const std::string* find(std::string_view key) const noexcept;
  const std::vector<std::pair<std::string, std::string>>& entries() const noexcept {
    return entries_;
  }

 private:
  std::vector<std::pair<std::string, std::string>>
      entries_;  // in order of first setting
};

class Info final : public Object {
 public:
  explicit Info(int owner) noexcept : Object(Kind::kInfo, owner) {}
  MPI_Info handle() noexcept;
  bool is_env = false;  // MPI_INFO_ENV: may not be changed or freed

  std::mutex mutex;
  InfoHints hints;  // under the mutex
};

Info* create_info(InfoHints hints = {});  // of the calling rank
Info& info_env();                         // MPI_INFO_ENV of the calling rank

}  // namespace mpc::mpi
