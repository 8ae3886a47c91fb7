// The one file that includes UCX.
// Long: it is the only file that knows UCX.
#include "runtime/transport/ucx/ucp_worker.h"

#include <sys/shm.h>
#include <sys/statvfs.h>
#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/transport/ucx/last_log.h"

namespace mpc::transport::ucx {
namespace {

constexpr unsigned kMessageId = 1;

// UCX prints what goes wrong; a library should not. Its last message goes into our own report.
ucs_log_func_rc_t keep_log(const char*, unsigned, const char*, ucs_log_level_t level,
                           const ucs_log_component_config_t*, const char* format,
                           va_list arguments) {
  // Then UCX ends the process.
  if (level == UCS_LOG_LEVEL_FATAL) return UCS_LOG_FUNC_RC_CONTINUE;
  char text[LastLog::kMostBytes];
  std::vsnprintf(text, sizeof text, format, arguments);
  if (level <= UCS_LOG_LEVEL_DIAG) last_log().keep(text);
  return UCS_LOG_FUNC_RC_STOP;
}

// A user who asks UCX for its log gets it.
void take_log_over() {
  static const bool is_taken = [] {
    if (std::getenv("UCX_LOG_LEVEL") != nullptr) return false;
    ucs_log_push_handler(&keep_log);
    return true;
  }();
  static_cast<void>(is_taken);
}

std::string text_of(const char* what, ucs_status_t status) {
  const std::string said = last_log().take();
  return std::string("UCX: ") + what + ": " + ucs_status_string(status) +
         (said.empty() ? "" : " (" + said + ")");
}

// UCX only says that there are no resources. Its buffers are some MiB in /dev/shm for each process.
std::string hint_of_shared_memory() {
  constexpr uint64_t kEnoughBytes = 16 << 20;
  struct statvfs room {};
  if (::statvfs("/dev/shm", &room) != 0) return "";
  const uint64_t bytes = uint64_t{room.f_bavail} * room.f_frsize;
  if (bytes >= kEnoughBytes) return "";
  return "; /dev/shm has only " + std::to_string(bytes >> 10) +
         " KiB left: give it more room, or set UCX_TLS=^posix";
}

// Likewise for what it takes of System V's shared memory.
std::string hint_of_sysv() {
  constexpr size_t kEnoughBytes = 8 << 20;
  const int id = ::shmget(IPC_PRIVATE, kEnoughBytes, IPC_CREAT | 0600);
  if (id >= 0) {
    ::shmctl(id, IPC_RMID, nullptr);
    return "";
  }
  return std::string("; there is no shared memory of System V (shmget: ") +
         std::strerror(errno) + "): raise kernel.shmall and kernel.shmmni, or set " +
         "UCX_TLS=^sysv";
}

// --- packed data: a generic datatype whose element is a Transfer ---------------------------------

void* start_pack(void*, const void* transfer, size_t) {
  return const_cast<void*>(transfer);
}
void* start_unpack(void*, void* transfer, size_t) { return transfer; }
size_t packed_size(void* state) { return static_cast<const Transfer*>(state)->bytes; }

size_t pack(void* state, size_t offset, void* out, size_t most) {
  const auto& t = *static_cast<const Transfer*>(state);
  const size_t n = std::min(most, t.bytes - offset);
  if (n == 0) return 0;
  if (t.pack != nullptr) {
    t.pack(t.data, offset, out, n);
  } else {
    std::memcpy(out, static_cast<const char*>(t.data) + offset, n);
  }
  return n;
}

ucs_status_t unpack(void* state, size_t offset, const void* in, size_t n) {
  const auto& t = *static_cast<const Transfer*>(state);
  if (n == 0) return UCS_OK;
  if (t.unpack != nullptr) {
    t.unpack(t.data, offset, in, n);
  } else {
    std::memcpy(static_cast<char*>(t.data) + offset, in, n);
  }
  return UCS_OK;
}

void finish(void*) {}

constexpr ucp_generic_dt_ops_t kPackedData = {&start_pack, &start_unpack, &packed_size,
                                              &pack,       &unpack,       &finish};

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch().count());
}

// --- the worker ------------------------------------------------------------------------------

