// SPDX-License-Identifier: Apache-2.0
// The cache of a decoder: which of its states grow with each token, and their rows on the host.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"
#include "frontend/api/resident/state_pairs.h"
#include "tile/base/host_tensor.h"

namespace tartan::generate {

// A state that grows by a row along an axis with each token: keys, values, or both.
struct GrowingState {
  api::StatePlaces place;
  int64_t axis = 0;
  TensorShape empty;  // before the first token

  // Keys and values, one behind the other along the first axis.
  bool is_joint() const { return empty.dims.size() == 5 && empty.dims[0] == 2 && axis > 1; }
  TensorShape WithRows(int64_t rows) const;
};

// Unimplemented for a state that has fixed sizes, and comes back with others.
absl::Status CheckOpenLengths(const api::Model& model, const std::vector<api::StatePlaces>& places);

// `fed`: the inputs of the first run that are no states. Unimplemented, naming it, for a state that
// does not begin without rows along one axis.
absl::StatusOr<std::vector<GrowingState>> FindGrowing(const api::Model& model,
                                                      const std::vector<api::StatePlaces>& places,
                                                      const std::map<std::string, HostTensor>& fed);

// `count` rows of a tensor along an axis, from `first` on, with zeros behind them up to `room`
// rows.
HostTensor RowsOf(const HostTensor& value, int64_t axis, int64_t first, int64_t count,
                  int64_t room);
inline HostTensor RowsOf(const HostTensor& value, int64_t axis, int64_t first, int64_t count) {
  return RowsOf(value, axis, first, count, count);
}

}  // namespace tartan::generate
