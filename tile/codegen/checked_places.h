// SPDX-License-Identifier: Apache-2.0
// The indices of a kernel that checks its accesses (compiler/check_bounds.h). Internal to the
// writer.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tile/codegen/dialect.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

class CheckedPlaces {
 public:
  explicit CheckedPlaces(const Dialect& dialect) : dialect_(dialect) {}

  void Begin(const loop::Kernel& kernel);
  void Add(const loop::DeclareArray& array);

  // The sizes that the check adds to the kernel: one for each parameter, its report among them.
  size_t size_count() const { return is_on_ ? numbers_.size() : 0; }

  // Replaces the index by one that stays in global and local memory. `lanes` is how many elements
  // are accessed, as text, and `type` the index's. Does nothing in kernels without checks.
  void Check(const std::string& lanes, const loop::Type& type, Place* place) const;

 private:
  const Dialect& dialect_;
  bool is_on_ = false;
  std::map<std::string, size_t> numbers_;  // of parameters, by name
  std::map<std::string, int64_t> sizes_;   // of arrays, by name
};

// The declaration of an array.
std::string ArrayText(const loop::DeclareArray& array, const Dialect& dialect);

}  // namespace tartan::codegen
