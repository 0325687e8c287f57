// SPDX-License-Identifier: Apache-2.0
// Adds bounds checks to the indices of a kernel (compiler/check_bounds.h). Internal to the writer.
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

  // The number of sizes that the check adds to the kernel: one per parameter, including its report.
  size_t size_count() const { return is_on_ ? numbers_.size() : 0; }

  // Replaces the index by one that stays within its global or local memory. `lanes` is the number
  // of accessed elements, as text, and `type` the index type. Does nothing in kernels without
  // checks.
  void Check(const std::string& lanes, const loop::Type& type, Place* place) const;

 private:
  const Dialect& dialect_;
  bool is_on_ = false;
  std::map<std::string, size_t> numbers_;  // by parameter name
  std::map<std::string, int64_t> sizes_;   // by array name
};

// The declaration of an array.
std::string ArrayText(const loop::DeclareArray& array, const Dialect& dialect);

}  // namespace tartan::codegen
