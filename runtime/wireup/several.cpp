// One process of several: a process manager's library for the exchange, a socket to the launcher.
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/service_thread.h"
#include "runtime/wireup/backends.h"
#include "runtime/wireup/launcher_link.h"
#include "runtime/wireup/open_modex.h"

namespace mpc::wireup {
namespace {

class Several final : public Wireup {
 public:
  Several(std::unique_ptr<LauncherLink> link, std::unique_ptr<Modex> modex,
          FromLauncher launcher)
      : link_(std::move(link)),
        modex_(std::move(modex)),
        launcher_(std::move(launcher)) {}

  int index() const noexcept override { return modex_->index(); }
  int size() const noexcept override { return modex_->size(); }
  int local_index() const noexcept override { return modex_->local_index(); }
  int local_size() const noexcept override { return modex_->local_size(); }
  std::string interfaces() const override { return launcher_.interfaces; }
  std::vector<int> ranks_of_processes() const override { return launcher_.ranks; }
  Result<> put(std::string_view key, const Bytes& bytes) override {
    return modex_->put(key, bytes);
  }
  Result<> exchange() override { return modex_->exchange(); }
  Result<Bytes> get(int process, std::string_view key) override {
    return modex_->get(process, key);
  }
  // An error means the end of another process: the launcher knows it, and ends this one.
  void leave() noexcept override {
    if (goes_on()) return leave_by_gate();
    [[maybe_unused]] const auto met = modex_->barrier();
  }
  bool goes_on() const noexcept override { return launcher_.goes_on; }
  void arrive_at(Gate gate, std::function<void()> passed) override {
    link_->arrive_at(gate, std::move(passed));
  }
  void on_loss(std::function<void(int process)> handler) override {
    link_->set_loss_handler(std::move(handler));
  }
  void finalize() noexcept override { modex_->finalize(); }

  void tell(Report kind, int status, std::string_view text) noexcept override {
    link_->tell(kind, status, text);
  }
  bool has_launcher() const noexcept override { return true; }
  void on_order(Handler handler) override { link_->set_handler(std::move(handler)); }
  std::unique_lock<std::mutex> hold_end() override { return link_->hold_end(); }
  int console_memory() const noexcept override { return launcher_.console_memory; }

 private:
  // A fence would wait for the dead.
  void leave_by_gate() {
    // Shared: the thread that sets it is still in set_value() when the wait ends.
    const auto passed = std::make_shared<std::promise<void>>();
    link_->arrive_at(Gate::kLeave, [passed] { passed->set_value(); });
    passed->get_future().wait();
  }

  const std::unique_ptr<LauncherLink> link_;
  const std::unique_ptr<Modex> modex_;
  const FromLauncher launcher_;
};

}  // namespace

Result<std::unique_ptr<Wireup>> several(FromLauncher launcher) {
  auto link = std::make_unique<LauncherLink>(launcher.socket);
  MPC_TRY(link->start());
  // The library's threads receive none of the signals that the job waits for.
  const WithoutSignals during;
  auto modex = open_modex();
  if (!modex) {
    // Printed once for all processes, which fail alike.
    link->tell(Report::kEnding, 3, "mpcrun: " + modex.error().message);
    static_cast<void>(link.release());  // its thread continues
    return {modex.error().code, ""};
  }
  return std::unique_ptr<Wireup>(std::make_unique<Several>(
      std::move(link), std::move(*modex), std::move(launcher)));
}

}  // namespace mpc::wireup
