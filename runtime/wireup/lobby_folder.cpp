#include "runtime/wireup/lobby_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

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
std::string door_file(int slot) { return fmt::format("door-{}", slot); }

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

}  // namespace

// Held while files of the folder are changed: by one thread of one process at a time.
class LobbyFolder::Turn {
 public:
  explicit Turn(LobbyFolder& folder) : lock_(folder.mutex_), fd_(folder.jobs_.get()) {
    lock_byte(fd_, F_SETLKW, F_WRLCK, kTurnByte);
  }
  ~Turn() { lock_byte(fd_, F_SETLK, F_UNLCK, kTurnByte); }
  Turn(const Turn&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  int fd_;
};

std::string LobbyFolder::path_of(const std::string& file) const {
  return fmt::format("{}/{}", path_, file);
}

Result<std::shared_ptr<LobbyFolder>> LobbyFolder::open(const std::string& path) {
  static std::mutex lock;
  static auto* const known = new std::map<std::string, std::weak_ptr<LobbyFolder>>;
  const std::lock_guard one_at_a_time(lock);
  std::weak_ptr<LobbyFolder>& entry = (*known)[path];
  if (auto folder = entry.lock()) return folder;
  std::shared_ptr<LobbyFolder> folder(new LobbyFolder(path));
  MPC_TRY(folder->open_files());
  entry = folder;
  return folder;
}

Result<> LobbyFolder::open_files() {
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(fmt::format("the folder {}", path_));
  directory_ =
      OwnedFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory_.get() < 0) return system_error(fmt::format("the folder {}", path_));
  struct stat status;
  if (::fstat(directory_.get(), &status) != 0)
    return system_error(fmt::format("the folder {}", path_));
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    return {Errc::kPermission,
            fmt::format("the folder {} has to be the user's own, with no rights for "
                        "others (owner {}, mode {:o})",
                        path_, status.st_uid, status.st_mode & 07777)};
  jobs_ = OwnedFd(::openat(directory_.get(), "jobs",
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (jobs_.get() < 0) return system_error(path_of("jobs"));
  return {};
}

// --- slots --------------------------------------------------------------------------------------

Result<LobbyFolder::Member> LobbyFolder::admit(uint64_t job, int process) {
  const Turn turn(*this);
  // Starts behind the slot that was given out last: so a slot is reused as late as possible.
  Record last;
  (void)!::pread(jobs_.get(), &last, sizeof last, 0);
  for (int i = 0; i < kMostSlots; ++i) {
    const int slot =
        static_cast<int>((last.generation + static_cast<uint64_t>(i)) % kMostSlots) + 1;
    if (is_held(slot) || !lock_byte(jobs_.get(), F_SETLK, F_WRLCK, slot)) continue;
    held_[static_cast<size_t>(slot)].store(true, std::memory_order_relaxed);
    for (const std::string& file : {socket_file(slot), door_file(slot)})
      remove(file);  // of a process that was killed
    Record record;
    const auto at = static_cast<off_t>(sizeof record) * slot;
    (void)!::pread(jobs_.get(), &record, sizeof record, at);
    const Member member{slot, record.generation};
    record.job = job;
    record.generation = record.generation + 1;
    record.process = static_cast<uint16_t>(process);
    last.generation = static_cast<uint64_t>(slot);
    if (::pwrite(jobs_.get(), &record, sizeof record, at) != sizeof record ||
        ::pwrite(jobs_.get(), &last, sizeof last, 0) != sizeof last)
      return system_error(path_of("jobs"));
    return member;
  }
  return {Errc::kNoMem,
          fmt::format("{} processes of this user have ports, or are connected; "
                      "more cannot be at a time",
                      kMostSlots)};
}

void LobbyFolder::dismiss(int slot) noexcept {
  const Turn turn(*this);
  if (!is_held(slot)) return;
  for (const std::string& file : {socket_file(slot), door_file(slot)}) remove(file);
  held_[static_cast<size_t>(slot)].store(false, std::memory_order_relaxed);
  lock_byte(jobs_.get(), F_SETLK, F_UNLCK, slot);
}

bool LobbyFolder::is_there(int slot, uint64_t job) const {
  if (slot < 1 || slot > kMostSlots) return false;
  Record record;
  const auto at = static_cast<off_t>(sizeof record) * slot;
  if (::pread(jobs_.get(), &record, sizeof record, at) != sizeof record ||
      record.job != job)
    return false;
  if (is_held(slot)) return true;
  struct flock found;
  return lock_byte(jobs_.get(), F_GETLK, F_WRLCK, slot, &found) &&
         found.l_type != F_UNLCK;
}

// --- connections --------------------------------------------------------------------------------

Result<OwnedFd> LobbyFolder::listen(int slot) {
  const std::string file = socket_file(slot);
  OwnedFd fd = make_socket(SOCK_NONBLOCK);  // accepting does not block
  const sockaddr_un address = address_in(directory_.get(), file);
  if (fd.get() < 0 || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                             sizeof address) != 0)
    return system_error(path_of(file));
  // Access is safe before fchmodat(), because the folder admits only its owner.
  if (::fchmodat(directory_.get(), file.c_str(), 0600, 0) != 0 ||
      ::listen(fd.get(), 64) != 0)
    return system_error(path_of(file));
  return fd;
}

void LobbyFolder::stop_listening(int slot) noexcept {
  for (const std::string& file : {socket_file(slot), door_file(slot)}) remove(file);
}

void LobbyFolder::remove(const std::string& file) const noexcept {
  ::unlinkat(directory_.get(), file.c_str(), 0);
}

Result<OwnedFd> LobbyFolder::call(int slot) {
  OwnedFd fd = make_socket();
  if (fd.get() < 0) return system_error("a socket");
  const sockaddr_un address = address_in(directory_.get(), socket_file(slot));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0)
    return {Errc::kNotFound,
            fmt::format("the job that has opened it does not answer at "
                        "{}: {}",
                        path_of(socket_file(slot)), std::strerror(errno))};
  if (process_of_peer(fd.get()) < 0)
    return {Errc::kPermission,
            fmt::format("another user listens at {}", path_of(socket_file(slot)))};
  return fd;
}

