// SPDX-License-Identifier: Apache-2.0
// Makes a decoder's inputs other than its cache: tokens, and masks and positions that follow from
// their number.
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
  // `free` has the model's inputs that are not states. Unimplemented, naming the input and listing
  // all, for an unknown kind of input; InvalidArgument if there is no input for tokens.
  static absl::StatusOr<DecoderInputs> Find(const std::vector<api::TensorSpec>& free);

  // Input values for the tokens `now` after `before` earlier ones; masks have `room` elements.
  std::map<std::string, HostTensor> Make(absl::Span<const int64_t> now, int64_t before,
                                         int64_t room) const;
  // True if the model accepts only one token at a time.
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

// The index of the scores among the outputs that are not states. InvalidArgument if there are none.
absl::StatusOr<size_t> FindScores(const std::vector<api::TensorSpec>& free);

// The scores of the last row.
std::vector<float> LastScores(const HostTensor& scores);

}  // namespace tartan::generate