class Worker final : public UcpWorker {
 public:
  explicit Worker(UcpEvents& events) : events_(events) {}
  ~Worker() override;
  Result<> open(int processes);

  const NetAddress& address() const noexcept override { return address_; }
  size_t piece_bytes() const noexcept override { return piece_bytes_; }
  void set_peers(std::vector<NetPeer> peers) override;
  bool send_short(int peer, const void* header, size_t header_bytes, const void* data,
                  size_t bytes) noexcept override;
  Progress send_eager(int peer, const void* header, size_t header_bytes,
                      Transfer& transfer) noexcept override;
  Progress send_rendezvous(int peer, const void* header, size_t header_bytes,
                           Transfer& transfer) noexcept override;
  Progress receive(void* descriptor, Transfer& transfer) noexcept override;
  void release(void* descriptor) noexcept override {
    ucp_am_data_release(worker_, descriptor);
  }
  bool progress() noexcept override { return ucp_worker_progress(worker_) != 0; }
  int descriptor() const noexcept override { return descriptor_; }
  bool arm() noexcept override;
  void signal() noexcept override { ucp_worker_signal(worker_); }
  void flush_peers() noexcept override;
  void lose(int peer) noexcept override;
  bool is_lost(int peer) const noexcept override {
    return peers_[static_cast<size_t>(peer)].is_lost;
  }
  void flush(uint64_t longest_ns) noexcept override;

 private:
  struct Peer {
    Worker* worker = nullptr;
    int index = 0;
    NetPeer where;
    ucp_ep_h endpoint = nullptr;
    bool is_lost = false;
  };

  Result<> open_context(int processes);
  Result<> open_worker();
  Result<> learn_address();
  ucp_ep_h endpoint_of(int peer) noexcept;
  ucp_ep_h connect(Peer& peer) noexcept;
  Progress send(int peer, const void* header, size_t header_bytes, Transfer& transfer,
                bool is_packed, unsigned flags) noexcept;
  Progress started(ucs_status_ptr_t request, int peer, const char* what) noexcept;
  void describe(ucp_request_param_t& param, Transfer& transfer,
                bool is_packed) noexcept;
  static void connection_lost(void* peer, ucp_ep_h endpoint,
                              ucs_status_t status) noexcept;
  static void peer_flushed(void* request, ucs_status_t status, void* self) noexcept;
  static void closed(void* request, ucs_status_t status, void*) noexcept {
    static_cast<void>(status);
    ucp_request_free(request);
  }
  void end_flush() noexcept;
  static ucs_status_t arrived(void* self, const void* header, size_t header_bytes,
                              void* data, size_t bytes,
                              const ucp_am_recv_param_t* param) noexcept;
  static void sent(void* request, ucs_status_t status, void* transfer) noexcept;
  static void received(void* request, ucs_status_t status, size_t bytes,
                       void* transfer) noexcept;

  UcpEvents& events_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_datatype_t packed_ = 0;
  int descriptor_ = -1;
  size_t piece_bytes_ = 0;
  NetAddress address_;
  std::vector<Peer> peers_;
  int flushes_ = 0;  // of flush_peers(), not yet ended
};

Result<> Worker::open(int processes) {
  take_log_over();
  MPC_TRY(open_context(processes));
  MPC_TRY(open_worker());
  return learn_address();
}

Result<> Worker::open_context(int processes) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return {Errc::kSystem, text_of("ucp_config_read", status)};
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.estimated_num_eps = static_cast<size_t>(processes);
  status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  if (status != UCS_OK) return {Errc::kSystem, text_of("ucp_init", status)};
  status = ucp_dt_create_generic(&kPackedData, nullptr, &packed_);
  if (status != UCS_OK)
    return {Errc::kSystem, text_of("ucp_dt_create_generic", status)};
  return {};
}

Result<> Worker::open_worker() {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(context_, &params, &worker_);
  if (status != UCS_OK)
    return {Errc::kSystem, text_of("ucp_worker_create", status) +
                               hint_of_shared_memory() + hint_of_sysv()};
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.cb = &arrived;
  handler.arg = this;
  status = ucp_worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK)
    return {Errc::kSystem, text_of("ucp_worker_set_am_recv_handler", status)};
  status = ucp_worker_get_efd(worker_, &descriptor_);
  if (status != UCS_OK) return {Errc::kSystem, text_of("ucp_worker_get_efd", status)};
  return {};
}