// "PORT KEY ADDRESS ADDRESS ...": the key is for those who may read the folder.
Result<> LobbyFolder::set_door(int slot, const DoorAddress& door) {
  std::string text = fmt::format("{} {}", door.port, text_of(door.key));
  for (const std::string& address : door.addresses) text += " " + address;
  const Turn turn(*this);
  return write_file(door_file(slot), slot, text);
}

std::optional<DoorAddress> LobbyFolder::door_of(int slot) const {
  const auto text = read_file(door_file(slot));
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  DoorAddress door;
  std::string word;
  if (!(in >> door.port >> word) || !read_secret(word, &door.key)) return std::nullopt;
  while (in >> word) door.addresses.push_back(word);
  return door;
}

int LobbyFolder::slot_of(uint64_t job, int process) const noexcept {
  Record all[kMostSlots + 1];
  const ssize_t n = ::pread(jobs_.get(), all, sizeof all, 0);
  for (int slot = 1; slot <= kMostSlots; ++slot) {
    if (static_cast<ssize_t>((static_cast<size_t>(slot) + 1) * sizeof(Record)) > n)
      break;
    if (all[slot].job == job && static_cast<int>(all[slot].process) == process)
      return slot;
  }
  return 0;
}

int LobbyFolder::process_in(uint64_t job, int slot) const noexcept {
  Record record;
  const auto at = static_cast<off_t>(sizeof record) * slot;
  if (::pread(jobs_.get(), &record, sizeof record, at) != sizeof record ||
      record.job != job)
    return -1;
  return static_cast<int>(record.process);
}

int process_of_peer(int fd) noexcept {
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

std::optional<std::string> LobbyFolder::read_file(const std::string& file) const {
  const OwnedFd fd(
      ::openat(directory_.get(), file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) return std::nullopt;
  std::string text;
  char part[4096];
  for (ssize_t n; (n = ::read(fd.get(), part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(n));
  return text;
}

// Readers do not wait for their turn: they see the old file, or the complete new one.
Result<> LobbyFolder::write_file(const std::string& file, int slot,
                                 const std::string& text) {
  const std::string fresh = fmt::format("new-{}", slot);
  {
    const OwnedFd fd(::openat(directory_.get(), fresh.c_str(),
                              O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                              0600));
    if (fd.get() < 0 || ::write(fd.get(), text.data(), text.size()) !=
                            static_cast<ssize_t>(text.size()))
      return system_error(path_of(fresh));
  }
  if (::renameat(directory_.get(), fresh.c_str(), directory_.get(), file.c_str()) != 0)
    return system_error(path_of(file));
  return {};
}

// "SLOT JOB\nPORT\nNAME": the name may contain newlines.
std::optional<LobbyFolder::Name> LobbyFolder::read_name(const std::string& file) const {
  const auto read = read_file(file);
  if (!read) return std::nullopt;
  const std::string& text = *read;
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

Result<LobbyFolder::Published> LobbyFolder::publish(int slot, uint64_t job,
                                                    const std::string& name,
                                                    const std::string& port) {
  const Turn turn(*this);
  const std::string file = name_file(name);
  if (const auto known = read_name(file); known && is_there(known->slot, known->job))
    return known->job == job ? Published::kOwn : Published::kForeign;
  MPC_TRY(
      write_file(file, slot, fmt::format("{} {:x}\n{}\n{}", slot, job, port, name)));
  return Published::kNow;
}

std::optional<std::string> LobbyFolder::look_up(const std::string& name) {
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

bool LobbyFolder::unpublish(uint64_t job, const std::string& name) {
  const Turn turn(*this);
  const std::string file = name_file(name);
  const auto known = read_name(file);
  if (!known || known->name != name || known->job != job) return false;
  return ::unlinkat(directory_.get(), file.c_str(), 0) == 0;
}

}  // namespace mpc::wireup
