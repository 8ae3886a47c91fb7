// MPI-4.1 section 14.4 with mpi.check=full: the buffers of non-blocking accesses to files.

#include "mpi/check/watched.h"
#include "mpi/checked/io.h"
#include "mpi/impl/io.h"

namespace mpc::mpi::checked {
namespace {

// The buffer is in use from the start of the access until the call that completes it.
template <class Call>
Err start_access(const BufferUse& use, Request** request, Call call) {
  auto watched = std::make_shared<Watched>();
  watched->site = this_call();
  watched->uses.push_back(use);
  begin(*watched);
  if (const Err error = call()) {
    Watch::here().buffers.end(watched.get(), false);
    return error;
  }
  attach(*request, std::move(watched));
  return kSuccess;
}

template <class Call>
Err start_read(Call call, File& fh, void* buf, Count count, const dt::Datatype& type,
               Request** request) {
  return start_access(Buffer{buf, count, type}.written(), request,
                      [&] { return call(fh, buf, count, type, request); });
}
template <class Call>
Err start_read_at(Call call, File& fh, Count offset, void* buf, Count count,
                  const dt::Datatype& type, Request** request) {
  return start_access(Buffer{buf, count, type}.written(), request,
                      [&] { return call(fh, offset, buf, count, type, request); });
}
template <class Call>
Err start_write(Call call, File& fh, const void* buf, Count count,
                const dt::Datatype& type, Request** request) {
  return start_access(Buffer{buf, count, type}.read(), request,
                      [&] { return call(fh, buf, count, type, request); });
}
template <class Call>
Err start_write_at(Call call, File& fh, Count offset, const void* buf, Count count,
                   const dt::Datatype& type, Request** request) {
  return start_access(Buffer{buf, count, type}.read(), request,
                      [&] { return call(fh, offset, buf, count, type, request); });
}

}  // namespace

Err file_iread(File& fh, void* buf, Count count, const dt::Datatype& type,
               Request** request) {
  return start_read(impl::file_iread, fh, buf, count, type, request);
}
Err file_iread_all(File& fh, void* buf, Count count, const dt::Datatype& type,
                   Request** request) {
  return start_read(impl::file_iread_all, fh, buf, count, type, request);
}
Err file_iread_shared(File& fh, void* buf, Count count, const dt::Datatype& type,
                      Request** request) {
  return start_read(impl::file_iread_shared, fh, buf, count, type, request);
}
Err file_iread_at(File& fh, Count offset, void* buf, Count count,
                  const dt::Datatype& type, Request** request) {
  return start_read_at(impl::file_iread_at, fh, offset, buf, count, type, request);
}
Err file_iread_at_all(File& fh, Count offset, void* buf, Count count,
                      const dt::Datatype& type, Request** request) {
  return start_read_at(impl::file_iread_at_all, fh, offset, buf, count, type, request);
}
Err file_iwrite(File& fh, const void* buf, Count count, const dt::Datatype& type,
                Request** request) {
  return start_write(impl::file_iwrite, fh, buf, count, type, request);
}
Err file_iwrite_all(File& fh, const void* buf, Count count, const dt::Datatype& type,
                    Request** request) {
  return start_write(impl::file_iwrite_all, fh, buf, count, type, request);
}
Err file_iwrite_shared(File& fh, const void* buf, Count count, const dt::Datatype& type,
                       Request** request) {
  return start_write(impl::file_iwrite_shared, fh, buf, count, type, request);
}
Err file_iwrite_at(File& fh, Count offset, const void* buf, Count count,
                   const dt::Datatype& type, Request** request) {
  return start_write_at(impl::file_iwrite_at, fh, offset, buf, count, type, request);
}
Err file_iwrite_at_all(File& fh, Count offset, const void* buf, Count count,
                       const dt::Datatype& type, Request** request) {
  return start_write_at(impl::file_iwrite_at_all, fh, offset, buf, count, type,
                        request);
}

}  // namespace mpc::mpi::checked
