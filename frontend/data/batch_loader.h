// SPDX-License-Identifier: Apache-2.0
// Batches in the order of the epochs, made by other threads while the last ones are used.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

// A column as a batch gives it. Of another type than the dataset's, each value is converted, and
// one that the type does not have is an error (convert.h).
struct BatchColumn {
  std::string name;
  DataType type = DataType::kInvalid;  // kInvalid: as it is
  double scale = 1;                    // each value is multiplied by it: 1.0 / 255 for bytes
};

struct BatchOptions {
  std::vector<BatchColumn> columns = {};                    // none: all, as they are
  std::optional<std::vector<int64_t>> rows = std::nullopt;  // those of a split; by default all
  int64_t batch_size = 32;
  bool drop_last = true;  // the rows of an epoch that do not fill a batch; else a smaller one
  bool shuffle = true;
  uint64_t seed = 0;
  int64_t epochs = 0;  // where it ends; 0: never
  int ahead = 3;       // batches that are made before they are asked for
  int threads = 1;
};

// Where a run is: what takes it up again.
struct Position {
  int64_t epoch = 0;
  int64_t step = 0;  // within the epoch; the number of its steps is the next epoch's first
  bool operator==(const Position&) const = default;
};

struct Batch {
  Position position;
  int64_t size = 0;                 // examples
  std::vector<HostTensor> columns;  // [size, ...], in the order of the options
};

// For one consumer. Its batches depend on dataset, options and position alone, not on threads.
class BatchLoader {
 public:
  // Begins to read. NotFound for a column, OutOfRange for a row or a position that is not there,
  // InvalidArgument for other options, and where no batch can be filled.
  static absl::StatusOr<std::unique_ptr<BatchLoader>> Start(std::shared_ptr<const Dataset> dataset,
                                                            BatchOptions options,
                                                            Position start = {});
  // Waits for no more than the batches being read.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  int64_t steps_per_epoch() const { return steps_; }

  // That of the batch that Next gives: from here the run is taken up again.
  Position position() const;

  // The next batch; none after the last epoch. After an error, which names the position, the same
  // error again.
  absl::StatusOr<std::optional<Batch>> Next();

 private:
  using Order = std::shared_ptr<const std::vector<int64_t>>;

  BatchLoader(std::shared_ptr<const Dataset> dataset, BatchOptions options,
              std::vector<int> indices, Position start);

  Position PositionOf(int64_t number) const { return {number / steps_, number % steps_}; }
  auto& SlotOf(int64_t number) { return made_[number % options_.ahead]; }
  absl::Status StartThreads();
  void Work();
  Order OrderOf(int64_t epoch);
  absl::StatusOr<Batch> Make(Position position, const std::vector<int64_t>& order) const;
  absl::StatusOr<HostTensor> MakeColumn(size_t i, absl::Span<const int64_t> rows) const;

  const std::shared_ptr<const Dataset> dataset_;
  const BatchOptions options_;
  const std::vector<int> indices_;  // of the options' columns in the dataset
  const int64_t steps_;
  const int64_t end_;  // the number of the batch after the last

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. Batches are numbered through all epochs.
  bool is_ending_ = false;
  int64_t taken_;                                           // the next to be handed out
  int64_t claimed_;                                         // the next to be made
  std::vector<std::optional<absl::StatusOr<Batch>>> made_;  // at their number modulo `ahead`
  absl::Status failure_;
  int64_t order_epoch_ = -1;
  Order order_;

  std::vector<std::thread> threads_;
};

}  // namespace tartan::data
