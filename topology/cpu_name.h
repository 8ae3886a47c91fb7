#pragma once
// cpu_name: what the processor calls itself.
//
// Role:      tells machines apart whose cores lie in the same way.
// Users:     nbc/overlap and tools/mpcinfo, for measurements that hold for one kind of machine.
// Threads:   pure.
// See also:  topology/fingerprint.h.

#include <string>

namespace mpc::topo {

// "AMD EPYC 7B13", without blanks at the ends; "" where it does not say. Cost: a few instructions, which a
// virtual machine's host answers in some microseconds each.
std::string cpu_name();

}  // namespace mpc::topo
