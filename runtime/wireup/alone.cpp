// The Wireup of a process that is the whole job.
#include "runtime/wireup/backends.h"

namespace mpc::wireup {
namespace {

class Alone final : public Wireup {
 public:
  int index() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  int local_index() const noexcept override { return 0; }
  int local_size() const noexcept override { return 1; }
  Result<> put(std::string_view, const Bytes&) override { return {}; }
  Result<> exchange() override { return {}; }
  Result<Bytes> get(int, std::string_view) override {
    return {Errc::kInternal, "a process asks itself what it has put"};
  }
  void leave() noexcept override {}
  void finalize() noexcept override {}
  void tell(Report, int, std::string_view) noexcept override {}
  bool has_launcher() const noexcept override { return false; }
  void on_order(Handler) override {}
  std::unique_lock<std::mutex> hold_end() override { return {}; }
  int console_memory() const noexcept override { return -1; }
};

}  // namespace

std::unique_ptr<Wireup> alone() { return std::make_unique<Alone>(); }

}  // namespace mpc::wireup
