// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/parallel/batch_split.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

bool HasOpenFirstDim(const TensorSpec& spec) {
  return spec.is_tensor() && spec.has_rank && !spec.dims.empty() && spec.dims[0] < 0;
}

std::string FirstSymbol(const TensorSpec& spec) {
  return spec.dim_names.empty() ? "" : spec.dim_names[0];
}

std::string ListOf(const std::vector<TensorSpec>& specs) {
  return absl::StrJoin(specs, ", ", [](std::string* text, const TensorSpec& spec) {
    absl::StrAppend(text, spec.ToString());
  });
}

// Rows `begin` to `begin + rows`; shares the memory of `value`.
HostValue Slice(const HostValue& value, int64_t begin, int64_t rows) {
  const HostTensor& tensor = value.tensor();
  TensorShape shape = tensor.shape();
  const int64_t all = shape.dims[0];
  const int64_t row_bytes = all == 0 ? 0 : shape.byte_size() / all;
  shape.dims[0] = rows;
  const auto bytes = tensor.bytes().subspan(static_cast<size_t>(begin * row_bytes),
                                            static_cast<size_t>(rows * row_bytes));
  return value.With(
      HostTensor(std::move(shape), bytes, std::make_shared<const HostTensor>(tensor)));
}

// A tensor of uninitialised memory that `fill` writes.
template <class Fill>
HostTensor WriteRows(TensorShape shape, const Fill& fill) {
  const auto size = static_cast<size_t>(shape.byte_size());
  const std::shared_ptr<uint8_t[]> memory(new uint8_t[std::max<size_t>(size, 1)]);
  fill(memory.get());
  return HostTensor(std::move(shape), {memory.get(), size}, memory);
}

HostTensor Concatenate(const std::vector<HostTensor>& parts, int64_t rows) {
  TensorShape shape = parts[0].shape();
  shape.dims[0] = rows;
  return WriteRows(std::move(shape), [&](uint8_t* to) {
    for (const HostTensor& part : parts) {
      if (part.bytes().empty()) continue;
      std::memcpy(to, part.bytes().data(), part.bytes().size());
      to += part.bytes().size();
    }
  });
}

HostValue JoinOutput(const std::vector<const HostValue*>& parts, int64_t rows) {
  std::vector<HostTensor> tensors;
  std::vector<std::string> strings;
  for (const HostValue* part : parts) {
    tensors.push_back(part->tensor());
    if (!part->is_strings()) continue;
    const std::vector<std::string> more = StringsOf(*part);
    strings.insert(strings.end(), more.begin(), more.end());
  }
  if (!parts[0]->is_strings()) return parts[0]->With(Concatenate(tensors, rows));
  std::vector<int64_t> dims = tensors[0].shape().dims;
  dims[0] = rows;
  return HostStrings(std::move(dims), strings);
}

// InvalidArgument if the declaration says that parts cannot be joined along the first dimension.
absl::Status CheckOutput(const TensorSpec& spec) {
  if (!spec.is_tensor()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output '", spec.name, "' is not a tensor: parts of a batch cannot be joined (",
        spec.ToString(), ")"));
  }
  if (!spec.has_rank || HasOpenFirstDim(spec)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output '", spec.name, "' has no batch axis: its first dimension is not open (",
                   spec.ToString(), "); run the model on one device"));
}

bool AreRowsEqual(const HostValue& a, const HostValue& b) {
  const HostTensor& x = a.tensor();
  const HostTensor& y = b.tensor();
  if (a.is_strings()) return StringsOf(a)[0] == StringsOf(b)[0];
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
  for (const TensorSpec& spec : model.inputs()) {
    if (!HasOpenFirstDim(spec)) continue;
    const std::string symbol = FirstSymbol(spec);
    if (split.inputs_.empty()) split.symbol_ = symbol;
    if (symbol.empty() || split.symbol_.empty() || symbol == split.symbol_) {
      split.inputs_.push_back(spec.name);
    }
  }
  if (split.inputs_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model '", model.name(),
                     "' has no batch axis to split over devices: no input has an open first "
                     "dimension (",
                     ListOf(model.inputs()), "); run it on one device"));
  }
  for (const TensorSpec& spec : model.outputs()) {
    TARTAN_RETURN_IF_ERROR(CheckOutput(spec));
    split.outputs_.push_back(spec.name);
  }
  return split;
}

bool BatchSplit::is_split(const std::string& input) const {
  return std::find(inputs_.begin(), inputs_.end(), input) != inputs_.end();
}

absl::StatusOr<int64_t> BatchSplit::CountRows(const NamedValues& inputs) const {
  int64_t rows = -1;
  std::string first;
  for (const std::string& name : inputs_) {
    const auto found = inputs.find(name);
    if (found == inputs.end()) continue;  // an optional input; Session::Run reports required ones
    const HostValue& value = found->second;
    if (!value.is_tensor() || value.tensor().shape().dims.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", name, "' is ", Describe(value),
                                                     ", which has no batch axis to split"));
    }
    const int64_t own = value.tensor().shape().dims[0];
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
      absl::StrCat("input '", inputs_[0], "' is missing: it has the batch axis"));
}

std::vector<NamedValues> BatchSplit::Split(const NamedValues& inputs,
                                           absl::Span<const int64_t> sizes) const {
  std::vector<NamedValues> parts;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    NamedValues& part = parts.emplace_back();
    for (const auto& [name, value] : inputs) {
      part.emplace(name, is_split(name) ? Slice(value, begin, size) : value);
    }
    begin += size;
  }
  return parts;
}

NamedValues BatchSplit::RepeatFirstRow(const NamedValues& inputs) const {
  NamedValues repeated = inputs;
  for (auto& [name, value] : repeated) {
    if (!is_split(name)) continue;
    const int64_t rows = value.tensor().shape().dims[0];
    const std::vector<HostTensor> copies(static_cast<size_t>(rows), Slice(value, 0, 1).tensor());
    value = value.With(Concatenate(copies, rows));
  }
  return repeated;
}

absl::StatusOr<std::vector<HostValue>> BatchSplit::Join(
    const std::vector<std::vector<HostValue>>& parts, absl::Span<const int64_t> sizes) const {
  std::vector<HostValue> joined;
  for (size_t o = 0; o < outputs_.size(); ++o) {
    std::vector<const HostValue*> values;
    int64_t rows = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      const HostValue& value = parts[p][o];
      const bool fits = value.is_tensor() && !value.tensor().shape().dims.empty() &&
                        value.tensor().shape().dims[0] == sizes[p];
      std::vector<int64_t> dims = fits ? value.tensor().shape().dims : std::vector<int64_t>();
      if (fits) dims[0] = sizes[0];
      if (!fits || (p > 0 && dims != parts[0][o].tensor().shape().dims)) {
        return absl::FailedPreconditionError(absl::StrCat(
            "output '", outputs_[o], "' is ", Describe(value), " for a part of ", sizes[p],
            " rows: parts of the batch cannot be joined; run the model on one device"));
      }
      values.push_back(&value);
      rows += sizes[p];
    }
    joined.push_back(JoinOutput(values, rows));
  }
  return joined;
}

std::string FirstRowDifference(const Model& model, const std::vector<HostValue>& a,
                               const std::vector<HostValue>& b) {
  for (size_t o = 0; o < a.size(); ++o) {
    if (!AreRowsEqual(Slice(a[o], 0, 1), Slice(b[o], 0, 1))) return model.outputs()[o].name;
  }
  return "";
}

}  // namespace tartan::api
