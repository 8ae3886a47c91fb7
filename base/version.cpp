#include "base/version.h"

namespace mpc {

const char* version_text() noexcept { return MPC_VERSION_TEXT; }

}  // namespace mpc
