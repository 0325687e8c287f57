// SPDX-License-Identifier: Apache-2.0
// Regression tests of small models. Each runs on the naive evaluator, on the host, and with
// dynamic-shape (ready) and shape-specialised (exact) kernels.
#include "frontend/api/session.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/node_case.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx::cases_test {
namespace {

constexpr char kFolder[] = "tests/frontend/onnx/cases";

absl::Status RunOn(const std::shared_ptr<api::Device>& device, const NodeCase& node_case,
                   api::Tier tier) {
  api::SessionOptions options;
  options.tier = tier;
  options.exact_after_runs = 0;
  options.host_ms = 1000;
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<api::Session> session,
                          api::Session::Create(node_case.model, device, options));
  std::map<std::string, api::HostValue> inputs;
  for (size_t i = 0; i < node_case.inputs.size(); ++i) {
    inputs[node_case.model->inputs()[i].name] = node_case.inputs[i];
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::HostValue> outputs, session->RunValues(inputs));
  return CompareByType(outputs, node_case.expected);
}

TEST(Cases, AreRightByDefinition) {
  const std::vector<std::string> folders = ListCasesIn(kFolder);
  ASSERT_FALSE(folders.empty());
  for (const std::string& folder : folders) {
    for (const Inputs inputs : {Inputs::kKnown, Inputs::kUnknown}) {
      const absl::Status status = RunGraphCase(folder, inputs);
      EXPECT_TRUE(status.ok()) << folder << ": " << status;
    }
  }
}

TEST(Cases, AreRightOnTheHostAndInKernelsOfBothKinds) {
  api::DeviceOptions options;
  options.use_disk_cache = false;  // exact kernels on disk would be used instead of the host
  const auto device = api::Device::Open("", options);
  if (!device.ok()) GTEST_SKIP() << device.status();
  for (const std::string& folder : ListCasesIn(kFolder)) {
    const absl::StatusOr<NodeCase> node_case = ReadCase(folder);
    ASSERT_TRUE(node_case.ok()) << folder << ": " << node_case.status();
    for (const api::Tier tier : {api::Tier::kAuto, api::Tier::kReady, api::Tier::kExact}) {
      const absl::Status status = RunOn(*device, *node_case, tier);
      EXPECT_TRUE(status.ok()) << folder << ", " << api::Name(tier) << ": " << status;
    }
  }
}

}  // namespace
}  // namespace tartan::onnx::cases_test
