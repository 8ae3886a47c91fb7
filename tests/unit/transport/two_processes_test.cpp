// The network between two processes that are really two.
#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/transport/load_net.h"
#include "tests/unit/transport/nets.h"
#include "tests/unit/transport/peer.h"

namespace mpc::transport::test {
namespace {

constexpr char kSharesMemory[] = "TRANSPORT_TEST_SHARES_MEMORY";
// When the system begins to refuse the access to memory of other processes, as it does in containers.
constexpr char kRefuses[] = "TRANSPORT_TEST_REFUSES";
constexpr char kFromTheStart[] = "start", kLater[] = "later";
constexpr size_t kSizes[] = {0, 8, 100, 4000, 8000};
constexpr size_t kPosts = 400;
constexpr size_t kOffers = 20;
constexpr size_t kOfferBytes = 3'000'001;

bool write_all(int socket, const void* data, size_t bytes) {
  return ::write(socket, data, bytes) == static_cast<ssize_t>(bytes);
}
bool read_all(int socket, void* data, size_t bytes) {
  return ::recv(socket, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

// Each tells the other its address.
bool exchange(int socket, const NetAddress& mine, NetAddress& other) {
  const size_t bytes = mine.size();
  size_t length = 0;
  if (!write_all(socket, &bytes, sizeof bytes) ||
      !write_all(socket, mine.data(), bytes) ||
      !read_all(socket, &length, sizeof length))
    return false;
  other.resize(length);
  return read_all(socket, other.data(), length);
}

bool refuse_other_memory() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{sizeof steps / sizeof *steps, steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
bool refuses(const char* when) {
  const char* const wanted = std::getenv(kRefuses);
  return wanted != nullptr && std::strcmp(wanted, when) == 0;
}

int fail(const char* what) {
  std::fprintf(stderr, "peer: %s\n", what);
  return 1;
}

class Conversation {
 public:
  Conversation(NetModule& module, int index) : module_(module), index_(index) {
    inbox_.on_arrival([this](Arrival& a) { take(a); });
  }
  Inbox& inbox() { return inbox_; }

  bool run(int socket) {
    for (size_t i = 0; i < kPosts; ++i) {
      const std::vector<char> data = message(kSizes[i % 5], static_cast<int>(i));
      Envelope envelope;
      envelope.id = i;
      module_.net().post(1 - index_, envelope, {data.data(), data.size(), nullptr});
    }
    out_ = message(kOfferBytes, index_);
    for (Counted& completion : sent_)
      module_.net().offer(1 - index_, {}, {out_.data(), out_.size(), nullptr},
                          completion);
    while (!is_done()) look();
    if (!write_all(socket, "e", 1)) return false;
    char end;  // the other one may still need us
    while (::recv(socket, &end, 1, MSG_DONTWAIT) != 1) look();
    return wrong_ == 0;
  }

 private:
  // As a process does that has nothing else to do: it sleeps, but not for ever.
  void look() {
    if (module_.events().poll() || !module_.events().arm()) return;
    pollfd one{module_.events().descriptor(), POLLIN, 0};
    ::poll(&one, 1, 20);
  }
  bool is_done() const {
    bool is_done = posts_ == kPosts && fetched_.size() == kOffers;
    for (const Counted& c : sent_) is_done = is_done && c.is_done();
    for (const Counted& c : fetched_) is_done = is_done && c.is_done();
    return is_done && in_ == message(kOfferBytes, 1 - index_);
  }
  void take(Arrival& a) {
    if (a.bulk == 0) {
      const size_t i = a.envelope.id;
      wrong_ += a.data != message(kSizes[i % 5], static_cast<int>(i));
      ++posts_;
      return;
    }
    in_.resize(kOfferBytes);
    module_.net().fetch(1 - index_, a.bulk, {in_.data(), in_.size(), nullptr},
                        fetched_.emplace_back());
  }

  NetModule& module_;
  const int index_;
  Inbox inbox_;
  std::vector<char> out_, in_;
  std::deque<Counted> sent_{kOffers}, fetched_;
  size_t posts_ = 0;
  int wrong_ = 0;
};

}  // namespace

int run_peer(int index, int socket) {
  if (refuses(kFromTheStart) && !refuse_other_memory()) return fail("no filter");
  auto loaded = load_net({index, 2, 0, nullptr, nullptr, ""});
  if (!loaded.ok()) return fail(loaded.error().message.c_str());
  NetModule& module = **loaded;
  std::vector<NetPeer> peers(2);
  for (NetPeer& peer : peers) {
    peer.is_same_host = true;
    peer.shares_memory = std::getenv(kSharesMemory) != nullptr;
  }
  if (!exchange(socket, module.address(),
                peers[static_cast<size_t>(1 - index)].address))
    return fail("no address of the other process");
  Conversation conversation(module, index);
  if (!module.connect(peers, conversation.inbox()).ok()) return fail("not connected");
  char is_ready = 'r';  // both have looked whether they may
  if (!write_all(socket, &is_ready, 1) || !read_all(socket, &is_ready, 1))
    return fail("the other process has ended");
  if (refuses(kLater) && !refuse_other_memory()) return fail("no filter");
  return conversation.run(socket) ? 0 : fail("wrong data");
}

#ifdef MPC_TEST_NET_MODULE
namespace {

struct Way {
  const char* name;
  const char* networks;  // UCX_TLS; "": UCX's own choice
  bool shares_memory;
  const char* refuses = "";
};

pid_t start_peer(int index, int socket, int other, const Way& way) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::close(other);
  if (*way.networks != '\0') ::setenv("UCX_TLS", way.networks, 1);
  if (way.shares_memory) ::setenv(kSharesMemory, "1", 1);
  ::setenv(kRefuses, way.refuses, 1);
  const std::string i = std::to_string(index), s = std::to_string(socket);
  ::execl("/proc/self/exe", "transport_test", kPeerOption, i.c_str(), s.c_str(),
          static_cast<char*>(nullptr));
  ::_exit(127);
}

class TwoProcesses : public testing::TestWithParam<Way> {};

TEST_P(TwoProcesses, ExchangeMessagesOfAllKinds) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  pid_t children[2] = {};
  for (const int i : {0, 1})
    children[i] = start_peer(i, sockets[i], sockets[1 - i], GetParam());
  ::close(sockets[0]);
  ::close(sockets[1]);
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

std::string name_of(const testing::TestParamInfo<Way>& parameter) {
  return parameter.param.name;
}
INSTANTIATE_TEST_SUITE_P(
    Networks, TwoProcesses,
    testing::Values(Way{"OwnChoice", "", false},
                    Way{"SharedMemory", "posix,self", false},
                    Way{"Tcp", "tcp,self", false}, Way{"HostSegment", "", true},
                    Way{"HostSegmentWithoutCopies", "", true, kFromTheStart},
                    Way{"HostSegmentThatLosesCopies", "", true, kLater}),
    name_of);

}  // namespace
#endif

}  // namespace mpc::transport::test
