// SPDX-License-Identifier: Apache-2.0
// Tests that a forked process computes while another thread of its parent uses the device.
#include <gtest/gtest.h>

#include "frontend/api/device.h"
#include "frontend/api/eager/eager_runtime.h"
#include "frontend/api/function.h"
#include "tests/frontend/api/after_forks.h"
#include "tile/compiler/compile_options.h"

namespace tartan::api {
namespace {

// Computes x * x, or x + x + 1.
bool Computes(EagerRuntime& runtime, bool squares) {
  const Tensor x =
      Tensor::Leaf(HostTensor::FromVector<float>({DataType::kFloat32, {3}}, {3, 3, 3}));
  const auto y = Apply(
      squares ? "function (X) -> (Y) { Y = X * X; }" : "function (X) -> (Y) { Y = X + X + 1; }",
      {x});
  if (!y.ok()) return false;
  const auto values = runtime.Evaluate({*y});
  return values.ok() && values->at(0).GetDouble(0) == (squares ? 9 : 7);
}

class ForkedDevice : public testing::Test {
 protected:
  void SetUp() override {
    auto device = Device::Open();
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *device;
  }

  bool ComputesAfterAFork() const {
    EagerOptions options;
    options.only_host = true;
    EagerRuntime runtime(device_, options);
    return Computes(runtime, true) && Computes(runtime, false);
  }

  std::shared_ptr<Device> device_;
};

TEST_F(ForkedDevice, ComputesWhileAnotherThreadCopiesTheOptions) {
  const auto copy = [&] { return device_->options().disabled_passes.empty(); };
  CallAfterForks(200, copy, [&] { return ComputesAfterAFork(); });
}

// Each runtime finds its programs in the device's cache.
TEST_F(ForkedDevice, ComputesWhileAnotherThreadDoes) {
  const auto compute = [&] {
    EagerRuntime runtime(device_);
    return Computes(runtime, true) && Computes(runtime, false);
  };
  CallAfterForks(50, compute, [&] { return ComputesAfterAFork(); });
}

TEST_F(ForkedDevice, HasTheOptionsOfTheDevice) {
  const auto forked = device_->WithTier(compiler::Tier::kReady)->ForForkedProcess();
  EXPECT_EQ(forked->tier(), compiler::Tier::kReady);
  EXPECT_EQ(forked->options().Key(), device_->WithTier(compiler::Tier::kReady)->options().Key());
}

}  // namespace
}  // namespace tartan::api
