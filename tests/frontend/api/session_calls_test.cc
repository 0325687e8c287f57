// SPDX-License-Identifier: Apache-2.0
// Tests of sessions whose models call back into the host during a run.
#include "frontend/api/function.h"
#include "frontend/api/repeat.h"
#include "frontend/api/session.h"
#include "gtest/gtest.h"
#include "tests/frontend/api/test_model.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

// A call that repeats its body when the first element is positive.
class RepeatIfPositive : public Call {
 public:
  explicit RepeatIfPositive(RepeatBody body) : body_(std::move(body)) {}
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> operands,
                                              CallRunner& runner) const override {
    if (operands[0].GetDouble(0) > 0) return runner.Repeat(body_, operands);
    return std::vector<HostTensor>{operands[0]};
  }

 private:
  const RepeatBody body_;
};

TEST(SessionCalls, CountTheCompilationOfABodyInTheRunThatCompiledIt) {
  const auto device = Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  const auto body = [](const Tensor& x, Resolver* resolver) -> absl::StatusOr<Tensor> {
    RepeatBody body;
    body.states = {Tensor::Placeholder("s", x.shape())};
    TARTAN_ASSIGN_OR_RETURN(body.next_states.emplace_back(),
                            Apply("function (S) -> (N) { N = 2 * S; }", body.states));
    body.iterations = 3;
    resolver->Begin({x});
    GraphBreak graph_break;
    graph_break.operands = {x};
    graph_break.call = std::make_shared<RepeatIfPositive>(std::move(body));
    TARTAN_ASSIGN_OR_RETURN(const BreakResult result, resolver->Resolve(graph_break));
    return result.results[0];
  };
  const auto made = Session::Create(std::make_shared<TestModel>(std::vector<int64_t>{-1}, body),
                                    *device, ExactAtOnce());
  ASSERT_TRUE(made.ok()) << made.status();
  const auto& session = *made;
  RunStatistics first;
  ASSERT_TRUE(session->Run({{"x", Constant(3, -1)}}, &first).ok());
  EXPECT_EQ(first.compile_ms, 0) << "nothing was to be compiled";
  RunStatistics second;
  const auto y = session->Run({{"x", Constant(3, 1)}}, &second);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->at(0).GetDouble(2), 8);
  EXPECT_EQ(first.compile_ms, 0) << "a later run's";
  EXPECT_GT(second.compile_ms, 0);
}

}  // namespace
}  // namespace tartan::api
