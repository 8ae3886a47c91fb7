#include "mpi/io/agreement.h"

#include "mpi.h"
#include "mpi/io/file_errors.h"
#include "mpi/objects/process_list.h"
#include "runtime/job/job.h"

namespace mpc::mpi {

void FileRoom::bring(int64_t its_value, const Finding& its_finding) {
  differs = differs || (has_value && value != its_value);
  value = its_value;
  has_value = true;
  if (finding.mpi_class == 0) finding = its_finding;
}

void FileRoom::pack(ByteWriter& out) const {
  out.put(value);
  out.put(differs);
  out.put(finding.mpi_class);
  out.put(finding.system_error);
}

void FileRoom::merge(ByteReader& in) {
  const auto theirs = in.get<int64_t>();
  const auto differ = in.get<bool>();
  Finding found;
  found.mpi_class = in.get<int>();
  found.system_error = in.get<int>();
  bring(theirs, found);
  differs = differs || differ;
}

std::shared_ptr<FileRoom> meet_for(const char* call, Comm& comm, int64_t value,
                                   const Finding& finding) {
  return meet<FileRoom>(
      comm.self(), meeting_key(MeetingKind::kFile, comm), comm.members(),
      [&](FileRoom& room) { room.bring(value, finding); }, call);
}

Finding do_together(const char* call, Comm& comm, int64_t value,
                    const std::function<int()>& action) {
  const auto before = meet_for(call, comm, value);
  Finding mine;
  if (before->differs) {
    mine.mpi_class = MPI_ERR_NOT_SAME;
    return mine;
  }
  if (before->claim()) {
    mine.system_error = action();
    if (mine.system_error != 0) mine.mpi_class = file_error_class(mine.system_error);
  }
  return meet_for(call, comm, 0, mine)->finding;
}

bool is_first_process(Comm& comm) {
  const ProcessList* const list = comm.members().processes;
  return list == nullptr ||
         list->first() ==
             list->process_of(comm.self().job->processes(), comm.self().world_rank);
}

}  // namespace mpc::mpi
