#pragma once
// Shipment: the data that one process has in a window of the file that another one accesses.
//
// Role:      packs the pieces of a process's members with a short description of where they belong.
//            Writes what has come from all processes to the file at once, or reads it from there.
// Users:     mpi/io/two_phase.
// Threads:   any; one object belongs to one thread.
// See also:  runtime/io/domains.h (whose window it is), runtime/io/windows.h (within a process).

#include <memory>
#include <span>
#include <vector>

#include "runtime/io/scratch.h"
#include "runtime/io/windows.h"

namespace mpc::io {

// `count` stretches of the file of `bytes` bytes each. The first one is at `offset`, each other one
// `stride` after the one before. Sent as bytes.
struct RunGroup {
  Count offset, bytes, stride, count;
};

struct Shipment {
  std::vector<RunGroup> groups;
  Count bytes = 0;  // of data, in the order of the groups
  std::unique_ptr<Scratch> memory;

  // Null: there are no data, or there is no memory for them.
  char* data() const noexcept { return memory != nullptr ? memory->data() : nullptr; }
  // Allocates `wanted` bytes. False: there is no memory.
  bool make_room(Count wanted) noexcept;
  void add_run(Count offset, Count run_bytes);
};

// Describes what the parts have in [begin, end) of the file; their views are ordered. No data yet.
Shipment describe(std::span<const Part> parts, Count begin, Count end);
// Copies between the members' buffers and the shipment's data, for which there is room; `stop`:
// nothing from this offset of the file on is copied to the members.
void load(std::span<const Part> parts, Count begin, Count end, Shipment& shipment);
void unload(std::span<const Part> parts, Count begin, Count end,
            const Shipment& shipment, Count stop);

// Both: all shipments of one window. Those without data (null) are left out. Switches: sometimes.
WindowOutcome write_shipments(const Target& target, std::span<const Shipment> all);
// Reads into the data of all shipments.
WindowOutcome read_shipments(const Target& target, std::span<Shipment> all);

}  // namespace mpc::io
