#pragma once
// Fault: the reports of mpi.check=full about a wrong program, and the places of its calls.
//
// Role:      names the places of calls in the source; counts faults by their places, so that each is
//            printed once; gives the job its exit status.
// Users:     mpi/objects, mpi/check.
// Threads:   any execution of a rank.
// See also:  docs/checking.md, docs/design/0034-checking.md; mpi/objects/check.h.

#include <compare>
#include <cstdint>
#include <string>

#include "mpi/objects/call_site.h"
#include "runtime/datatype/datatype.h"

namespace mpc::mpi {

// A place in a program or library, the same for all ranks that run it.
struct CodePlace {
  std::string path;     // empty: unknown
  uint64_t offset = 0;  // in that file's address space, within the call
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means what the compiler generates
  auto operator<=>(const CodePlace&) const = default;
};
CodePlace place_of(const void* return_address);
// "ring.c:12"; "ring+0x1189" without debug data. Cost: the first time for each place, a process
// that runs binutils' addr2line.
std::string text_of(const CodePlace& place);

// "MPI_Send at ring.c:12"; without a place the call alone.
std::string call_at(const char* call, const CodePlace& place);
inline std::string call_at(const CallSite& site) {
  return call_at(site.call, place_of(site.address));
}

// "4 MPI_INT", "2 of a derived type of 3 MPI_DOUBLE".
std::string elements_text(dt::Count count, const dt::Datatype& type);
std::string elements_text(dt::Count count, uint32_t abi_code, uint32_t uniform_code,
                          dt::Count elements);

namespace detail {
// Counts the fault. True: it is the first of this kind at these places, and must be printed.
bool is_new_fault(const char* kind, const CodePlace& a, const CodePlace& b);
// Prints the fault. With mpi.check_action=abort it also ends the job.
void print_fault(const char* kind, const std::string& text);
}  // namespace detail

// `text` makes the text printed behind the kind: the first line, then indented ones. It is called
// once for each kind and pair of places.
template <class Text>
void report_fault(const char* kind, const CodePlace& a, const CodePlace& b, Text text) {
  if (detail::is_new_fault(kind, a, b)) detail::print_fault(kind, text());
}

// At the end of the job: reports how often each fault was seen, since each was printed only once.
void report_fault_counts();

}  // namespace mpc::mpi
