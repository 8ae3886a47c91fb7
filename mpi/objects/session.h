#pragma once
// Session: the object behind an MPI_Session.
//
// Role:      thread level, error handler, hints in use, and the buffer that its communicators
//            share for buffered sends.
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
  // From now on MPI runs in the rank, until the session ends. Switches: no.
  static Session* begin(RankState& state, int thread_level, InfoHints used,
                        Errhandler& handler);
  // Would the end of a session end MPI in the rank? True if it is the last one, outside the world
  // model.
  static bool is_last(RankState& state) noexcept;
  // The handle is freed, and no operation of the session is under way any more. Switches: no.
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

// Sets the values of predefined attributes, and everything else that a rank needs to use MPI in
// either model. Called each time that a model begins.
void prepare_rank(RankState& state);
// Updates whether MPI runs in the rank now, in the world model or in a session; entry points test
// that.
// Caller: holds state.mutex.
void update_running(RankState& state) noexcept;
// The same for a caller that does not hold the mutex.
void note_world_change(RankState& state) noexcept;
// The level MPI_THREAD_SINGLE ... for a requested one: all are provided, and cost the same.
int clamp_thread_level(int required) noexcept;

}  // namespace mpc::mpi
