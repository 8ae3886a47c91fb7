// Put and get between two processes by UCX alone: its own calls, beside active messages with an answer.
//
//   UCX_TLS=tcp bench_put [rounds]; UCX_TLS=posix,cma bench_put [rounds]
//
// For the choice of 0031: are ucp_put_nbx and ucp_get_nbx faster than messages that the target serves? The
// target polls in both cases. "put": ucp_put_nbx and ucp_ep_flush_nbx, the data are at the target;
// "message": an active message with the data, the target copies them and answers. "get" and "asked": the
// same for a get, whose answer has the data. us, medians of the rounds.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr size_t kSizes[] = {8, 1024, 8192, 64 << 10, 1 << 20};
constexpr size_t kMostBytes = 1 << 20;

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void check(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "bench_put: %s\n", what);
  std::_Exit(1);
}

// Sends ours, and returns the other process's.
std::string exchange(int socket, const void* data, size_t bytes) {
  check(::write(socket, &bytes, sizeof bytes) == sizeof bytes &&
            ::write(socket, data, bytes) == static_cast<ssize_t>(bytes),
        "the other process has gone");
  size_t length = 0;
  check(::recv(socket, &length, sizeof length, MSG_WAITALL) == sizeof length,
        "the other process has gone");
  std::string other(length, '\0');
  check(
      ::recv(socket, other.data(), length, MSG_WAITALL) == static_cast<ssize_t>(length),
      "the other process has gone");
  return other;
}

// What a message asks of the target.
enum class Wish : uint64_t { kPut, kGet, kEnd };

class Side {
 public:
  Side(int socket) : own_(kMostBytes, 'o'), window_(kMostBytes, 'w') {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA;
    check(ucp_init(&params, nullptr, &context_) == UCS_OK, "ucp_init");
    ucp_worker_params_t worker{};
    check(ucp_worker_create(context_, &worker, &worker_) == UCS_OK, "worker");
    set_handler(kRequest, &asked);
    set_handler(kAnswer, &answered);
    ucp_address_t* address;
    size_t bytes;
    check(ucp_worker_get_address(worker_, &address, &bytes) == UCS_OK, "address");
    const std::string other = exchange(socket, address, bytes);
    ucp_ep_params_t ep{};
    ep.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    ep.address = reinterpret_cast<const ucp_address_t*>(other.data());
    check(ucp_ep_create(worker_, &ep, &endpoint_) == UCS_OK, "endpoint");
    share_window(socket);
  }

  void put(size_t bytes) {
    const ucp_request_param_t param{};
    void* const put =
        ucp_put_nbx(endpoint_, own_.data(), bytes, their_window_, key_, &param);
    end(ucp_ep_flush_nbx(endpoint_, &param));
    end(put);
  }
  void get(size_t bytes) {
    const ucp_request_param_t param{};
    end(ucp_get_nbx(endpoint_, own_.data(), bytes, their_window_, key_, &param));
  }
  void ask(Wish wish, size_t bytes) {
    const uint64_t header[2] = {static_cast<uint64_t>(wish), bytes};
    has_answer_ = false;
    send(kRequest, header, sizeof header, wish == Wish::kPut ? bytes : 0);
    while (!has_answer_) progress();
  }
  // The target: until the end.
  void serve() {
    while (!has_ended_) progress();
  }
  void say_end() {
    const uint64_t header[2] = {static_cast<uint64_t>(Wish::kEnd), 0};
    send(kRequest, header, sizeof header, 0);
  }

 private:
  enum Id : unsigned { kRequest, kAnswer };