Result<> Worker::learn_address() {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  ucs_status_t status = ucp_worker_query(worker_, &attributes);
  if (status != UCS_OK) return {Errc::kSystem, text_of("ucp_worker_query", status)};
  // The longest header fits into one piece of every network, in addition to UCX's own data.
  piece_bytes_ = attributes.max_am_header;
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  status = ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK)
    return {Errc::kSystem, text_of("ucp_worker_get_address", status)};
  const auto* const first = reinterpret_cast<const std::byte*>(address);
  address_.assign(first, first + bytes);
  ucp_worker_release_address(worker_, address);
  return {};
}

// The worker destroys its endpoints: to close each separately would be a storm of P * P messages.
Worker::~Worker() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (packed_ != 0) ucp_dt_destroy(packed_);
  if (context_ != nullptr) ucp_cleanup(context_);
  static_cast<void>(last_log().take());
}

void Worker::set_peers(std::vector<NetPeer> peers) {
  peers_.resize(peers.size());
  for (size_t p = 0; p < peers.size(); ++p) {
    peers_[p].worker = this;
    peers_[p].index = static_cast<int>(p);
    peers_[p].where = std::move(peers[p]);
  }
}

ucp_ep_h Worker::endpoint_of(int peer) noexcept {
  Peer& p = peers_[static_cast<size_t>(peer)];
  if (p.endpoint != nullptr && !p.is_lost) [[likely]]
    return p.endpoint;
  return p.is_lost ? nullptr : connect(p);
}

ucp_ep_h Worker::connect(Peer& peer) noexcept {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.where.address.data());
  // Asking for errors of peers excludes shared memory; within a host the launcher reports a
  // process that has died.
  params.err_mode =
      peer.where.is_same_host ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &connection_lost;
  params.err_handler.arg = &peer;
  const ucs_status_t status = ucp_ep_create(worker_, &params, &peer.endpoint);
  if (status == UCS_OK) return peer.endpoint;
  peer.endpoint = nullptr;
  peer.is_lost = true;
  events_.failed(peer.index, text_of("cannot connect", status));
  return nullptr;
}

void Worker::connection_lost(void* arg, ucp_ep_h, ucs_status_t status) noexcept {
  Peer& peer = *static_cast<Peer*>(arg);
  if (peer.is_lost) return;
  peer.is_lost = true;  // what is under way ends with an error, from progress()
  peer.worker->events_.failed(peer.index, text_of("connection lost", status));
}

void Worker::lose(int index) noexcept {
  Peer& peer = peers_[static_cast<size_t>(index)];
  if (std::exchange(peer.is_lost, true) || peer.endpoint == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  param.cb.send = &closed;
  ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &param);
}

// --- all connections -----------------------------------------------------------------------------

void Worker::flush_peers() noexcept {
  flushes_ = 1;  // for this call itself
  for (const Peer& peer : peers_) {
    if (peer.endpoint == nullptr || peer.is_lost) continue;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send = &peer_flushed;
    param.user_data = this;
    void* const request = ucp_ep_flush_nbx(peer.endpoint, &param);
    if (request != nullptr && !UCS_PTR_IS_ERR(request)) ++flushes_;
  }
  end_flush();
}

void Worker::peer_flushed(void* request, ucs_status_t, void* self) noexcept {
  ucp_request_free(request);
  static_cast<Worker*>(self)->end_flush();
}

void Worker::end_flush() noexcept {
  if (--flushes_ == 0) events_.flushed();
}

// --- sending -----------------------------------------------------------------------------------

bool Worker::send_short(int peer, const void* header, size_t header_bytes,
                        const void* data, size_t bytes) noexcept {
  ucp_ep* const endpoint = endpoint_of(peer);
  if (endpoint == nullptr) return false;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  // "No resource" if it cannot leave at once; other errors occur again in send_eager().
  return ucp_am_send_nbx(endpoint, kMessageId, header, header_bytes, data, bytes,
                         &param) == nullptr;
}

