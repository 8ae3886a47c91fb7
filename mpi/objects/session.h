#pragma once
// Session: the object behind an MPI_Session.
//
// Role:      thread level, error handler, hints in use, and the buffer that communicators which come
//            from it share for buffered sends.
// Users:     mpi/session, mpi/p2p (buffers), mpi/env (error handlers).
// Threads:   any execution of the rank; sessions of a rank may begin and end at once in several.
// See also:  docs/sessions.md; MPI-4.1 section 11.3.

#include <memory>
#include <mutex>
#include <string>

#include "mpi.h"
#include "mpi/objects/buffered.h"
#include "mpi/objects/error.h"
#include "mpi/objects/info.h"
#include "mpi/objects/object.h"

namespace mpc::mpi {

class Errhandler;
struct RankState;

class Session final : public Object {
 public:
  // MPI runs in the rank until it ends, if it did not before. Switches: no.
  static Session* begin(RankState& state, int thread_level, InfoHints used,
                        Errhandler& handler);
  // Would its end be that of MPI in the rank: is it the last one, outside of the world model?
  static bool is_last(RankState& state) noexcept;
  // The handle is gone, and nothing of it is under way any more. Switches: no.
  void end(RankState& state) noexcept;

  MPI_Session handle() noexcept { return reinterpret_cast<MPI_Session>(this); }
  // "session 2": sessions of a rank are numbered in the order of their begins.
  const std::string& display_name() const noexcept { return name_; }
  const InfoHints& hints() const noexcept { return used_; }
  Errhandler& errhandler() const noexcept { return *errhandler_; }
  void set_errhandler(Errhandler& handler) noexcept;  // takes a reference
  const SessionBufferRef& buffer() const noexcept { return buffer_; }

 private:
  Session(int owner, std::string name, InfoHints used);
  ~Session();

  std::string name_;
  InfoHints used_;
  Errhandler* errhandler_;
  SessionBufferRef buffer_;
};

// The values of predefined attributes, and what else every rank has that uses MPI in whatever model.
// Again and again, by any model's begin.
void prepare_rank(RankState& state);
// Whether MPI runs in the rank now, which its entry points ask: in the world model, in a session.
// Caller: holds state.mutex.
void update_running(RankState& state) noexcept;
// The same, for who does not hold it.
void note_world_change(RankState& state) noexcept;
// MPI_THREAD_SINGLE ... for what was asked for: all are provided, and cost the same.
int clamp_thread_level(int required) noexcept;

}  // namespace mpc::mpi
