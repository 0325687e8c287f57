// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/dataset.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/printable.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

std::string Quoted(absl::string_view name) { return absl::StrCat("\"", Printable(name), "\""); }

class TensorDataset : public Dataset {
 public:
  static absl::StatusOr<std::shared_ptr<const Dataset>> Create(
      std::string name, std::vector<NamedTensor> tensors, std::function<absl::Status()> verify) {
    std::vector<Column> columns;
    for (const NamedTensor& column : tensors) {
      const TensorShape& shape = column.tensor.shape();
      if (shape.dims.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": column ", Quoted(column.name),
                         " is a scalar: it has no dimension for examples"));
      }
      const int64_t length = tensors[0].tensor.shape().dims[0];
      if (shape.dims[0] != length) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": column ", Quoted(tensors[0].name), " has ", length,
                         " examples, but column ", Quoted(column.name), " has ", shape.dims[0]));
      }
      columns.push_back({column.name, {shape.type, {shape.dims.begin() + 1, shape.dims.end()}}});
    }
    const int64_t size = tensors.empty() ? 0 : tensors[0].tensor.shape().dims[0];
    TARTAN_RETURN_IF_ERROR(CheckColumns(name, columns, size));
    return std::shared_ptr<const Dataset>(new TensorDataset(
        std::move(name), std::move(columns), size, std::move(tensors), std::move(verify)));
  }

  absl::Status Verify() const override { return verify_ ? verify_() : absl::OkStatus(); }

 private:
  TensorDataset(std::string name, std::vector<Column> columns, int64_t size,
                std::vector<NamedTensor> tensors, std::function<absl::Status()> verify)
      : Dataset(std::move(name), std::move(columns), size),
        tensors_(std::move(tensors)),
        verify_(std::move(verify)) {}

  absl::Status DoRead(int column, absl::Span<const int64_t> rows,
                      absl::Span<uint8_t> out) const override {
    const uint8_t* from = tensors_[column].tensor.bytes().data();
    const size_t width = out.size() / rows.size();
    if (width == 0) return absl::OkStatus();
    for (size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(out.data() + i * width, from + rows[i] * width, width);
    }
    return absl::OkStatus();
  }

  const std::vector<NamedTensor> tensors_;
  const std::function<absl::Status()> verify_;
};

}  // namespace

TensorShape Column::Batch(int64_t rows) const {
  TensorShape shape = example;
  shape.dims.insert(shape.dims.begin(), rows);
  return shape;
}

absl::Status Dataset::CheckColumns(const std::string& name, const std::vector<Column>& columns,
                                   int64_t size) {
  if (columns.empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": has no columns"));
  if (size == 0) return absl::InvalidArgumentError(absl::StrCat(name, ": has no examples"));
  for (size_t i = 0; i < columns.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (columns[i].name != columns[j].name) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": has two columns ", Quoted(columns[i].name)));
    }
  }
  return absl::OkStatus();
}

Dataset::Dataset(std::string name, std::vector<Column> columns, int64_t size)
    : name_(std::move(name)), columns_(std::move(columns)), size_(size) {}

absl::StatusOr<int> Dataset::Find(absl::string_view column) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name == column) return static_cast<int>(i);
  }
  const auto quoted = [](std::string* out, const Column& c) {
    absl::StrAppend(out, Quoted(c.name));
  };
  return absl::NotFoundError(absl::StrCat(name_, ": has no column ", Quoted(column), ", but ",
                                          absl::StrJoin(columns_, ", ", quoted)));
}

std::string Dataset::Place(int column, int64_t row, int64_t element) const {
  std::vector<int64_t> position = columns_[column].example.dims;
  for (size_t d = position.size(); d-- > 0;) {
    const int64_t dim = position[d];
    position[d] = element % dim;
    element /= dim;
  }
  const std::string place =
      absl::StrCat(name_, ": column ", Quoted(columns_[column].name), ", example ", row);
  return position.empty() ? place : absl::StrCat(place, ", element ", DimsToString(position));
}

absl::Status Dataset::Read(int column, absl::Span<const int64_t> rows,
                           absl::Span<uint8_t> out) const {
  if (column < 0 || column >= static_cast<int>(columns_.size())) {
    return absl::OutOfRangeError(
        absl::StrCat(name_, ": column ", column, " of ", columns_.size(), " columns"));
  }
  for (const int64_t row : rows) {
    if (row >= 0 && row < size_) continue;
    return absl::OutOfRangeError(
        absl::StrCat(name_, ": example ", row, " of ", size_, " examples"));
  }
  const int64_t needed = columns_[column].Batch(rows.size()).byte_size();
  if (needed != static_cast<int64_t>(out.size())) {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": ", rows.size(), " rows of column ",
                                                   Quoted(columns_[column].name), " are ", needed,
                                                   " bytes, not ", out.size()));
  }
  return rows.empty() ? absl::OkStatus() : DoRead(column, rows, out);
}

absl::StatusOr<std::shared_ptr<const Dataset>> DatasetOf(std::string name,
                                                         std::vector<NamedTensor> columns,
                                                         std::function<absl::Status()> verify) {
  return TensorDataset::Create(std::move(name), std::move(columns), std::move(verify));
}

}  // namespace tartan::data
