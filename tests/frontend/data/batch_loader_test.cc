// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/batch_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>

#include "absl/strings/str_cat.h"
#include "frontend/data/order.h"
#include "tests/frontend/data/data_files.h"

namespace tartan::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A dataset whose row i of "x" is i. Rows from `broken` on cannot be read.
class CountedDataset : public Dataset {
 public:
  explicit CountedDataset(int64_t size, int64_t broken = INT64_MAX)
      : Dataset("set", {{"x", {DataType::kInt64, {}}}}, size), broken_(broken) {}

  int64_t reads() const { return reads_; }
  // Lets readers proceed; they wait until this call.
  void Open() { opened_.set_value(); }
  void Close() { gate_ = opened_.get_future().share(); }

 private:
  absl::Status DoRead(int column, absl::Span<const int64_t> rows,
                      absl::Span<uint8_t> out) const override {
    ++reads_;
    if (gate_.valid()) gate_.wait();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= broken_) return absl::UnavailableError(absl::StrCat("no row ", rows[i]));
      std::memcpy(out.data() + 8 * i, &rows[i], 8);
    }
    return absl::OkStatus();
  }

  const int64_t broken_;
  mutable std::atomic<int64_t> reads_ = 0;
  std::promise<void> opened_;
  std::shared_future<void> gate_;
};

std::shared_ptr<const Dataset> Counted(int64_t size) {
  return std::make_shared<CountedDataset>(size);
}

// All batches up to the end of the epochs, or the first `limit`.
std::vector<std::vector<int64_t>> All(std::shared_ptr<const Dataset> dataset,
                                      const BatchOptions& options, Position start = {},
                                      size_t limit = 100) {
  std::vector<std::vector<int64_t>> all;
  const auto loader = BatchLoader::Start(std::move(dataset), options, start);
  EXPECT_TRUE(loader.ok()) << loader.status();
  while (loader.ok() && all.size() < limit) {
    const auto batch = (*loader)->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) break;
    EXPECT_EQ((**batch).size, static_cast<int64_t>((**batch).columns[0].shape().dims[0]));
    all.push_back((**batch).columns[0].ToInts());
  }
  return all;
}

std::string MessageOf(const BatchOptions& options, Position start = {}) {
  return std::string(BatchLoader::Start(Counted(10), options, start).status().message());
}

TEST(BatchLoader, GivesBatchesInOrder) {
  const BatchOptions options{.batch_size = 4, .shuffle = false, .epochs = 2};
  EXPECT_THAT(All(Counted(10), options),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7), ElementsAre(0, 1, 2, 3),
                          ElementsAre(4, 5, 6, 7)));
}

TEST(BatchLoader, GivesTheLastBatchShortWhereAsked) {
  const BatchOptions options{
      .rows = {{9, 3, 5}}, .batch_size = 2, .drop_last = false, .shuffle = false, .epochs = 1};
  EXPECT_THAT(All(Counted(10), options), ElementsAre(ElementsAre(9, 3), ElementsAre(5)));
  EXPECT_EQ((*BatchLoader::Start(Counted(10), options))->steps_per_epoch(), 2);
}

TEST(BatchLoader, PartsOfABatchCoverItOnce) {
  for (const int64_t parts : {1, 2, 3}) {
    std::vector<std::vector<int64_t>> together(4);
    for (int64_t part = 0; part < parts; ++part) {
      BatchOptions options = {.batch_size = 3, .drop_last = false, .shuffle = false, .epochs = 1};
      options.part = part;
      options.parts = parts;
      const auto loader = BatchLoader::Start(Counted(10), options);
      ASSERT_TRUE(loader.ok()) << loader.status();
      for (std::vector<int64_t>& batch : together) {
        const auto loaded = (*loader)->Next();
        ASSERT_TRUE(loaded.ok() && loaded->has_value());
        EXPECT_EQ((**loaded).columns.empty(), (**loaded).size == 0);
        if ((**loaded).size == 0) continue;
        const std::vector<int64_t> rows = (**loaded).columns[0].ToInts();
        batch.insert(batch.end(), rows.begin(), rows.end());
      }
    }
    EXPECT_THAT(together, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5),
                                      ElementsAre(6, 7, 8), ElementsAre(9)));
  }
}

