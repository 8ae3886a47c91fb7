#include "runtime/datatype/reduce_kernels.h"

namespace mpc::dt {
constinit const ReduceTable kReduceBaseline = make_table();
}  // namespace mpc::dt
