// SPDX-License-Identifier: Apache-2.0
// Tensors computed from placeholders by one program on a device. Internal to frontend/api.
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
  // `placeholders` with undefined ones among them, for which there will be no value.
  static absl::StatusOr<Fetch> Make(const Device& device, absl::Span<const Tensor> placeholders,
                                    absl::Span<const Tensor> wanted, absl::string_view name,
                                    bool is_checked, RunStatistics* statistics,
                                    LoadedPrograms* shared);

  // The wanted tensors, in order; `values` by placeholder. Adds kernels to `statistics`. Where the
  // device computes in float64, all floats that come out are float64; those that go in may be.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> values,
                                              RunStatistics* statistics,
                                              std::vector<KernelProfile>* profile) const;

 private:
  // A constant, a placeholder's value, or the next output of the program.
  enum class From : uint8_t { kConstant, kPlaceholder, kProgram };
  struct Source {
    From from = From::kConstant;
    HostTensor constant;
    int placeholder = 0;
  };
  std::vector<Source> sources_;  // per wanted tensor
  bool in_float64_ = false;
  std::vector<int> inputs_;  // placeholders the program reads
  CheckedProgram program_;   // not loaded when there is nothing to compute
};

}  // namespace tartan::api