TEST(BatchLoader, ShufflesEachEpochAnew) {
  const BatchOptions options{.batch_size = 10, .seed = 3, .epochs = 2};
  std::vector<int64_t> rows(10);
  for (int64_t i = 0; i < 10; ++i) rows[i] = i;
  EXPECT_THAT(All(Counted(10), options),
              ElementsAre(EpochOrder(rows, 3, 0), EpochOrder(rows, 3, 1)));
}

TEST(BatchLoader, TakesUpFromAnyPosition) {
  for (const int threads : {1, 3}) {
    const BatchOptions options{.batch_size = 3, .seed = 3, .epochs = 3, .threads = threads};
    const auto all = All(Counted(10), options);
    ASSERT_EQ(all.size(), 9u);
    for (int64_t i = 0; i < 9; ++i) {
      const auto rest = All(Counted(10), options, {i / 3, i % 3});
      EXPECT_EQ(rest, std::vector<std::vector<int64_t>>(all.begin() + i, all.end())) << i;
    }
    EXPECT_EQ(All(Counted(10), options, {0, 3}), All(Counted(10), options, {1, 0}));
    EXPECT_THAT(All(Counted(10), options, {3, 0}), ElementsAre());
  }
}

TEST(BatchLoader, TellsWhereItIs) {
  const BatchOptions options{.batch_size = 5, .epochs = 2};
  const auto loader = BatchLoader::Start(Counted(10), options, {0, 1});
  ASSERT_TRUE(loader.ok()) << loader.status();
  EXPECT_EQ((*loader)->position(), (Position{0, 1}));
  const auto batch = (*loader)->Next();
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ((**batch).position, (Position{0, 1}));
  EXPECT_EQ((*loader)->position(), (Position{1, 0}));
}

TEST(BatchLoader, GivesTheSameBatchesByManyThreads) {
  BatchOptions options{.batch_size = 7, .seed = 9, .ahead = 5};
  const auto one = All(Counted(1000), options, {}, 500);
  options.threads = 8;
  EXPECT_EQ(All(Counted(1000), options, {}, 500), one);
}

TEST(BatchLoader, ReadsNoFurtherAheadThanAsked) {
  const auto dataset = std::make_shared<CountedDataset>(100);
  const auto loader =
      BatchLoader::Start(dataset, {.batch_size = 1, .shuffle = false, .ahead = 2, .threads = 4});
  ASSERT_TRUE(loader.ok()) << loader.status();
  for (int64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE((*loader)->Next().ok());
    EXPECT_LE(dataset->reads(), i + 1 + 2);
  }
}

TEST(BatchLoader, MakesBatchesWhileNobodyAsks) {
  const auto dataset = std::make_shared<CountedDataset>(100);
  const auto loader = BatchLoader::Start(dataset, {.batch_size = 1, .ahead = 3});
  ASSERT_TRUE(loader.ok()) << loader.status();
  while (dataset->reads() < 3) std::this_thread::yield();
}

TEST(BatchLoader, EndsAtAnyMoment) {
  for (const int threads : {1, 4}) {
    for (int taken = 0; taken < 100; ++taken) {
      const auto loader = BatchLoader::Start(Counted(100), {.batch_size = 1, .threads = threads});
      ASSERT_TRUE(loader.ok()) << loader.status();
      for (int i = 0; i < taken % 7; ++i) ASSERT_TRUE((*loader)->Next().ok());
    }
  }
}

