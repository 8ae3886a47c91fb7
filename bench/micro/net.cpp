// Half a round trip between two processes: the network module beside UCX alone.
//
//   UCX_TLS=... bench_net [rounds]
//   bench_net ROUNDS --listen PORT          on one host, and on another one
//   bench_net ROUNDS --connect HOST PORT
//
// bench/net and bench/hosts run it beside ranks of this MPI, and read the lines that begin with BENCH.
// Both processes poll. "UCX" is a program that uses nothing but UCX's active messages: a header of
// 8 bytes, UCX's choice of protocol, the data into a known buffer. "module" has envelopes, a
// receiver that accepts, completions, and the lock; above its eager limit it offers and
// fetches. All buffers begin with a page, as those of bench/mpi do: where they lie decides how fast the system copies
// them (rep movsb of some processors needs 3 us for 8 KiB whose target lies a few bytes behind the source, modulo
// pages). The two alternate; lines with BENCH have the median of the rounds, the others the tenth percentile as well.

#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "runtime/transport/load_net.h"

namespace mpc::transport {
namespace {

constexpr size_t kSizes[] = {8, 1024, 8192, 64 << 10, 1 << 20};
constexpr size_t kMostBytes = 1 << 20;

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "bench_net: %s\n", why.c_str());
  std::_Exit(1);
}

// A buffer that begins with a page, and is never freed.
char* buffer(char fill) {
  void* const data = std::aligned_alloc(4096, kMostBytes);
  if (data == nullptr) fail("no memory");
  return static_cast<char*>(std::memset(data, fill, kMostBytes));
}

NetAddress exchange(int socket, const NetAddress& mine) {
  const size_t bytes = mine.size();
  size_t length = 0;
  if (::write(socket, &bytes, sizeof bytes) != sizeof bytes ||
      ::write(socket, mine.data(), bytes) != static_cast<ssize_t>(bytes) ||
      ::recv(socket, &length, sizeof length, MSG_WAITALL) != sizeof length)
    fail("no address of the other process");
  NetAddress other(length);
  if (::recv(socket, other.data(), length, MSG_WAITALL) != static_cast<ssize_t>(length))
    fail("no address of the other process");
  return other;
}

// One of the two ways. After receive() the whole message has come, and send() has no state left.
class Way {
 public:
  virtual ~Way() = default;
  virtual const char* name() const = 0;
  virtual void send(size_t bytes) = 0;
  virtual void receive(size_t bytes) = 0;
  virtual void progress() = 0;
};

class OverModule final : public Way, private Receiver {
 public:
  OverModule(int me, int socket, bool is_same_host)
      : peer_(1 - me), out_(buffer('o')), in_(buffer('i')) {
    auto loaded = load_net({me, 2, 0, nullptr, nullptr, ""});
    if (!loaded.ok()) fail(loaded.error().message);
    module_ = std::move(*loaded);
    std::vector<NetPeer> peers(2);
    peers[static_cast<size_t>(peer_)] = {exchange(socket, module_->address()),
                                         is_same_host, is_same_host};
    if (!module_->connect(peers, *this).ok()) fail("not connected");
    if (me == 0)
      std::printf("eager limit of the module: %zu bytes\n",
                  module_->net().limits(peer_).eager_bytes);
    std::fflush(stdout);
  }
  const char* name() const override { return "module"; }
  void send(size_t bytes) override {
    const Source source{out_, bytes, nullptr};
    Envelope envelope;
    envelope.bytes = bytes;
    if (bytes <= module_->net().limits(peer_).eager_bytes)
      return module_->net().post(peer_, envelope, source);
    sent_.is_done = false;
    module_->net().offer(peer_, envelope, source, sent_);
  }
  void receive(size_t) override {
    while (!has_come_) module_->events().poll();
    has_come_ = false;
    while (!sent_.is_done) module_->events().poll();
  }
  void progress() override { module_->events().poll(); }

 private:
  struct Done : Completion {
    explicit Done(bool* flag) : Completion{&set}, also(flag) {}
    static void set(Completion& self, Outcome) noexcept {
      auto& done = static_cast<Done&>(self);
      done.is_done = true;
      if (done.also != nullptr) *done.also = true;
    }
    bool is_done = true;
    bool* also;
  };
  bool take(int, const Envelope& envelope, const void* data, size_t bytes,
            Bulk bulk) noexcept override {
    if (bulk == 0) {
      std::memcpy(in_, data, bytes);
      has_come_ = true;
    }
    bulk_ = bulk;
    bytes_ = envelope.bytes;
    return true;
  }
  bool finish() noexcept override {
    if (bulk_ != 0)
      module_->net().fetch(peer_, bulk_, {in_, bytes_, nullptr}, fetched_);
    bulk_ = 0;
    return true;
  }

  const int peer_;
  char *const out_, *const in_;
  std::unique_ptr<NetModule> module_;
  bool has_come_ = false;
  Bulk bulk_ = 0;
  size_t bytes_ = 0;
  Done sent_{nullptr}, fetched_{&has_come_};
};

