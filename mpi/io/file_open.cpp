// Bodies of MPI-4.1 section 14.2: open, close, delete.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "mpi/impl/io.h"
#include "mpi/io/agreement.h"
#include "mpi/io/file_errors.h"
#include "mpi/io/file_hints.h"
#include "mpi/io/shared_pointer.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/process.h"
#include "runtime/job/job.h"

namespace mpc::mpi {
namespace {

constexpr int kAllModes = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE |
                          MPI_MODE_EXCL | MPI_MODE_RDONLY | MPI_MODE_RDWR |
                          MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN | MPI_MODE_WRONLY;

Err check_amode(int amode) {
  const int access = amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
  if ((amode & ~kAllModes) != 0)
    return fail(MPI_ERR_AMODE,
                fmt::format("amode {} has bits that no mode has", amode));
  if (access != MPI_MODE_RDONLY && access != MPI_MODE_RDWR && access != MPI_MODE_WRONLY)
    return fail(MPI_ERR_AMODE,
                "amode needs exactly one of MPI_MODE_RDONLY, "
                "MPI_MODE_RDWR and MPI_MODE_WRONLY");
  if (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
    return fail(MPI_ERR_AMODE,
                "MPI_MODE_CREATE and MPI_MODE_EXCL do not go with MPI_MODE_RDONLY");
  if (access == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL) != 0)
    return fail(MPI_ERR_AMODE, "MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR");
  return kSuccess;
}

int system_flags(int amode) noexcept {
  int flags = (amode & MPI_MODE_RDONLY) != 0   ? O_RDONLY
              : (amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                               : O_RDWR;
  if ((amode & MPI_MODE_CREATE) != 0) flags |= O_CREAT;
  if ((amode & MPI_MODE_EXCL) != 0) flags |= O_EXCL;
  return flags;
}

// Removes the name of a driver, which other MPIs accept before the file's name.
std::string plain_name(const char* filename) {
  std::string_view name(filename);
  for (const std::string_view driver :
       {"ufs:", "nfs:", "lustre:", "gpfs:", "panfs:", "xfs:", "testfs:"})
    if (name.starts_with(driver)) return std::string(name.substr(driver.size()));
  return std::string(name);
}

// When one member has opened the file, the members of its process get it here.
struct OpenRoom final : FileRoom {
  std::shared_ptr<io::SharedFile> share;
  std::shared_ptr<SharedPointer> pointer;
};

struct Opening {
  Comm& comm;
  std::string path;
  int amode;
  unsigned permissions;

  // Only the first process creates the file.
  int open(bool creates, std::shared_ptr<io::SharedFile>* out) const {
    int flags = system_flags(amode);
    if (!creates) flags &= ~(O_CREAT | O_EXCL);
    const job::ProcessMap& map = comm.self().job->processes();
    return io::SharedFile::open(
        io::absolute_path(path), flags, permissions,
        {Process::of(comm.self()).index, comm.is_in_one_process(),
         map.is_one_process() && !comm.spans_jobs()},
        out);
  }
};

// Meets with the members of the caller's process only: what one of them has created is for all.
std::shared_ptr<OpenRoom> share_among_neighbours(const Opening& opening,
                                                 const Finding& finding,
                                                 std::shared_ptr<io::SharedFile> made) {
  Comm& comm = opening.comm;
  const Members here{comm.members().here, nullptr};
  return meet<OpenRoom>(
      comm.self(), meeting_key(MeetingKind::kFile, comm), here,
      [&](OpenRoom& room) {
        room.bring(opening.amode, finding);
        if (made == nullptr) return;
        room.share = made;
        room.pointer = std::make_shared<SharedPointer>(comm);
      },
      "MPI_File_open");
}

Finding finding_of(int system_error) noexcept {
  Finding finding;
  finding.system_error = system_error;
  if (system_error != 0) finding.mpi_class = file_error_class(system_error);
  return finding;
}

// All members agree on the mode; one member of the first process opens the file, then one of each
// other process; all learn the result.
Finding open_together(const Opening& opening, std::shared_ptr<OpenRoom>* out) {
  constexpr const char* kCall = "MPI_File_open";
  Comm& comm = opening.comm;
  const auto start = meet_for(kCall, comm, opening.amode);
  if (start->differs) return {MPI_ERR_NOT_SAME, 0};
  const bool acts = start->claim();
  const bool is_first = is_first_process(comm);
  std::shared_ptr<io::SharedFile> made;
  Finding finding;
  if (acts && is_first) finding = finding_of(opening.open(true, &made));
  if (!comm.is_in_one_process()) {
    finding = meet_for(kCall, comm, 0, finding)->finding;
    if (finding.mpi_class != 0) return finding;
    if (acts && !is_first) finding = finding_of(opening.open(false, &made));
    finding = meet_for(kCall, comm, 0, finding)->finding;
  }
  *out = share_among_neighbours(opening, finding, std::move(made));
  return (*out)->finding;
}

Err open_error(const Finding& finding, const std::string& path, int amode) {
  if (finding.mpi_class == MPI_ERR_NOT_SAME)
    return fail(MPI_ERR_NOT_SAME,
                fmt::format("amode is {} here and another one elsewhere", amode));
  return file_error(finding.system_error, "open", path);
}

// Sets hints, and with MPI_MODE_APPEND moves the pointers to the end.
Err furnish(File& file, Info* info) {
  set_default_hints(file);
  if (info != nullptr) keep_hints(file, info->hints);
  if (!file.is(MPI_MODE_APPEND)) return kSuccess;
  Count size = 0;
  const int error = file.share().descriptor().size(&size);
  file.position.store(size, std::memory_order_relaxed);
  const auto room = meet_for("MPI_File_open", file.comm(), 0, finding_of(error));
  if (room->finding.mpi_class != 0)
    return file_error(room->finding.system_error, "ask for the size of",
                      file.display_name());
  file.shared_pointer->set_at_home(size);
  meet_for("MPI_File_open", file.comm(), 0);
  return kSuccess;
}

}  // namespace

namespace impl {

Err file_open(Comm& comm, const char* filename, int amode, Info* info, MPI_File* fh) {
  MPC_MPI_TRY(check_amode(amode));
  Comm* const own = duplicate_plain(comm);
  own->exempt();  // the user cannot free it
  own->name = comm.display_name();
  const Opening opening{*own, plain_name(filename), amode, permissions_of(info)};
  std::shared_ptr<OpenRoom> room;
  const Finding finding = open_together(opening, &room);
  if (finding.mpi_class != 0) {
    end_comm(own);
    return open_error(finding, opening.path, amode);
  }
  File* const file = new File(*own, room->share, amode);
  file->shared_pointer = room->pointer;
  if (Err error = furnish(*file, info)) {
    file->end();
    return error;
  }
  *fh = file->handle();
  return kSuccess;
}

Err file_close(HandleRef<File, MPI_File> ref) {
  File& file = *ref.object;
  if (file.split != nullptr)
    return fail(MPI_ERR_OTHER, "a split collective access has begun and not ended");
  const std::shared_ptr<io::SharedFile> share = file.share_ref();
  const bool unlinks =
      file.is(MPI_MODE_DELETE_ON_CLOSE) && is_first_process(file.comm());
  const std::string path = share->path();
  const Finding finding = do_together("MPI_File_close", file.comm(), 0, [&] {
    if (unlinks && ::unlink(path.c_str()) != 0) return errno;
    return share->close();
  });
  *ref.handle = MPI_FILE_NULL;
  Err error = kSuccess;
  if (finding.mpi_class != 0) error = file_error(finding.system_error, "close", path);
  // The error belongs to the file's handler, so the entry point still needs the file.
  if (error) ref->retain();
  file.end();
  return error;
}

Err file_delete(const char* filename, Info*) {
  const std::string path = plain_name(filename);
  return ::unlink(path.c_str()) == 0 ? kSuccess : file_error(errno, "delete", path);
}

}  // namespace impl
}  // namespace mpc::mpi
