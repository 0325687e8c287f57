// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/cluster/lone_rank.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "frontend/api/device_queue.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

// Each operation is complete at once. Its event is the one that it would wait for.
class LoneRank : public train::GradientExchange {
 public:
  int64_t rank() const override { return 0; }
  int64_t ranks() const override { return 1; }
  int64_t local_rank() const override { return 0; }

  absl::Status Agree(const std::map<std::string, std::string>& /*facts*/) override {
    return absl::OkStatus();
  }
  absl::Status Open(const api::Device& device) override {
    is_cpu_ = device.info().type == hal::DeviceType::kCpu;
    return absl::OkStatus();
  }
  absl::StatusOr<hal::BufferPtr> Allocate(const api::Device& device, int64_t bytes) override {
    return device.hal()->Allocate(bytes);
  }
  // Equal to ranks of one host (distributed/training/gradient_exchange.cc).
  int64_t bucket_bytes() const override { return int64_t{is_cpu_ ? 4 : 32} << 20; }

  absl::Status StartSums(const api::Device& device,
                         absl::Span<const train::GradientBucket> buckets) override {
    TARTAN_ASSIGN_OR_RETURN(all_computed_, device.queue()->Mark());
    computed_.clear();
    for (const train::GradientBucket& bucket : buckets)
      computed_.push_back(bucket.computed == nullptr ? all_computed_ : bucket.computed);
    return absl::OkStatus();
  }
  absl::Status WaitForSum(size_t bucket) override { return computed_[bucket]->Wait(); }
  absl::Status FinishSums() override { return all_computed_->Wait(); }
  absl::Status TraceUpdate(const hal::EventPtr& /*done*/) override { return absl::OkStatus(); }
  absl::StatusOr<hal::EventPtr> StartSum(const train::GradientBucket& bucket) override {
    return bucket.computed;
  }
  absl::StatusOr<hal::EventPtr> StartGather(const train::GradientBucket& bucket) override {
    return bucket.computed;
  }
  absl::Status Gather(const api::Device& /*device*/,
                      absl::Span<const train::GradientBucket> /*buckets*/) override {
    return absl::OkStatus();
  }
  absl::Status GatherBytes(absl::Span<const uint8_t> own, absl::Span<uint8_t> all) override {
    std::copy(own.begin(), own.end(), all.begin());
    return absl::OkStatus();
  }
  absl::Status SumNumbers(absl::Span<double> /*numbers*/) override { return absl::OkStatus(); }
  absl::Status Broadcast(std::string* /*bytes*/) override { return absl::OkStatus(); }

  train::ExchangeTimes times() const override { return {}; }
  absl::StatusOr<std::string> CollectTrace() override { return std::string(); }
  void Fail(const absl::Status& /*why*/) override {}
  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  bool is_cpu_ = false;
  hal::EventPtr all_computed_;
  std::vector<hal::EventPtr> computed_;  // by bucket
};

}  // namespace

std::shared_ptr<train::GradientExchange> MakeLoneRank() { return std::make_shared<LoneRank>(); }

}  // namespace tartan::cli