TEST(BatchLoader, EndsWhileABatchIsBeingRead) {
  const auto dataset = std::make_shared<CountedDataset>(100);
  dataset->Close();
  auto loader = BatchLoader::Start(dataset, {.batch_size = 1});
  ASSERT_TRUE(loader.ok()) << loader.status();
  while (dataset->reads() == 0) std::this_thread::yield();
  auto ended = std::async(std::launch::async, [&] { loader->reset(); });
  dataset->Open();
  ended.wait();
  EXPECT_EQ(dataset.use_count(), 1);
}

TEST(BatchLoader, HandsOnAnErrorAtItsPlace) {
  for (const int threads : {1, 3}) {
    const auto dataset = std::make_shared<CountedDataset>(100, 50);
    const auto loader =
        BatchLoader::Start(dataset, {.batch_size = 20, .shuffle = false, .threads = threads});
    ASSERT_TRUE(loader.ok()) << loader.status();
    EXPECT_TRUE((*loader)->Next().ok());
    EXPECT_TRUE((*loader)->Next().ok());
    for (int i = 0; i < 2; ++i) {
      const auto batch = (*loader)->Next();
      EXPECT_EQ(batch.status().code(), absl::StatusCode::kUnavailable);
      EXPECT_EQ(batch.status().message(), "epoch 0, step 2: no row 50");
      EXPECT_EQ((*loader)->position(), (Position{0, 2}));
    }
  }
}

TEST(BatchLoader, GivesColumnsAsTheyAreWanted) {
  const auto dataset =
      DatasetOf("set", {{"picture", Tensor<uint8_t>(DataType::kUInt8, {2, 2}, {0, 51, 102, 255})},
                        {"label", Tensor<float>(DataType::kFloat32, {2}, {3, 2.5f})}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  BatchOptions options{.columns = {{"label"}, {"picture", DataType::kFloat32, 1.0 / 255}},
                       .batch_size = 2,
                       .shuffle = false};
  auto loader = BatchLoader::Start(*dataset, options);
  ASSERT_TRUE(loader.ok()) << loader.status();
  const auto batch = (*loader)->Next();
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT((**batch).columns[0].ToDoubles(), ElementsAre(3, 2.5));
  EXPECT_EQ((**batch).columns[1].shape(), (TensorShape{DataType::kFloat32, {2, 2}}));
  EXPECT_THAT((**batch).columns[1].ToDoubles(), ElementsAre(0, 0.2f, 0.4f, 1));

  options.columns = {{"label", DataType::kInt64}};
  loader = BatchLoader::Start(*dataset, options);
  ASSERT_TRUE(loader.ok()) << loader.status();
  EXPECT_EQ((*loader)->Next().status().message(),
            "epoch 0, step 0: set: column \"label\", example 1: 2.5 is not a value of int64");
}

TEST(BatchLoader, RefusesWhatCannotBeRead) {
  EXPECT_THAT(MessageOf({.columns = {{"y"}}, .batch_size = 1}),
              HasSubstr("has no column \"y\", but \"x\""));
  EXPECT_THAT(MessageOf({.batch_size = 11}), HasSubstr("10 examples do not fill a batch of 11"));
  EXPECT_THAT(MessageOf({.rows = std::vector<int64_t>(), .batch_size = 1}),
              HasSubstr("0 examples"));
  EXPECT_THAT(MessageOf({.batch_size = 0}), HasSubstr("at least one example, not 0"));
  EXPECT_THAT(MessageOf({.rows = {{3, 10}}, .batch_size = 1}), HasSubstr("example 10 of 10"));
  EXPECT_THAT(MessageOf({.batch_size = 5}, {0, 3}),
              HasSubstr("step 3 of epoch 0 is out of range: an epoch has 2 steps"));
  EXPECT_THAT(MessageOf({.batch_size = 5, .ahead = 0}),
              HasSubstr("0 batches cannot be loaded ahead"));
  EXPECT_THAT(MessageOf({.batch_size = 5, .threads = 0}), HasSubstr("by 0 threads"));
}

}  // namespace
}  // namespace tartan::data
