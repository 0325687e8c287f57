// SPDX-License-Identifier: Apache-2.0
// Loads batches in epoch order, in background threads ahead of their use.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

// A column of a batch. If its type differs from the dataset's, each value is converted; a value
// that the type cannot represent is an error (convert.h).
struct BatchColumn {
  std::string name;
  DataType type = DataType::kInvalid;  // kInvalid: the dataset's type
  double scale = 1;                    // multiplied with each value: 1.0 / 255 for bytes
};

// Memory of a column; `owner` keeps the bytes valid.
struct BatchMemory {
  absl::Span<uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

struct BatchOptions {
  std::vector<BatchColumn> columns = {};                    // none: all, unconverted
  std::optional<std::vector<int64_t>> rows = std::nullopt;  // the rows of a split; default: all
  int64_t batch_size = 32;
  // Only this part of each batch is loaded, of `parts` that differ by at most one example. A part
  // may be empty; it then has no columns.
  int64_t part = 0;
  int64_t parts = 1;
  // Drop the last rows of an epoch if they do not fill a batch; otherwise they are a smaller batch.
  bool drop_last = true;
  bool shuffle = true;
  uint64_t seed = 0;
  int64_t epochs = 0;  // maximum; 0: endless
  int ahead = 3;       // batches prepared in advance
  int threads = 1;
  // Allocates the memory of columns, from several threads, such as pinned memory of a GPU. Null, or
  // no owner returned: ordinary memory.
  std::function<BatchMemory(int64_t bytes)> allocate = nullptr;
};

// The position of a training run in its batches; used to resume it.
struct Position {
  int64_t epoch = 0;
  // Step within the epoch; the number of steps per epoch means the next epoch's first step.
  int64_t step = 0;
  bool operator==(const Position&) const = default;
};

struct Batch {
  Position position;
  int64_t size = 0;                 // number of examples of the part
  std::vector<HostTensor> columns;  // [size, ...], in the order of the options
};

// Loads batches for one consumer. The batches depend on dataset, options and position only, not on
// the number of threads.
class BatchLoader {
 public:
  // Starts reading. NotFound for a column, OutOfRange for a row or position that does not exist,
  // InvalidArgument for other options and if no batch can be filled.
  static absl::StatusOr<std::unique_ptr<BatchLoader>> Start(std::shared_ptr<const Dataset> dataset,
                                                            BatchOptions options,
                                                            Position start = {});
  // Waits only for batches being read.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  int64_t steps_per_epoch() const { return steps_; }

  // The position of the batch that Next will return; resuming starts here.
  Position position() const;

  // Returns the next batch; nullopt after the last epoch. An error names the position and is
  // permanent.
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
  const std::vector<int> indices_;  // dataset column of each column of the options
  const int64_t steps_;
  const int64_t end_;  // the number after the last batch

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. Batches are numbered through all epochs.
  bool is_ending_ = false;
  int64_t taken_;    // next number to return
  int64_t claimed_;  // next number to make
  // Batch `number` is at index number % ahead.
  std::vector<std::optional<absl::StatusOr<Batch>>> made_;
  absl::Status failure_;
  int64_t order_epoch_ = -1;
  Order order_;

  std::vector<std::thread> threads_;
};

}  // namespace tartan::data
