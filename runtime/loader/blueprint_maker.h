#pragma once
// make_blueprint: reads a program and its private libraries, lays out a copy, loads the masters.
//
// Role:      the work that all copies of one program have in common.
// Users:     runtime/loader/image.cpp.
// Threads:   serialised by the caller.
// See also:  runtime/loader/blueprint.h (the result); docs/loader.md.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loader/blueprint.h"
#include "runtime/loader/library_sharing.h"

namespace mpc::loader {

struct BlueprintOptions {
  std::vector<std::string> preload;  // paths; private, before all libraries
  SharingRules sharing;
};

// Errors: kNotFound, kPermission, kImage, kSystem; see Image::open.
Result<std::unique_ptr<Blueprint>> make_blueprint(
    const std::string& path, const BlueprintOptions& options,
    const std::vector<PrivateVariable>& variables, size_t variables_bytes);

}  // namespace mpc::loader
