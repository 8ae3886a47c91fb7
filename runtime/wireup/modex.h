#pragma once
// Modex: how processes exchange what they have put, whatever process manager started them.
//
// Role:      the interface of a library that is loaded only if there are several processes:
//            libmpc-wireup-pmix.so wraps a PMIx client. A single process loads none.
// Users:     runtime/wireup; implemented by runtime/wireup/pmix.
// Threads:   the process's main thread.
// See also:  runtime/wireup/wireup.h.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mpc::wireup {

using Bytes = std::vector<std::byte>;

class Modex {
 public:
  virtual ~Modex() = default;
  virtual int index() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual int local_index() const noexcept = 0;
  virtual int local_size() const noexcept = 0;
  // The processes of this host. Errors: kSystem.
  virtual Result<std::vector<int>> local_peers() = 0;
  virtual Result<> put(std::string_view key, const Bytes& bytes) = 0;
  // Commits what was put, and collects it from all processes.
  virtual Result<> exchange() = 0;
  virtual Result<Bytes> get(int process, std::string_view key) = 0;
  virtual Result<> barrier() = 0;
  virtual void finalize() noexcept = 0;
  // The process manager kills all processes now. Caller: any thread.
  virtual void abort(int status, std::string_view why) noexcept = 0;
};

// The library exports its function under this name. Null: *problem says why, in one line.
// Ownership: the caller must delete it.
inline constexpr char kOpenModex[] = "mpc_open_modex";
using OpenModex = Modex* (*)(std::string* problem);

}  // namespace mpc::wireup
