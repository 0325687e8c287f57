// SPDX-License-Identifier: Apache-2.0
// A program for tests of the process exit during background compilation of exact kernels.
// Usage: tiers_program MODE [RUNS]. Checks its results and prints the tier of the last run. Modes:
//   runs   runs a model RUNS times
//   exact  runs until its kernels are exact, then RUNS times
//   exit   waits until the first exact kernel is about to be compiled, runs RUNS times, exits
//   kill   the same, but kills itself at the end
//   wait   the same, but waits for the exact kernels before the RUNS runs
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "frontend/api/background/idle_time.h"
#include "frontend/api/function.h"
#include "frontend/api/session.h"
#include "tests/frontend/api/test_model.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

constexpr int64_t kSizes[] = {1, 17, 19, 23, 29, 31};
constexpr float kProduct = 17 * 19 * 23 * 29 * 31;

// Multiplies x by all sizes, with one kernel per size and kernels that compute the weights.
absl::StatusOr<Tensor> Times(const Tensor& x, Resolver* /*resolver*/) {
  TARTAN_ASSIGN_OR_RETURN(Tensor y,
                          Apply("function (X[N]) -> (Y) { Y[n, 0 : N, 1] = =(X[n]); }", {x}));
  for (size_t s = 1; s < std::size(kSizes); ++s) {
    const TensorShape shape{DataType::kFloat32, {kSizes[s - 1], kSizes[s]}};
    const std::vector<float> ones(static_cast<size_t>(shape.element_count()), 1);
    const Tensor weights = Tensor::Constant(HostTensor::FromVector(shape, ones));
    TARTAN_ASSIGN_OR_RETURN(
        y, Apply("function (X[N, I], W[I, J]) -> (Y) { V[i, j : I, J] = +(W[i, j] * W[i, j]);"
                 " Y[n, j : N, J] = +(X[n, i] * V[i, j]); }",
                 {y, weights}));
  }
  return Apply("function (X[N, I]) -> (Y) { Y[n : N] = +(X[n, i]); }", {y});
}

struct Mode {
  std::string name;
  int runs = 1;
};

bool IsExact(const RunStatistics& run) { return run.ready_programs == 0; }

absl::Status Run(const Mode& mode) {
  std::promise<void> compiling;
  SessionOptions options;
  options.host_ms = 0;
  options.exact_lost_share = 0;
  options.before_exact = [&] {
    compiling.set_value();
    return absl::OkStatus();
  };
  TARTAN_ASSIGN_OR_RETURN(const auto device, Device::Open());
  TARTAN_ASSIGN_OR_RETURN(const auto session, Session::Create(std::make_shared<TestModel>(
                                                                  std::vector<int64_t>{-1}, Times),
                                                              device, options));
  RunStatistics statistics;
  const auto run = [&]() -> absl::Status {
    statistics = {};
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> y,
                            session->Run({{"x", Constant(3, 2)}}, &statistics));
    for (double value : y.at(0).ToDoubles()) {
      if (value != 2 * kProduct) return absl::InternalError(std::to_string(value));
    }
    return absl::OkStatus();
  };
  if (mode.name == "exact") {
    TARTAN_RETURN_IF_ERROR(run());
    while (!IsExact(statistics)) {
      // the background compiles during this pause
      std::this_thread::sleep_for(2 * IdleTime::kPause);
      TARTAN_RETURN_IF_ERROR(run());
    }
  }
  if (mode.name == "exit" || mode.name == "kill" || mode.name == "wait") {
    TARTAN_RETURN_IF_ERROR(run());
    if (!IsExact(statistics)) {
      TARTAN_RETURN_IF_ERROR(run());
      compiling.get_future().wait();
    }
  }
  if (mode.name == "wait" && !session->WaitForExact().ok()) std::printf("failed, ");
  for (int i = 0; i < mode.runs; ++i) TARTAN_RETURN_IF_ERROR(run());
  std::printf("%s", IsExact(statistics) ? "exact" : "ready");
  std::fflush(stdout);
  if (mode.name == "kill") raise(SIGKILL);
  // An odd number of runs exits without destroying the session.
  if (mode.name == "exit" && mode.runs % 2 > 0) std::exit(0);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tartan::api

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const absl::Status status = tartan::api::Run({argv[1], argc > 2 ? std::atoi(argv[2]) : 1});
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
