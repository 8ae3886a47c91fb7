#pragma once
// File: an open file as one rank sees it.
//
// Role:      the part that the members of a process share (io::SharedFile), the rank's view and
//            individual file pointer, the file's own communicator, hints, error handler.
// Users:     bodies of mpi/.
// Threads:   any execution of the owner rank.
// See also:  docs/files.md, docs/design/0028-files.md; MPI-4.1 chapter 14.

#include <atomic>
#include <memory>
#include <string>

#include "mpi.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/info.h"
#include "mpi/objects/object.h"
#include "runtime/io/shared_file.h"
#include "runtime/io/view.h"

namespace mpc::mpi {

class Errhandler;
struct Datarep;
struct SharedPointer;
struct SplitAccess;

// The arguments of MPI_File_set_view.
struct FileView {
  std::shared_ptr<const io::View> stream;
  dt::TypeRef etype, filetype;       // as the user gave them
  const Datarep* datarep = nullptr;  // null: native
  std::string datarep_name = "native";
};

class File final : public Object {
 public:
  // `comm` is the file's own and ends with it.
  File(Comm& comm, std::shared_ptr<io::SharedFile> share, int amode);

  Comm& comm() const noexcept { return *comm_; }
  job::Rank& self() const noexcept { return comm_->self(); }
  io::SharedFile& share() const noexcept { return *share_; }
  const std::shared_ptr<io::SharedFile>& share_ref() const noexcept { return share_; }
  int amode() const noexcept { return amode_; }
  bool is(int mode) const noexcept { return (amode_ & mode) != 0; }
  MPI_File handle() noexcept { return reinterpret_cast<MPI_File>(this); }
  const std::string& display_name() const noexcept { return share_->path(); }

  Errhandler& errhandler() const noexcept { return *errhandler_; }
  void set_errhandler(Errhandler& handler) noexcept;  // takes a reference

  FileView view;
  std::atomic<io::Count> position{0};  // in etypes; relaxed: the rank's own
  bool is_atomic = false;
  InfoHints hints;
  io::Tuning tuning;
  std::shared_ptr<SharedPointer> shared_pointer;  // mpi/io/shared_pointer.h
  std::shared_ptr<SplitAccess> split;  // between begin and end; mpi/io/split_calls.cpp

  // The user's handle is freed. Pending operations hold references; the last one deletes the file.
  void end() noexcept;
  void drop() noexcept;

 private:
  ~File();

  Comm* comm_;
  std::shared_ptr<io::SharedFile> share_;
  const int amode_;
  Errhandler* errhandler_;
};

// The calling rank's handler of MPI_FILE_NULL: new files get it, and errors without a file go to
// it. MPI_ERRORS_RETURN until it is set.
Errhandler& default_file_errhandler() noexcept;
void set_default_file_errhandler(Errhandler& handler);  // takes a reference

}  // namespace mpc::mpi
