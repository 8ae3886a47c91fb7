#pragma once
// Shipment: what one process has in a window of the file that another one accesses.
//
// Role:      packs the pieces of a process's members with a short description of where they belong;
//            puts what has come from all processes into the file at once, or takes it from there.
// Users:     mpi/io/two_phase.
// Threads:   any; one object belongs to one thread.
// See also:  runtime/io/domains.h (whose window), runtime/io/windows.h (the same within a process).

#include <memory>
#include <span>
#include <vector>

#include "runtime/io/scratch.h"
#include "runtime/io/windows.h"

namespace mpc::io {

// `count` stretches of the file, all of `bytes`, the first one at `offset`, each `stride` behind the one
// before. Travels as bytes.
struct RunGroup {
  Count offset, bytes, stride, count;
};

struct Shipment {
  std::vector<RunGroup> groups;
  Count bytes = 0;  // of data, in the order of the groups
  std::unique_ptr<Scratch> memory;

  // Null: there are no data, or no memory for them.
  char* data() const noexcept { return memory != nullptr ? memory->data() : nullptr; }
  // Makes room for so many bytes. False: there is no memory.
  bool make_room(Count wanted) noexcept;
  void add_run(Count offset, Count run_bytes);
};

// What the parts have in [begin, end) of the file; their views are ordered. Without its data.
Shipment describe(std::span<const Part> parts, Count begin, Count end);
// Between the members' buffers and the data, which have room; `stop`: what the file has from there on is
// not given to the members.
void load(std::span<const Part> parts, Count begin, Count end, Shipment& shipment);
void unload(std::span<const Part> parts, Count begin, Count end,
            const Shipment& shipment, Count stop);

// Both: all shipments of one window. Data that are not there (null) are left out. Switches: sometimes.
WindowOutcome write_shipments(const Target& target, std::span<const Shipment> all);
// To the data of all of them.
WindowOutcome read_shipments(const Target& target, std::span<Shipment> all);

}  // namespace mpc::io
