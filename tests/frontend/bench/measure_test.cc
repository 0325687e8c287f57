// SPDX-License-Identifier: Apache-2.0
// Tests the bookkeeping of measurements, not the measured times.
#include "frontend/bench/measure.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::bench {
namespace {

class CountingEngine : public Engine {
 public:
  explicit CountingEngine(absl::Status status = absl::OkStatus()) : status_(std::move(status)) {}
  const std::string& name() const override { return name_; }
  absl::Status Run(int64_t count) override {
    runs_ += count;
    return status_;
  }
  absl::StatusOr<HostTensor> Output() override { return HostTensor(); }
  int64_t runs() const { return runs_; }

 private:
  const std::string name_ = "counting";
  const absl::Status status_;
  int64_t runs_ = 0;
};

TEST(Measure, GivesEveryEngineAsManyTurnsAsAskedFor) {
  CountingEngine a;
  CountingEngine b;
  MeasureOptions options;
  options.count = 3;
  const auto measurements = Measure({&a, &b}, options);
  ASSERT_TRUE(measurements.ok()) << measurements.status();
  ASSERT_EQ(measurements->size(), 2u);
  for (const Measurement& measurement : *measurements) {
    EXPECT_GT(measurement.runs, 0);
    EXPECT_EQ(measurement.runs % 3, 0);
    EXPECT_LE(measurement.min_ms, measurement.median_ms);
  }
  EXPECT_GE(a.runs(), measurements->at(0).runs + 3);  // plus untimed runs
  EXPECT_GE(b.runs(), measurements->at(1).runs + 3);
}

TEST(Measure, HandsOnAFailure) {
  CountingEngine good;
  CountingEngine bad(absl::InternalError("no luck"));
  EXPECT_EQ(Measure({&good, &bad}, {}).status().message(), "no luck");
}

}  // namespace
}  // namespace tartan::bench
