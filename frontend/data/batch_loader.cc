// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/batch_loader.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/data/convert.h"
#include "frontend/data/order.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

constexpr int64_t kMaxSteps = int64_t{1} << 62;

// Uninitialised memory.
BatchMemory OrdinaryMemory(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  std::shared_ptr<uint8_t[]> data(new uint8_t[size]);
  return {absl::MakeSpan(data.get(), size), data};
}

int64_t Steps(const BatchOptions& options) {
  const int64_t rows = static_cast<int64_t>(options.rows->size());
  const int64_t size = options.batch_size;
  return rows / size + (!options.drop_last && rows % size > 0 ? 1 : 0);
}

absl::Status Check(const Dataset& dataset, const BatchOptions& options, Position start) {
  if (options.batch_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch must have at least one example, not ", options.batch_size));
  }
  if (options.parts < 1 || options.part < 0 || options.part >= options.parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("part ", options.part, " of ", options.parts, " parts of a batch"));
  }
  if (options.ahead < 1 || options.threads < 1 || options.epochs < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.ahead, " batches cannot be loaded ahead by ", options.threads,
                     " threads for ", options.epochs, " epochs"));
  }
  for (const int64_t row : *options.rows) {
    if (row >= 0 && row < dataset.size()) continue;
    return absl::OutOfRangeError(
        absl::StrCat(dataset.name(), ": example ", row, " of ", dataset.size(), " examples"));
  }
  if (Steps(options) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(dataset.name(), ": ", options.rows->size(),
                                                   " examples do not fill a batch of ",
                                                   options.batch_size));
  }
  if (start.epoch < 0 || start.step < 0 || start.step > Steps(options) ||
      start.epoch >= kMaxSteps / Steps(options)) {
    return absl::OutOfRangeError(absl::StrCat(dataset.name(), ": step ", start.step, " of epoch ",
                                              start.epoch, " is out of range: an epoch has ",
                                              Steps(options), " steps"));
  }
  return absl::OkStatus();
}

// Fills in the defaults of the options; returns the dataset index of each column.
absl::StatusOr<std::vector<int>> Complete(const Dataset& dataset, Position start,
                                          BatchOptions* options) {
  if (!options->rows.has_value()) {
    options->rows.emplace(static_cast<size_t>(dataset.size()));
    std::iota(options->rows->begin(), options->rows->end(), 0);
  }
  TARTAN_RETURN_IF_ERROR(Check(dataset, *options, start));
  if (options->columns.empty()) {
    for (const Column& column : dataset.columns()) options->columns.push_back({column.name});
  }
  std::vector<int> indices;
  for (BatchColumn& column : options->columns) {
    TARTAN_ASSIGN_OR_RETURN(const int index, dataset.Find(column.name));
    indices.push_back(index);
    if (column.type == DataType::kInvalid) column.type = dataset.columns()[index].example.type;
  }
  return indices;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchLoader>> BatchLoader::Start(
    std::shared_ptr<const Dataset> dataset, BatchOptions options, Position start) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<BatchLoader>> {
    TARTAN_ASSIGN_OR_RETURN(std::vector<int> indices, Complete(*dataset, start, &options));
    std::unique_ptr<BatchLoader> loader(
        new BatchLoader(std::move(dataset), std::move(options), std::move(indices), start));
    TARTAN_RETURN_IF_ERROR(loader->StartThreads());
    return loader;
  });
}

absl::Status BatchLoader::StartThreads() {
  try {
    for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error& error) {
    // Fewer threads suffice.
    if (!threads_.empty()) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("a thread for loading data cannot be started: ", error.code().message()));
  }
  return absl::OkStatus();
}

BatchLoader::BatchLoader(std::shared_ptr<const Dataset> dataset, BatchOptions options,
                         std::vector<int> indices, Position start)
    : dataset_(std::move(dataset)),
      options_(std::move(options)),
      indices_(std::move(indices)),
      steps_(Steps(options_)),
      end_(options_.epochs > 0 ? std::min(options_.epochs, kMaxSteps / steps_) * steps_
                               : std::numeric_limits<int64_t>::max()),
      taken_(start.epoch * steps_ + start.step),
      claimed_(taken_),
      made_(options_.ahead) {}

BatchLoader::~BatchLoader() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Position BatchLoader::position() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return PositionOf(taken_);
}

