// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/parallel/batch_split.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tartan::api {
namespace {

bool HasOpenFirstDim(const TensorSpec& spec) {
  return spec.is_tensor() && spec.has_rank && !spec.dims.empty() && spec.dims[0] < 0;
}

// The dimension with this name, or an unnamed open first dimension; nullopt if there is neither.
std::optional<size_t> BatchAxis(const TensorSpec& spec, const std::string& name) {
  if (!spec.is_tensor() || !spec.has_rank) return std::nullopt;
  for (size_t d = 0; d < spec.dims.size() && !name.empty(); ++d) {
    if (spec.dims[d] < 0 && d < spec.dim_names.size() && spec.dim_names[d] == name) return d;
  }
  const bool is_named = !spec.dim_names.empty() && !spec.dim_names[0].empty();
  if (HasOpenFirstDim(spec) && (name.empty() || !is_named)) return 0;
  return std::nullopt;
}

std::string ListOf(const std::vector<TensorSpec>& specs) {
  return absl::StrJoin(specs, ", ", [](std::string* text, const TensorSpec& spec) {
    absl::StrAppend(text, spec.ToString());
  });
}

// The product of the dimensions before `axis`, and the bytes of one row.
std::pair<int64_t, int64_t> Strides(const TensorShape& shape, size_t axis) {
  int64_t outer = 1;
  int64_t row_bytes = ByteWidth(shape.type);
  for (size_t d = 0; d < axis; ++d) outer *= shape.dims[d];
  for (size_t d = axis + 1; d < shape.dims.size(); ++d) row_bytes *= shape.dims[d];
  return {outer, row_bytes};
}

// A tensor of uninitialised memory that `fill` writes.
template <class Fill>
HostTensor WriteRows(TensorShape shape, const Fill& fill) {
  const auto size = static_cast<size_t>(shape.byte_size());
  const std::shared_ptr<uint8_t[]> memory(new uint8_t[std::max<size_t>(size, 1)]);
  fill(memory.get());
  return HostTensor(std::move(shape), {memory.get(), size}, memory);
}

// Rows of a tensor.
struct RowRange {
  const HostTensor* tensor = nullptr;
  int64_t begin = 0;
  int64_t rows = 0;
};

// The rows of all ranges along `axis`. Other dimensions come from the first range.
HostTensor ConcatenateRows(absl::Span<const RowRange> ranges, size_t axis) {
  TensorShape shape = ranges[0].tensor->shape();
  const auto [outer, row_bytes] = Strides(shape, axis);
  shape.dims[axis] = 0;
  for (const RowRange& range : ranges) shape.dims[axis] += range.rows;
  return WriteRows(std::move(shape), [&, outer = outer, row_bytes = row_bytes](uint8_t* to) {
    for (int64_t o = 0; o < outer; ++o) {
      for (const RowRange& range : ranges) {
        const int64_t first = o * range.tensor->shape().dims[axis] + range.begin;
        const auto bytes = static_cast<size_t>(range.rows * row_bytes);
        if (bytes > 0) std::memcpy(to, range.tensor->bytes().data() + first * row_bytes, bytes);
        to += bytes;
      }
    }
  });
}

// Rows `begin` to `begin + rows` along `axis`; shares the memory of `value` if they are contiguous.
HostValue Slice(const HostValue& value, size_t axis, int64_t begin, int64_t rows) {
  const HostTensor& tensor = value.tensor();
  if (axis > 0) return value.With(ConcatenateRows({{&tensor, begin, rows}}, axis));
  TensorShape shape = tensor.shape();
  const int64_t row_bytes = Strides(shape, axis).second;
  shape.dims[0] = rows;
  const auto bytes = tensor.bytes().subspan(static_cast<size_t>(begin * row_bytes),
                                            static_cast<size_t>(rows * row_bytes));
  return value.With(
      HostTensor(std::move(shape), bytes, std::make_shared<const HostTensor>(tensor)));
}

// Strings are indices into word lists: parts with different lists get a common one first.
HostValue JoinOutput(std::vector<HostValue> parts, size_t axis) {
  if (parts[0].is_strings()) {
    Words words = parts[0].words();
    for (const HostValue& part : parts) words = Merge(words, part.words());
    for (HostValue& part : parts) {
      const std::vector<int64_t> positions = PositionsIn(words, part.words());
      std::vector<int64_t> indices;
      for (const int64_t word : part.tensor().ToInts()) {
        indices.push_back(positions[static_cast<size_t>(word)]);
      }
      part = HostValue(HostTensor::FromVector(part.tensor().shape(), indices), Element::kString,
                       words);
    }
  }
  std::vector<RowRange> ranges;
  for (const HostValue& part : parts) {
    ranges.push_back({&part.tensor(), 0, part.tensor().shape().dims[axis]});
  }
  return parts[0].With(ConcatenateRows(ranges, axis));
}

bool AreRowsEqual(const HostValue& a, const HostValue& b) {
  const HostTensor& x = a.tensor();
  const HostTensor& y = b.tensor();
  if (a.is_strings()) return StringsOf(a) == StringsOf(b);
  if (std::equal(x.bytes().begin(), x.bytes().end(), y.bytes().begin(), y.bytes().end())) {
    return true;
  }
  if (a.element() != Element::kPlain || !IsFloat(x.type())) return false;
  double largest = 0;
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const double value = std::abs(x.GetDouble(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const double tolerance = largest * (ByteWidth(x.type()) < 4 ? 1e-2 : 1e-3);
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const double left = x.GetDouble(i);
    const double right = y.GetDouble(i);
    const bool is_equal = left == right || (std::isnan(left) && std::isnan(right));
    if (!is_equal && !(std::abs(left - right) <= tolerance)) return false;
  }
  return true;
}

}  // namespace

std::vector<int64_t> DivideRows(int64_t rows, int64_t parts) {
  const int64_t used = std::max<int64_t>(1, std::min(rows, parts));
  std::vector<int64_t> sizes(static_cast<size_t>(used), rows / used);
  for (int64_t i = 0; i < rows % used; ++i) ++sizes[static_cast<size_t>(i)];
  return sizes;
}

absl::StatusOr<BatchSplit> BatchSplit::Create(const Model& model) {
  BatchSplit split;
  const auto& inputs = model.inputs();
  const auto first = std::find_if(inputs.begin(), inputs.end(), HasOpenFirstDim);
  if (first == inputs.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model '", model.name(),
                     "' has no batch axis to split over devices: no input has an open first "
                     "dimension (",
                     ListOf(inputs), "); run it on one device"));
  }
  const std::string name = first->dim_names.empty() ? "" : first->dim_names[0];
  for (const TensorSpec& spec : inputs) {
    if (const auto axis = BatchAxis(spec, name)) split.inputs_.push_back({spec.name, *axis});
  }
  for (const TensorSpec& spec : model.outputs()) {
    const std::optional<size_t> axis = BatchAxis(spec, name);
    const bool may_have = spec.is_tensor() && (!spec.has_rank || HasOpenFirstDim(spec));
    if (!axis && !may_have) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", spec.name, "' has no batch axis to join parts along (",
                       spec.ToString(), "); run the model on one device"));
    }
    split.outputs_.push_back({spec.name, axis.value_or(0)});
  }
  return split;
}

