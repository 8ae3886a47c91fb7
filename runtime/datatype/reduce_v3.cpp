// Compiled with -march=x86-64-v3, see CMakeLists.txt.
#include "runtime/datatype/reduce_kernels.h"

namespace mpc::dt {
constinit const ReduceTable kReduceV3 = make_table();
}  // namespace mpc::dt
