#pragma once
// The version of this project as text ("1.2.3"); it is set in CMakeLists.txt and nowhere else.
//
// Role:      text for people.
// Users:     mpi/env, tools/mpcrun, tools/mpcinfo.
// Threads:   any.

namespace mpc {

const char* version_text() noexcept;

}  // namespace mpc