const BatchSplit::Axis* BatchSplit::Find(const std::string& input) const {
  for (const Axis& axis : inputs_) {
    if (axis.name == input) return &axis;
  }
  return nullptr;
}

absl::StatusOr<int64_t> BatchSplit::CountRows(const NamedValues& inputs) const {
  int64_t rows = -1;
  std::string first;
  for (const auto& [name, axis] : inputs_) {
    const auto found = inputs.find(name);
    if (found == inputs.end()) continue;  // an optional input; Session::Run reports required ones
    const HostValue& value = found->second;
    if (!value.is_tensor() || value.tensor().shape().dims.size() <= axis) {
      return absl::InvalidArgumentError(absl::StrCat("input '", name, "' is ", Describe(value),
                                                     ", which has no batch axis to split"));
    }
    const int64_t own = value.tensor().shape().dims[axis];
    if (rows < 0) {
      rows = own;
      first = name;
    } else if (own != rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", name, "' has ", own, " rows, but input '", first, "' has ", rows,
                       ": a batch over several devices has one size"));
    }
  }
  if (rows >= 0) return rows;
  return absl::InvalidArgumentError(
      absl::StrCat("input '", inputs_[0].name, "' is missing: it has the batch axis"));
}

std::vector<NamedValues> BatchSplit::Split(const NamedValues& inputs,
                                           absl::Span<const int64_t> sizes) const {
  std::vector<NamedValues> parts;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    NamedValues& part = parts.emplace_back();
    for (const auto& [name, value] : inputs) {
      const Axis* axis = Find(name);
      part.emplace(name, axis == nullptr ? value : Slice(value, axis->axis, begin, size));
    }
    begin += size;
  }
  return parts;
}

NamedValues BatchSplit::RepeatRow(const NamedValues& inputs, int64_t row) const {
  NamedValues repeated = inputs;
  for (auto& [name, value] : repeated) {
    const Axis* axis = Find(name);
    if (axis == nullptr) continue;
    const HostTensor tensor = value.tensor();
    const auto rows = static_cast<size_t>(tensor.shape().dims[axis->axis]);
    const std::vector<RowRange> copies(rows, RowRange{&tensor, row, 1});
    value = value.With(ConcatenateRows(copies, axis->axis));
  }
  return repeated;
}

absl::StatusOr<std::vector<HostValue>> BatchSplit::Join(
    const std::vector<std::vector<HostValue>>& parts, absl::Span<const int64_t> sizes) const {
  std::vector<HostValue> joined;
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const auto& [name, axis] = outputs_[o];
    std::vector<HostValue> values;
    std::vector<int64_t> others;  // dimensions of the first part, with the rows of part p
    for (size_t p = 0; p < parts.size(); ++p) {
      const HostValue& value = parts[p][o];
      const auto dims = value.is_tensor() ? value.tensor().shape().dims : std::vector<int64_t>();
      if (p == 0) others = dims;
      if (axis < others.size()) others[axis] = sizes[p];
      if (dims.size() <= axis || dims != others) {
        return absl::FailedPreconditionError(absl::StrCat(
            "output '", name, "' is ", Describe(value), " for a part of ", sizes[p],
            " rows: parts of the batch cannot be joined; run the model on one device"));
      }
      values.push_back(value);
    }
    joined.push_back(JoinOutput(std::move(values), axis));
  }
  return joined;
}

std::string BatchSplit::RowDifference(const std::vector<HostValue>& a,
                                      const std::vector<HostValue>& b, int64_t row) const {
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const size_t axis = outputs_[o].axis;
    if (!AreRowsEqual(Slice(a[o], axis, row, 1), Slice(b[o], axis, row, 1)))
      return outputs_[o].name;
  }
  return "";
}

}  // namespace tartan::api
