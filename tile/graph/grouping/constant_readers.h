// SPDX-License-Identifier: Apache-2.0
// Finds out whether and how often executions read values that depend only on constants.
#pragma once

#include <vector>

#include "tile/graph/value_kind.h"
#include "tile/ir/program.h"

namespace tartan::graph {

// All arguments must outlive the object. `users`: UsersOf the program. `is_constant`: per value.
class ConstantReaders {
 public:
  ConstantReaders(const ir::Program& program, const std::vector<std::vector<ir::ValueId>>& users,
                  const std::vector<Kind>& kinds, const std::vector<bool>& is_constant)
      : program_(program), users_(users), kinds_(kinds), is_constant_(is_constant) {}

  // Returns true if executions read each element more than once, possibly through a view.
  bool ReadRepeatedly(ir::ValueId v) const;
  // Returns true if an execution reads the value, possibly through inlined values.
  bool Read(ir::ValueId v) const;

 private:
  const ir::Program& program_;
  const std::vector<std::vector<ir::ValueId>>& users_;
  const std::vector<Kind>& kinds_;
  const std::vector<bool>& is_constant_;
};

}  // namespace tartan::graph