  void set_handler(Id id, ucp_am_recv_callback_t handler) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = id;
    param.cb = handler;
    param.arg = this;
    check(ucp_worker_set_am_recv_handler(worker_, &param) == UCS_OK, "handler");
  }
  void share_window(int socket) {
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address = window_.data();
    map.length = window_.size();
    ucp_mem_h memory;
    check(ucp_mem_map(context_, &map, &memory) == UCS_OK, "memory");
    void* packed;
    size_t bytes;
    check(ucp_rkey_pack(context_, memory, &packed, &bytes) == UCS_OK, "key");
    const std::string key = exchange(socket, packed, bytes);
    check(ucp_ep_rkey_unpack(endpoint_, key.data(), &key_) == UCS_OK, "their key");
    const auto address = reinterpret_cast<uint64_t>(window_.data());
    const std::string theirs = exchange(socket, &address, sizeof address);
    std::memcpy(&their_window_, theirs.data(), sizeof their_window_);
  }
  void progress() {
    ucp_worker_progress(worker_);
    if (!is_due_) return;
    is_due_ = false;
    send(kAnswer, nullptr, 0, due_bytes_);
  }
  void send(Id id, const void* header, size_t header_bytes, size_t bytes) {
    const ucp_request_param_t param{};
    end(ucp_am_send_nbx(endpoint_, id, header, header_bytes,
                        id == kAnswer ? window_.data() : own_.data(), bytes, &param));
  }
  void end(void* request) {
    if (request == nullptr) return;
    check(!UCS_PTR_IS_ERR(request), "an operation has failed");
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
      ucp_worker_progress(worker_);
    ucp_request_free(request);
  }
  ucs_status_t take(void* data, size_t bytes, const ucp_am_recv_param_t* param,
                    char* to, ucp_am_recv_data_nbx_callback_t done) {
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      std::memcpy(to, data, bytes);
      done(nullptr, UCS_OK, bytes, this);
      return UCS_OK;
    }
    ucp_request_param_t receive{};
    receive.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    receive.cb.recv_am = done;
    receive.user_data = this;
    void* const request = ucp_am_recv_data_nbx(worker_, data, to, bytes, &receive);
    if (request == nullptr) done(nullptr, UCS_OK, bytes, this);
    return UCS_INPROGRESS;
  }
  static ucs_status_t asked(void* self, const void* header, size_t, void* data,
                            size_t bytes, const ucp_am_recv_param_t* param) {
    auto& side = *static_cast<Side*>(self);
    uint64_t wish[2];
    std::memcpy(wish, header, sizeof wish);
    if (static_cast<Wish>(wish[0]) == Wish::kEnd) {
      side.has_ended_ = true;
      return UCS_OK;
    }
    side.due_bytes_ = static_cast<Wish>(wish[0]) == Wish::kGet ? wish[1] : 0;
    if (bytes == 0) {
      side.is_due_ = true;
      return UCS_OK;
    }
    return side.take(data, bytes, param, side.window_.data(),
                     [](void* request, ucs_status_t, size_t, void* whose) {
                       static_cast<Side*>(whose)->is_due_ = true;
                       if (request != nullptr) ucp_request_free(request);
                     });
  }
  static ucs_status_t answered(void* self, const void*, size_t, void* data,
                               size_t bytes, const ucp_am_recv_param_t* param) {
    auto& side = *static_cast<Side*>(self);
    return side.take(data, bytes, param, side.own_.data(),
                     [](void* request, ucs_status_t, size_t, void* whose) {
                       static_cast<Side*>(whose)->has_answer_ = true;
                       if (request != nullptr) ucp_request_free(request);
                     });
  }

  std::vector<char> own_, window_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  uint64_t their_window_ = 0;
  bool has_answer_ = false, has_ended_ = false, is_due_ = false;
  size_t due_bytes_ = 0;
};

template <class Operation>
double median_us(int rounds, size_t bytes, Operation operation) {
  const int count = bytes > 100'000 ? 20 : 200;
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const double begin = now_us();
    for (int i = 0; i < count; ++i) operation();
    times.push_back((now_us() - begin) / count);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 30;
  int sockets[2];
  check(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Side(sockets[1]).serve();
    std::_Exit(0);
  }
  Side side(sockets[0]);
  for (const size_t bytes : kSizes) {
    const auto show = [&](const char* name, double us) {
      std::printf("BENCH net_%s %zu %.3f us\n", name, bytes, us);
    };
    show("put", median_us(rounds, bytes, [&] { side.put(bytes); }));
    show("message", median_us(rounds, bytes, [&] { side.ask(Wish::kPut, bytes); }));
    show("get", median_us(rounds, bytes, [&] { side.get(bytes); }));
    show("asked", median_us(rounds, bytes, [&] { side.ask(Wish::kGet, bytes); }));
  }
  side.say_end();
  std::fflush(stdout);
  std::_Exit(0);
}
