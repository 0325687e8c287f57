// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/growing_state.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tartan::generate {

TensorShape GrowingState::WithRows(int64_t rows) const {
  TensorShape shape = empty;
  shape.dims[static_cast<size_t>(axis)] = rows;
  return shape;
}

absl::Status CheckOpenLengths(const api::Model& model,
                              const std::vector<api::StatePlaces>& places) {
  for (const api::StatePlaces& place : places) {
    const api::TensorSpec& past = model.inputs()[place.input];
    const api::TensorSpec& present = model.outputs()[place.output];
    for (size_t d = 0; d < std::min(past.dims.size(), present.dims.size()); ++d) {
      if (past.dims[d] < 0 || present.dims[d] < 0 || past.dims[d] == present.dims[d]) continue;
      return absl::UnimplementedError(
          absl::StrCat("the cache ", past.ToString(), " has a fixed length, but its next value is ",
                       present.ToString(), ": export the model with open lengths"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<GrowingState>> FindGrowing(
    const api::Model& model, const std::vector<api::StatePlaces>& places,
    const std::map<std::string, HostTensor>& fed) {
  std::vector<const TensorShape*> shapes;
  for (const api::TensorSpec& input : model.inputs()) {
    const auto value = fed.find(input.name);
    shapes.push_back(value == fed.end() ? nullptr : &value->second.shape());
  }
  std::vector<GrowingState> states;
  for (const api::StatePlaces& place : places) {
    const absl::StatusOr<TensorShape> empty = api::FirstShape(model, place.input, shapes);
    if (!empty.ok()) return absl::UnimplementedError(empty.status().message());
    const std::vector<int64_t>& dims = empty->dims;
    if (std::count(dims.begin(), dims.end(), 0) != 1) {
      return absl::UnimplementedError(absl::StrCat("'", model.inputs()[place.input].name,
                                                   "' does not grow by an element for each token"));
    }
    const auto axis = std::find(dims.begin(), dims.end(), 0) - dims.begin();
    states.push_back({place, axis, *empty});
  }
  return states;
}

HostTensor RowsOf(const HostTensor& value, int64_t axis, int64_t first, int64_t count,
                  int64_t room) {
  TensorShape shape = value.shape();
  const auto along = static_cast<size_t>(axis);
  const int64_t had = shape.dims[along];
  shape.dims[along] = room;
  int64_t row = ByteWidth(shape.type);
  for (size_t d = along + 1; d < shape.dims.size(); ++d) row *= shape.dims[d];
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t o = 0; o * room * row < shape.byte_size() && count > 0; ++o) {
    std::memcpy(bytes.data() + o * room * row, value.bytes().data() + (o * had + first) * row,
                static_cast<size_t>(count * row));
  }
  return HostTensor(shape, bytes);
}

}  // namespace tartan::generate
