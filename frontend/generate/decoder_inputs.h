// SPDX-License-Identifier: Apache-2.0
// What a decoder is given beside its cache: tokens, and what follows from how many there are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/model.h"
#include "tile/base/host_tensor.h"

namespace tartan::generate {

class DecoderInputs {
 public:
  // `free`: the model's inputs that are no states. Unimplemented, naming the input and listing all,
  // for one that is none of those known; InvalidArgument where there are no tokens among them.
  static absl::StatusOr<DecoderInputs> Find(const std::vector<api::TensorSpec>& free);

  // The tokens `now`, `before` of which others come; masks have `room` elements.
  std::map<std::string, HostTensor> Make(absl::Span<const int64_t> now, int64_t before,
                                         int64_t room) const;
  // Whether it takes tokens one by one.
  bool is_single() const { return is_single_; }

 private:
  enum class Role { kTokens, kMask, kPositions, kTypes, kHasCache, kWantedScores };
  struct Input {
    Role role = Role::kTokens;
    api::TensorSpec spec;
  };

  std::vector<Input> inputs_;
  bool is_single_ = false;
};

// The position of the output that holds the scores, among those that are no states.
// InvalidArgument where there is none.
absl::StatusOr<size_t> FindScores(const std::vector<api::TensorSpec>& free);

// The scores of the last row.
std::vector<float> LastScores(const HostTensor& scores);

}  // namespace tartan::generate
