#include "runtime/loader/blueprint.h"

#include <unistd.h>

namespace mpc::loader {

Blueprint::~Blueprint() {
  if (image_fd >= 0) ::close(image_fd);
}

}  // namespace mpc::loader
