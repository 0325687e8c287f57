// SPDX-License-Identifier: Apache-2.0
// A decoder's growing states: finds them, and extracts their rows on the host.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"
#include "frontend/api/resident/state_pairs.h"
#include "tile/base/host_tensor.h"

namespace tartan::generate {

// A state that grows by one row along an axis with each token: keys, values, or both.
struct GrowingState {
  api::StatePlaces place;
  int64_t axis = 0;
  TensorShape empty;  // shape before the first token

  // True if keys and values are stacked along the first axis.
  bool is_joint() const { return empty.dims.size() == 5 && empty.dims[0] == 2 && axis > 1; }
  TensorShape WithRows(int64_t rows) const;
};

// Unimplemented for a state whose declared input sizes are fixed but differ from its output sizes.
absl::Status CheckOpenLengths(const api::Model& model, const std::vector<api::StatePlaces>& places);

// `fed` has the first run's inputs that are not states. Unimplemented, naming it, for a state that
// does not start with size 0 along one axis.
absl::StatusOr<std::vector<GrowingState>> FindGrowing(const api::Model& model,
                                                      const std::vector<api::StatePlaces>& places,
                                                      const std::map<std::string, HostTensor>& fed);

// Returns `count` rows of a tensor along an axis, from `first` on, padded with zeros to `room`
// rows.
HostTensor RowsOf(const HostTensor& value, int64_t axis, int64_t first, int64_t count,
                  int64_t room);
inline HostTensor RowsOf(const HostTensor& value, int64_t axis, int64_t first, int64_t count) {
  return RowsOf(value, axis, first, count, count);
}

}  // namespace tartan::generate