absl::StatusOr<std::optional<Batch>> BatchLoader::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!failure_.ok()) return failure_;
  if (taken_ >= end_) return std::nullopt;
  changed_.wait(lock, [this] { return SlotOf(taken_).has_value(); });
  absl::StatusOr<Batch> batch = *std::exchange(SlotOf(taken_), std::nullopt);
  if (!batch.ok()) {
    failure_ = batch.status();
    return failure_;
  }
  ++taken_;
  changed_.notify_all();
  return std::optional<Batch>(*std::move(batch));
}

void BatchLoader::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      return is_ending_ || claimed_ >= end_ || claimed_ < taken_ + options_.ahead;
    });
    if (is_ending_ || claimed_ >= end_) return;
    const int64_t number = claimed_++;
    const Position position = PositionOf(number);
    absl::StatusOr<Batch> batch = CatchOutOfMemory([&]() -> absl::StatusOr<Batch> {
      const Order order = OrderOf(position.epoch);
      lock.unlock();
      return Make(position, *order);
    });
    if (!lock.owns_lock()) lock.lock();
    SlotOf(number) = std::move(batch);
    changed_.notify_all();
  }
}

// Requires mutex_.
BatchLoader::Order BatchLoader::OrderOf(int64_t epoch) {
  if (order_ != nullptr && (order_epoch_ == epoch || !options_.shuffle)) return order_;
  order_ = std::make_shared<const std::vector<int64_t>>(
      options_.shuffle ? EpochOrder(*options_.rows, options_.seed, epoch) : *options_.rows);
  order_epoch_ = epoch;
  return order_;
}

absl::StatusOr<Batch> BatchLoader::Make(Position position,
                                        const std::vector<int64_t>& order) const {
  const int64_t first = position.step * options_.batch_size;
  const int64_t size = std::min(options_.batch_size, static_cast<int64_t>(order.size()) - first);
  const int64_t skipped = size * options_.part / options_.parts;
  const int64_t taken = size * (options_.part + 1) / options_.parts - skipped;
  const auto rows = absl::MakeConstSpan(order).subspan(first + skipped, taken);
  Batch batch{position, taken, {}};
  if (taken == 0) return batch;
  for (size_t i = 0; i < options_.columns.size(); ++i) {
    absl::StatusOr<HostTensor> column = MakeColumn(i, rows);
    if (!column.ok()) {
      return absl::Status(column.status().code(),
                          absl::StrCat("epoch ", position.epoch, ", step ", position.step, ": ",
                                       column.status().message()));
    }
    batch.columns.push_back(*std::move(column));
  }
  return batch;
}

absl::StatusOr<HostTensor> BatchLoader::MakeColumn(size_t i, absl::Span<const int64_t> rows) const {
  const BatchColumn& wanted = options_.columns[i];
  const TensorShape from = dataset_->columns()[indices_[i]].Batch(rows.size());
  const TensorShape to{wanted.type, from.dims};
  TARTAN_RETURN_IF_ERROR(CheckShape(to));
  const auto allocate = [this](const TensorShape& shape) {
    const BatchMemory own =
        options_.allocate ? options_.allocate(shape.byte_size()) : BatchMemory();
    return own.owner != nullptr ? own : OrdinaryMemory(shape.byte_size());
  };
  const bool is_converted = from.type != to.type || wanted.scale != 1;
  const BatchMemory read = is_converted ? OrdinaryMemory(from.byte_size()) : allocate(from);
  TARTAN_RETURN_IF_ERROR(dataset_->Read(indices_[i], rows, read.bytes));
  if (!is_converted) return HostTensor(to, read.bytes, read.owner);
  const BatchMemory converted = allocate(to);
  const std::optional<int64_t> lost =
      Convert(from.type, read.bytes, wanted.scale, to.type, converted.bytes);
  if (!lost.has_value()) return HostTensor(to, converted.bytes, converted.owner);
  const int64_t width = dataset_->columns()[indices_[i]].example.element_count();
  const double value = HostTensor(from, read.bytes, read.owner).GetDouble(*lost) * wanted.scale;
  return absl::OutOfRangeError(
      absl::StrCat(dataset_->Place(indices_[i], rows[*lost / width], *lost % width), ": ", value,
                   " is not a value of ", Name(to.type)));
}

}  // namespace tartan::data