class OverUcx final : public Way {
 public:
  explicit OverUcx(int socket) : out_(buffer('o')), in_(buffer('i')) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM;
    ucp_context_h context;
    if (ucp_init(&params, nullptr, &context) != UCS_OK) fail("ucp_init");
    ucp_worker_params_t worker{};
    if (ucp_worker_create(context, &worker, &worker_) != UCS_OK) fail("worker");
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.cb = &arrived;
    handler.arg = this;
    if (ucp_worker_set_am_recv_handler(worker_, &handler) != UCS_OK) fail("handler");
    ucp_address_t* address;
    size_t bytes;
    if (ucp_worker_get_address(worker_, &address, &bytes) != UCS_OK) fail("address");
    const auto* const first = reinterpret_cast<const std::byte*>(address);
    const NetAddress other = exchange(socket, {first, first + bytes});
    ucp_ep_params_t ep{};
    ep.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    ep.address = reinterpret_cast<const ucp_address_t*>(other.data());
    if (ucp_ep_create(worker_, &ep, &endpoint_) != UCS_OK) fail("endpoint");
  }
  const char* name() const override { return "UCX"; }
  void send(size_t bytes) override {
    ucp_request_param_t param{};
    request_ =
        ucp_am_send_nbx(endpoint_, 0, &header_, sizeof header_, out_, bytes, &param);
  }
  void receive(size_t) override {
    while (!has_come_) ucp_worker_progress(worker_);
    has_come_ = false;
    end(request_);
    end(receiving_);
  }
  void progress() override { ucp_worker_progress(worker_); }

 private:
  void end(void*& request) {
    if (request == nullptr || UCS_PTR_IS_ERR(request)) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
      ucp_worker_progress(worker_);
    ucp_request_free(std::exchange(request, nullptr));
  }
  static void received(void*, ucs_status_t, size_t, void* self) {
    static_cast<OverUcx*>(self)->has_come_ = true;
  }
  static ucs_status_t arrived(void* self, const void*, size_t, void* data, size_t bytes,
                              const ucp_am_recv_param_t* param) {
    auto& way = *static_cast<OverUcx*>(self);
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      std::memcpy(way.in_, data, bytes);
      way.has_come_ = true;
      return UCS_OK;
    }
    ucp_request_param_t receive{};
    receive.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    receive.cb.recv_am = &received;
    receive.user_data = self;
    way.receiving_ = ucp_am_recv_data_nbx(way.worker_, data, way.in_, bytes, &receive);
    return UCS_INPROGRESS;
  }

  char *const out_, *const in_;
  uint64_t header_ = 0;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  void* request_ = nullptr;
  void* receiving_ = nullptr;
  bool has_come_ = false;
};

double round_us(Way& way, int me, size_t bytes, int count) {
  const double begin = now_us();
  for (int i = 0; i < count; ++i) {
    if (me == 0) way.send(bytes);
    way.receive(bytes);
    if (me == 1) way.send(bytes);
  }
  return (now_us() - begin) / (2 * count);
}

// Waits, because the last message of a round may not have left when its sender goes on with the
// other way.
void meet(int socket, Way& way) {
  char byte = 0;
  if (::write(socket, &byte, 1) != 1) fail("the other process has gone");
  for (ssize_t got; (got = ::recv(socket, &byte, 1, MSG_DONTWAIT)) != 1;) {
    if (got == 0) fail("the other process has gone");
    way.progress();
  }
}

void run(int me, int socket, int rounds, bool is_same_host) {
  OverModule module(me, socket, is_same_host);
  OverUcx ucx(socket);
  Way* const ways[] = {&ucx, &module};
  for (const size_t bytes : kSizes) {
    std::vector<double> times[2];
    for (int round = 0; round < rounds; ++round)
      for (int w = 0; w < 2; ++w) {
        times[w].push_back(round_us(*ways[w], me, bytes, bytes > 100000 ? 20 : 200));
        meet(socket, *ways[w]);
      }
    for (int w = 0; w < 2 && me == 0; ++w) {
      std::sort(times[w].begin(), times[w].end());
      const double median = times[w][times[w].size() / 2];
      std::printf("%8zu bytes  %-7s %10.2f us (median %.2f)\n", bytes, ways[w]->name(),
                  times[w][times[w].size() / 10], median);
      std::printf("BENCH net_%s %zu %.4f us\n", ways[w]->name(), bytes, median);
    }
  }
  std::fflush(stdout);
  std::_Exit(0);
}

// The connection to the other host's process, over which addresses are exchanged.
int accept_one(int port) {
  sockaddr_in6 here{};
  here.sin6_family = AF_INET6;
  here.sin6_port = htons(static_cast<uint16_t>(port));
  const int listener = ::socket(AF_INET6, SOCK_STREAM, 0), yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 ||
      ::listen(listener, 1) != 0)
    fail("cannot listen");
  const int socket = ::accept(listener, nullptr, nullptr);
  if (socket < 0) fail("nobody connects");
  ::close(listener);
  return socket;
}

int connect_to(const char* host, const char* port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host, port, &hints, &found) != 0) fail("no such host");
  for (int i = 0; i < 500; ++i) {  // the other one may not listen yet
    const int socket = ::socket(found->ai_family, SOCK_STREAM, 0);
    if (::connect(socket, found->ai_addr, found->ai_addrlen) == 0) {
      ::freeaddrinfo(found);
      return socket;
    }
    ::close(socket);
    ::usleep(10'000);
  }
  fail("the other host does not listen");
}

}  // namespace
}  // namespace mpc::transport

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
  if (rounds < 1) {
    std::fprintf(stderr,
                 "usage: bench_net [ROUNDS [--listen PORT | --connect HOST PORT]]\n");
    return 2;
  }
  // UCX alone is loaded before main, so a setting by load_net() would come too late here.
  if (!mpc::Settings::assign("net.module=" MPC_NET_MODULE).ok()) return 2;
  const std::string way = argc > 2 ? argv[2] : "";
  if (way == "--listen" && argc == 4)
    mpc::transport::run(0, mpc::transport::accept_one(std::atoi(argv[3])), rounds,
                        false);
  if (way == "--connect" && argc == 5)
    mpc::transport::run(1, mpc::transport::connect_to(argv[3], argv[4]), rounds, false);
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 2;
  const pid_t child = ::fork();
  if (child == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it polls for ever
  mpc::transport::run(child == 0 ? 1 : 0, sockets[child == 0 ? 1 : 0], rounds, true);
}