void Worker::describe(ucp_request_param_t& param, Transfer& transfer,
                      bool is_packed) noexcept {
  transfer.events = &events_;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK |
                       UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.datatype = is_packed ? packed_ : ucp_dt_make_contig(1);
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  param.user_data = &transfer;
}

Progress Worker::started(ucs_status_ptr_t request, int peer,
                         const char* what) noexcept {
  if (request == nullptr) return Progress::kDone;
  if (!UCS_PTR_IS_ERR(request)) return Progress::kUnderWay;
  events_.failed(peer, text_of(what, UCS_PTR_STATUS(request)));
  return Progress::kFailed;
}

Progress Worker::send(int peer, const void* header, size_t header_bytes,
                      Transfer& transfer, bool is_packed, unsigned flags) noexcept {
  ucp_ep* const endpoint = endpoint_of(peer);
  if (endpoint == nullptr) return Progress::kFailed;  // reported already
  ucp_request_param_t param{};
  describe(param, transfer, is_packed);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = flags;
  param.cb.send = &sent;
  return started(ucp_am_send_nbx(endpoint, kMessageId, header, header_bytes,
                                 is_packed ? &transfer : transfer.data,
                                 is_packed ? 1 : transfer.bytes, &param),
                 peer, "cannot send");
}

// Always packed, so the data may move until they have left (see Posting).
Progress Worker::send_eager(int peer, const void* header, size_t header_bytes,
                            Transfer& transfer) noexcept {
  return send(peer, header, header_bytes, transfer, true, UCP_AM_SEND_FLAG_EAGER);
}

// UCX's threshold does not decide: before a connection exists it would send any length eagerly.
Progress Worker::send_rendezvous(int peer, const void* header, size_t header_bytes,
                                 Transfer& transfer) noexcept {
  return send(peer, header, header_bytes, transfer, transfer.pack != nullptr,
              UCP_AM_SEND_FLAG_RNDV);
}

Progress Worker::receive(void* descriptor, Transfer& transfer) noexcept {
  const bool is_packed = transfer.unpack != nullptr;
  ucp_request_param_t param{};
  describe(param, transfer, is_packed);
  param.cb.recv_am = &received;
  return started(
      ucp_am_recv_data_nbx(worker_, descriptor, is_packed ? &transfer : transfer.data,
                           is_packed ? 1 : transfer.bytes, &param),
      -1, "cannot receive");
}

void Worker::sent(void* request, ucs_status_t status, void* transfer) noexcept {
  auto* const t = static_cast<Transfer*>(transfer);
  ucp_request_free(request);
  t->events->ended(*t, status == UCS_OK);
}

void Worker::received(void* request, ucs_status_t status, size_t,
                      void* transfer) noexcept {
  sent(request, status, transfer);
}

// --- arrivals ----------------------------------------------------------------------------------

ucs_status_t Worker::arrived(void* self, const void* header, size_t header_bytes,
                             void* data, size_t bytes,
                             const ucp_am_recv_param_t* param) noexcept {
  UcpEvents& events = static_cast<Worker*>(self)->events_;
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
    events.came(header, header_bytes, data, bytes);
    return UCS_OK;
  }
  return events.offered(header, header_bytes, data, bytes) ? UCS_INPROGRESS : UCS_OK;
}

bool Worker::arm() noexcept { return ucp_worker_arm(worker_) == UCS_OK; }

void Worker::flush(uint64_t longest_ns) noexcept {
  ucp_request_param_t param{};
  void* const request = ucp_worker_flush_nbx(worker_, &param);
  if (request == nullptr || UCS_PTR_IS_ERR(request)) return;
  const uint64_t end_ns = now_ns() + longest_ns;
  while (ucp_request_check_status(request) == UCS_INPROGRESS && now_ns() < end_ns)
    ucp_worker_progress(worker_);
  ucp_request_free(request);
}

}  // namespace

Result<std::unique_ptr<UcpWorker>> UcpWorker::open(UcpEvents& events, int processes) {
  auto worker = std::make_unique<Worker>(events);
  if (auto opened = worker->open(processes); !opened.ok()) return opened.error();
  return std::unique_ptr<UcpWorker>(std::move(worker));
}

}  // namespace mpc::transport::ucx
