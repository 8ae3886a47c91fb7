#pragma once
// Operation: a put, a get or an accumulate of another process, located in its target's memory.
//
// Role:      what serve.cpp and transfers.cpp have in common.
// Users:     runtime/rma/serve.cpp, runtime/rma/transfers.cpp.
// Threads:   plain data; as long as its packet is being served.
// See also:  runtime/rma/port.h.

#include <span>

#include "runtime/rma/accumulate_gate.h"
#include "runtime/rma/port.h"

namespace mpc::rma {

struct Port::Operation {
  int from;
  const Packet& packet;
  std::span<const std::byte> data;
  char* at;  // the address of the displacement
  const dt::Datatype& type;
  AccumulateGate::Passage who;
};

}  // namespace mpc::rma
