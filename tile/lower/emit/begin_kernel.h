// SPDX-License-Identifier: Apache-2.0
// The common beginning of all kernels: index type, parameters and work-group size.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/index_emitter.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

inline DataType IndexTypeOf(const poly::FlatContraction& flat, const LowerOptions& options) {
  return options.force_64bit_indices || NeedsWideIndices(flat) ? DataType::kInt64
                                                               : DataType::kInt32;
}

// A kernel with its name and parameters.
inline loop::Kernel BeginKernel(const poly::FlatContraction& flat, const std::string& name,
                                DataType index_type) {
  loop::Kernel kernel;
  kernel.name = name;
  kernel.index_type = index_type;
  for (size_t o = 0; o < flat.outputs.size(); ++o) {
    kernel.parameters.push_back({absl::StrCat("out", o), flat.outputs[o].shape.type, true});
  }
  for (size_t t = 0; t < flat.tensors.size(); ++t) {
    kernel.parameters.push_back({absl::StrCat("in", t), flat.tensors[t].shape.type, false});
  }
  return kernel;
}

// A GPU kernel without a body: comments, parameters and launch sizes.
template <class Plan>
loop::Kernel BeginGroupKernel(const poly::FlatContraction& flat, const Plan& plan,
                              const std::string& name, DataType index_type) {
  loop::Kernel kernel = BeginKernel(flat, name, index_type);
  kernel.comments = flat.comments;
  kernel.comments.push_back(plan.ToString(flat));
  kernel.local_size[0] = plan.threads();
  kernel.global_size[0] = plan.threads() * plan.GroupCount(flat);
  return kernel;
}

}  // namespace tartan::lower
