// SPDX-License-Identifier: Apache-2.0
// The interface of training data: named columns with the same number of rows, one row per example.
// Rows are read on request, so that a dataset may be larger than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"

namespace tartan::data {

struct Column {
  std::string name;
  TensorShape example;                    // shape of one row
  std::vector<std::string> classes = {};  // names of integer classes, if known

  // The shape of `rows` rows: [rows, ...].
  TensorShape Batch(int64_t rows) const;
};

// Thread-safe. Files that it reads must not change meanwhile.
class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const std::string& name() const { return name_; }  // the path, for error messages
  const std::vector<Column>& columns() const { return columns_; }
  int64_t size() const { return size_; }  // number of examples, 1 or more

  // The column's index; NotFound lists the columns.
  absl::StatusOr<int> Find(absl::string_view column) const;

  // Reads the rows, concatenated in the given order, which may have repetitions. OutOfRange names
  // an invalid row. Requires out.size() == columns()[column].Batch(rows.size()).byte_size().
  absl::Status Read(int column, absl::Span<const int64_t> rows, absl::Span<uint8_t> out) const;

  // Describes an element for errors: 'a.npz: column "x", example 17, element [3, 4]'. `element`
  // counts within the example.
  std::string Place(int column, int64_t row, int64_t element) const;

  // Compares the files' checksums that reading skips.
  virtual absl::Status Verify() const { return absl::OkStatus(); }

 protected:
  // InvalidArgument for no columns, no examples, and two columns with one name.
  static absl::Status CheckColumns(const std::string& name, const std::vector<Column>& columns,
                                   int64_t size);
  // Requires that CheckColumns succeeded.
  Dataset(std::string name, std::vector<Column> columns, int64_t size);

 private:
  // Implements Read. All arguments are checked, and `rows` is not empty.
  virtual absl::Status DoRead(int column, absl::Span<const int64_t> rows,
                              absl::Span<uint8_t> out) const = 0;

  std::string name_;
  std::vector<Column> columns_;
  int64_t size_;
};

struct NamedTensor {
  std::string name;
  HostTensor tensor;  // [examples, ...]
};

// Makes a dataset from tensors. InvalidArgument also for a scalar, and for columns of different
// lengths, naming both. Verify calls `verify`.
absl::StatusOr<std::shared_ptr<const Dataset>> DatasetOf(
    std::string name, std::vector<NamedTensor> columns,
    std::function<absl::Status()> verify = nullptr);

}  // namespace tartan::data
