// SPDX-License-Identifier: Apache-2.0
// Examples to train on: named columns of equally many rows, one row an example. Rows are read when
// they are asked for, so that a dataset may be larger than memory.
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
  TensorShape example;                    // of one row
  std::vector<std::string> classes = {};  // the names of what its integers stand for, if known

  // Of `rows` rows together: [rows, ...].
  TensorShape Batch(int64_t rows) const;
};

// Safe to use from several threads. Files that it reads must not change meanwhile.
class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const std::string& name() const { return name_; }  // for errors: the path
  const std::vector<Column>& columns() const { return columns_; }
  int64_t size() const { return size_; }  // examples, at least one

  // The column's index; NotFound names those that there are.
  absl::StatusOr<int> Find(absl::string_view column) const;

  // Writes the rows one after another, in the order given, with repetitions. OutOfRange names a row
  // that is none. Requires out.size() == columns()[column].Batch(rows.size()).byte_size().
  absl::Status Read(int column, absl::Span<const int64_t> rows, absl::Span<uint8_t> out) const;

  // 'a.npz: column "x", example 17, element [3, 4]', for errors; `element` within the example.
  std::string Place(int column, int64_t row, int64_t element) const;

  // Compares the checksums that the files have of themselves and that reading does not look at.
  virtual absl::Status Verify() const { return absl::OkStatus(); }

 protected:
  // InvalidArgument for no columns, no examples, and two columns of one name.
  static absl::Status CheckColumns(const std::string& name, const std::vector<Column>& columns,
                                   int64_t size);
  // Requires what CheckColumns accepts.
  Dataset(std::string name, std::vector<Column> columns, int64_t size);

 private:
  // Read, with everything checked and at least one row.
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

// The tensors' rows. InvalidArgument also for a scalar and for columns of differing lengths, naming
// both; `verify` is what Verify does.
absl::StatusOr<std::shared_ptr<const Dataset>> DatasetOf(
    std::string name, std::vector<NamedTensor> columns,
    std::function<absl::Status()> verify = nullptr);

}  // namespace tartan::data
