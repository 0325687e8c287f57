// SPDX-License-Identifier: Apache-2.0
// One program on a device that computes given tensors from placeholders. Internal to frontend/api.
#pragma once

#include <memory>
#include <vector>

#include "frontend/api/checks/checked_program.h"
#include "frontend/api/device.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

class Fetch {
 public:
  // `placeholders` may contain undefined ones, for which Run gets no value.
  static absl::StatusOr<Fetch> Make(LoadedPrograms& programs, absl::Span<const Tensor> placeholders,
                                    absl::Span<const Tensor> wanted, absl::string_view name,
                                    bool is_checked, RunStatistics* statistics);

  // Returns the wanted tensors in order; `values` has one value per placeholder. Adds kernels to
  // `statistics`. If the device computes in float64, all float results are float64 and float inputs
  // may be.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> values,
                                              RunStatistics* statistics,
                                              std::vector<KernelProfile>* profile) const;

 private:
  // Source of a wanted tensor: a constant, a placeholder's value, or the next program output.
  enum class From : uint8_t { kConstant, kPlaceholder, kProgram };
  struct Source {
    From from = From::kConstant;
    HostTensor constant;
    int placeholder = 0;
  };
  std::vector<Source> sources_;  // one per wanted tensor
  bool in_float64_ = false;
  std::vector<int> inputs_;  // indices of the placeholders that the program reads
  CheckedProgram program_;   // not loaded if there is nothing to compute
};

}  // namespace tartan::api
