#pragma once
// whole_file: reads and writes the small files that the models keep.
//
// Role:      a reader meets the old file or the new one, never half of it.
// Users:     nbc/model/machine_file.cpp, nbc/model/tuned_file.cpp.
// Threads:   any.
// See also:  nbc/model/machine_file.h.

#include <string>

#include "base/result.h"

namespace mpc::nbc {

// Errors: kNotFound; kArg if it is no regular file (to open a FIFO would wait for a writer).
Result<std::string> read_whole_file(const std::string& path);
// A link stays one, and its file gets the text; a device or a FIFO is written to. Errors: kSystem.
Result<> write_whole_file(const std::string& text, const std::string& path);

// $XDG_CACHE_HOME/mpc, in ~/.cache without that variable; "" without either.
std::string cache_folder();

}  // namespace mpc::nbc
