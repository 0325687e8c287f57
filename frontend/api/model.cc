// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/model.h"

#include "absl/strings/str_cat.h"
#include "tile/base/printable.h"

namespace tartan::api {
namespace {

// Returns true if a map, or a sequence of maps with the same keys, is as declared.
bool MapFits(const TensorSpec& spec, const HostValue& value, int sequence_depth) {
  const bool is_one = value.values().tensor().shape().rank() == 1;
  return is_one == (sequence_depth == 0) && sequence_depth <= 1 &&
         value.keys().element() == *spec.map_keys && value.values().element() == spec.element &&
         value.values().tensor().type() == spec.type;
}

// Returns true if a tensor, or each element of a sequence, is as declared.
bool Fits(const TensorSpec& spec, const HostValue& value, int sequence_depth) {
  if (value.is_nothing()) return spec.may_be_empty;
  if (value.is_map()) return spec.map_keys.has_value() && MapFits(spec, value, sequence_depth);
  if (sequence_depth > 0) {
    if (!value.is_sequence()) return false;
    for (const HostValue& element : value.elements()) {
      if (!Fits(spec, element, sequence_depth - 1)) return false;
    }
    return true;
  }
  if (!value.is_tensor() || spec.map_keys || value.element() != spec.element) return false;
  const TensorShape& shape = value.tensor().shape();
  bool fits = spec.type == DataType::kInvalid || spec.type == shape.type;
  if (spec.has_rank) {
    fits &= spec.dims.size() == shape.dims.size();
    for (size_t d = 0; fits && d < spec.dims.size(); ++d) {
      fits &= spec.dims[d] < 0 || spec.dims[d] == shape.dims[d];
    }
  }
  return fits;
}

}  // namespace

std::string TensorSpec::ToString() const {
  std::string text = absl::StrCat(Printable(name), ": ", may_be_empty ? "optional " : "");
  for (int d = 0; d < sequence_depth; ++d) absl::StrAppend(&text, "sequence of ");
  if (map_keys) {
    absl::StrAppend(&text, "map of ", *map_keys == Element::kString ? "string" : "int64", " to ");
  }
  if (element != Element::kPlain) {
    absl::StrAppend(&text, api::Name(element));
  } else if (type != DataType::kInvalid) {
    absl::StrAppend(&text, tartan::Name(type));
  }
  if (map_keys) return text;
  if (!has_rank) return absl::StrCat(text, "[any rank]");
  absl::StrAppend(&text, "[");
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d > 0) absl::StrAppend(&text, ", ");
    if (dims[d] >= 0) {
      absl::StrAppend(&text, dims[d]);
    } else {
      const bool named = d < dim_names.size() && !dim_names[d].empty();
      absl::StrAppend(&text, named ? Printable(dim_names[d]) : "?");
    }
  }
  return absl::StrCat(text, "]");
}

absl::Status CheckAgainstSpec(const TensorSpec& spec, const HostValue& value) {
  if (Fits(spec, value, spec.sequence_depth)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input '", spec.name, "' is ", Describe(value),
                                                 ", but the model declares ", spec.ToString()));
}

}  // namespace tartan::api
