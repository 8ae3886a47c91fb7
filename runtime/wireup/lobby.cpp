#include "runtime/wireup/lobby.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/fnv.h"

namespace mpc::wireup {
namespace {

Error system_error(const std::string& what) {
  return {Errc::kSystem, fmt::format("{}: {}", what, std::strerror(errno))};
}

// Not fcntl(): by that name ranks get locks that are separate for each rank (runtime/interpose).
bool lock_byte(int fd, int command, short type, off_t byte,
               struct flock* out = nullptr) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  long result;
  do {
    result = ::syscall(SYS_fcntl, fd, command, &lock);
  } while (result != 0 && errno == EINTR);
  if (out != nullptr) *out = lock;
  return result == 0;
}

constexpr off_t kTurnByte = 0;  // slots start at 1

std::string socket_file(int slot) { return fmt::format("job-{}", slot); }

// Short whatever the folder's name is: an address has room for 107 characters.
sockaddr_un address_in(int directory, const std::string& file) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", directory, file);
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

OwnedFd make_socket(int flags = 0) {
  return OwnedFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

bool is_private_folder(const char* path) noexcept {
  struct stat status;
  return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

}  // namespace

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int OwnedFd::release() noexcept {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void OwnedFd::reset() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

// Held while files of the folder are changed: by one thread of one process at a time.
class Lobby::Turn {
 public:
  explicit Turn(Lobby& lobby) : lock_(lobby.mutex_), fd_(lobby.jobs_.get()) {
    lock_byte(fd_, F_SETLKW, F_WRLCK, kTurnByte);
  }
  ~Turn() { lock_byte(fd_, F_SETLK, F_UNLCK, kTurnByte); }
  Turn(const Turn&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  int fd_;
};

std::string Lobby::default_folder() {
  const char* const runtime = ::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' && is_private_folder(runtime))
    return fmt::format("{}/mpc", runtime);
  return fmt::format("/tmp/mpc-{}", ::geteuid());
}

std::string Lobby::path(const std::string& file) const {
  return fmt::format("{}/{}", folder_, file);
}

Result<std::unique_ptr<Lobby>> Lobby::enter(const std::string& folder, uint64_t job,
                                            int process) {
  std::unique_ptr<Lobby> lobby(new Lobby(folder, job, process));
  MPC_TRY(lobby->open_folder());
  MPC_TRY(lobby->take_slot());
  return lobby;
}

Result<> Lobby::open_folder() {
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(fmt::format("the folder {}", folder_));
  directory_ =
      OwnedFd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory_.get() < 0) return system_error(fmt::format("the folder {}", folder_));
  struct stat status;
  if (::fstat(directory_.get(), &status) != 0)
    return system_error(fmt::format("the folder {}", folder_));
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    return {Errc::kPermission,
            fmt::format("the folder {} has to be the user's own, with no rights for "
                        "others (owner {}, mode {:o})",
                        folder_, status.st_uid, status.st_mode & 07777)};
  jobs_ = OwnedFd(::openat(directory_.get(), "jobs",
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (jobs_.get() < 0) return system_error(path("jobs"));
  return {};
}

Result<> Lobby::take_slot() {
  const Turn turn(*this);
  // Starts behind the slot that was given out last: so a slot is reused as late as possible.
  Record last;
  (void)!::pread(jobs_.get(), &last, sizeof last, 0);
  for (int i = 0; i < kMostSlots; ++i) {
    const int slot =
        static_cast<int>((last.generation + static_cast<uint64_t>(i)) % kMostSlots) + 1;
    if (!lock_byte(jobs_.get(), F_SETLK, F_WRLCK, slot)) continue;
    Record record;
    const auto at = static_cast<off_t>(sizeof record) * slot;
    (void)!::pread(jobs_.get(), &record, sizeof record, at);
    slot_ = slot;
    generation_ = record.generation;
    record.job = job_;
    record.generation = record.generation + 1;
    record.process = static_cast<uint16_t>(process_);
    last.generation = static_cast<uint64_t>(slot);
    if (::pwrite(jobs_.get(), &record, sizeof record, at) != sizeof record ||
        ::pwrite(jobs_.get(), &last, sizeof last, 0) != sizeof last)
      return system_error(path("jobs"));
    return {};
  }
  return {Errc::kNoMem,
          fmt::format("{} processes of this user have ports, or are connected; "
                      "more cannot be at a time",
                      kMostSlots)};
}

Lobby::~Lobby() { stop_listening(); }

// The slot belongs to this process for its lifetime, so no other process has this file.
void Lobby::stop_listening() noexcept {
  if (is_listening_.exchange(false, std::memory_order_relaxed))  // for one caller
    ::unlinkat(directory_.get(), socket_file(slot_).c_str(), 0);
}

// True: the job that had this number in this slot still exists.
bool Lobby::is_there(int slot, uint64_t job) const {
  if (slot < 1 || slot > kMostSlots) return false;
  Record record;
  const auto at = static_cast<off_t>(sizeof record) * slot;
  if (::pread(jobs_.get(), &record, sizeof record, at) != sizeof record ||
      record.job != job)
    return false;
  if (slot == slot_) return true;  // a process does not see its own lock
  struct flock found;
  return lock_byte(jobs_.get(), F_GETLK, F_WRLCK, slot, &found) &&
         found.l_type != F_UNLCK;
}

// --- connections --------------------------------------------------------------------------------

Result<OwnedFd> Lobby::listen() {
  const std::string file = socket_file(slot_);
  ::unlinkat(directory_.get(), file.c_str(), 0);  // of a job that was killed
  OwnedFd fd = make_socket(SOCK_NONBLOCK);        // accepting does not block
  const sockaddr_un address = address_in(directory_.get(), file);
  if (fd.get() < 0 || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                             sizeof address) != 0)
    return system_error(path(file));
  // Access is safe before fchmodat(), because the folder admits only its owner.
  if (::fchmodat(directory_.get(), file.c_str(), 0600, 0) != 0 ||
      ::listen(fd.get(), 64) != 0)
    return system_error(path(file));
  is_listening_.store(true, std::memory_order_relaxed);  // see stop_listening()
  return fd;
}

Result<OwnedFd> Lobby::call(int slot) {
  OwnedFd fd = make_socket();
  if (fd.get() < 0) return system_error("a socket");
  const sockaddr_un address = address_in(directory_.get(), socket_file(slot));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0)
    return {Errc::kNotFound,
            fmt::format("the job that has opened it does not answer at "
                        "{}: {}",
                        path(socket_file(slot)), std::strerror(errno))};
  if (process_of_peer(fd.get()) < 0)
    return {Errc::kPermission,
            fmt::format("another user listens at {}", path(socket_file(slot)))};
  return fd;
}

int Lobby::slot_of(int process) const noexcept {
  Record all[kMostSlots + 1];
  const ssize_t n = ::pread(jobs_.get(), all, sizeof all, 0);
  for (int slot = 1; slot <= kMostSlots; ++slot) {
    if (static_cast<ssize_t>((static_cast<size_t>(slot) + 1) * sizeof(Record)) > n)
      break;
    if (all[slot].job == job_ && static_cast<int>(all[slot].process) == process)
      return slot;
  }
  return 0;
}

int Lobby::process_in(int slot) const noexcept {
  Record record;
  const auto at = static_cast<off_t>(sizeof record) * slot;
  if (::pread(jobs_.get(), &record, sizeof record, at) != sizeof record ||
      record.job != job_)
    return -1;
  return static_cast<int>(record.process);
}

int Lobby::process_of_peer(int fd) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  return peer.uid == ::geteuid() ? peer.pid : -1;
}

// --- names --------------------------------------------------------------------------------------

namespace {

// A hash, since a name may be longer than a file's, and contain any character.
std::string name_file(const std::string& name) {
  return fmt::format("name-{:016x}", fnv_of(name));
}

}  // namespace

// "SLOT JOB\nPORT\nNAME": the name may contain newlines.
std::optional<Lobby::Name> Lobby::read_name(const std::string& file) const {
  const OwnedFd fd(
      ::openat(directory_.get(), file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) return std::nullopt;
  std::string text;
  char part[4096];
  for (ssize_t n; (n = ::read(fd.get(), part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(n));
  Name name;
  unsigned long long job = 0;
  const size_t first = text.find('\n'), second = text.find('\n', first + 1);
  if (second == std::string::npos ||
      std::sscanf(text.c_str(), "%d %llx", &name.slot, &job) != 2)
    return std::nullopt;
  name.job = job;
  name.port = text.substr(first + 1, second - first - 1);
  name.name = text.substr(second + 1);
  return name;
}

Result<Lobby::Published> Lobby::publish(const std::string& name,
                                        const std::string& port) {
  const Turn turn(*this);
  const std::string file = name_file(name);
  if (const auto known = read_name(file); known && is_there(known->slot, known->job))
    return known->job == job_ ? Published::kOwn : Published::kForeign;
  const std::string fresh = fmt::format("new-{}", slot_);
  const std::string text = fmt::format("{} {:x}\n{}\n{}", slot_, job_, port, name);
  {
    const OwnedFd fd(::openat(directory_.get(), fresh.c_str(),
                              O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                              0600));
    if (fd.get() < 0 || ::write(fd.get(), text.data(), text.size()) !=
                            static_cast<ssize_t>(text.size()))
      return system_error(path(fresh));
  }
  // Readers do not wait for their turn: they see the old file, or the complete new one.
  if (::renameat(directory_.get(), fresh.c_str(), directory_.get(), file.c_str()) != 0)
    return system_error(path(file));
  return Published::kNow;
}

std::optional<std::string> Lobby::look_up(const std::string& name) {
  const std::string file = name_file(name);
  const auto known = read_name(file);
  if (!known || known->name != name) return std::nullopt;
  if (is_there(known->slot, known->job)) return known->port;
  // The job that published the name was killed; but another one may have published it meanwhile.
  const Turn turn(*this);
  const auto now = read_name(file);
  if (!now || now->name != name) return std::nullopt;
  if (is_there(now->slot, now->job)) return now->port;
  ::unlinkat(directory_.get(), file.c_str(), 0);
  return std::nullopt;
}

bool Lobby::unpublish(const std::string& name) {
  const Turn turn(*this);
  const std::string file = name_file(name);
  const auto known = read_name(file);
  if (!known || known->name != name || known->job != job_) return false;
  return ::unlinkat(directory_.get(), file.c_str(), 0) == 0;
}

}  // namespace mpc::wireup
