#pragma once
// Tuning: the info hints of a file as values.
//
// Role:      sizes and switches of an access, with ROMIO's meanings.
// Users:     runtime/io, mpi/objects/file.h; mpi/io/file_hints.cpp fills it.
// Threads:   a value.
// See also:  docs/files.md, "Info keys"; docs/design/0028-files.md.

#include "runtime/io/outcome.h"

namespace mpc::io {

enum class Switch : unsigned char { kAutomatic, kEnable, kDisable };

struct Tuning {
  Switch sieve_reads = Switch::kAutomatic;        // romio_ds_read
  Switch sieve_writes = Switch::kAutomatic;       // romio_ds_write
  Switch collective_reads = Switch::kAutomatic;   // romio_cb_read
  Switch collective_writes = Switch::kAutomatic;  // romio_cb_write
  // A window of the file should stay in a core's cache until its pieces are copied.
  Count read_window_bytes = Count{512} << 10;   // ind_rd_buffer_size; ROMIO: 4 MiB
  Count write_window_bytes = Count{512} << 10;  // ind_wr_buffer_size
  // cb_buffer_size. The same between the two phases.
  Count collective_window_bytes = Count{1} << 20;
};

}  // namespace mpc::io
