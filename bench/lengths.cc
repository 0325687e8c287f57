// SPDX-License-Identifier: Apache-2.0
// lengths MODEL INPUT [LENGTHS [TIER [EVERY]]]: measures a model at many lengths of the second
// dimension of an int64 input, in one session. Prints the time and the compilations of each length.
// For one length in EVERY, it also prints the time of shape-specialised (exact) kernels.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/session.h"
#include "frontend/onnx/model/onnx_model.h"
#include "tile/base/clock.h"
#include "tile/base/status_macros.h"

namespace tartan::bench {
namespace {

HostTensor Tokens(int64_t length, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto tokens = std::make_shared<std::vector<int64_t>>(length);
  for (int64_t& token : *tokens) token = static_cast<int64_t>(random() % 1000);
  const absl::Span<uint8_t> bytes(reinterpret_cast<uint8_t*>(tokens->data()), 8 * length);
  return HostTensor({DataType::kInt64, {1, length}}, bytes, tokens);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

api::Tier TierNamed(const std::string& name) {
  for (const api::Tier tier : {api::Tier::kExact, api::Tier::kReady}) {
    if (name == api::Name(tier)) return tier;
  }
  return api::Tier::kAuto;
}

// Returns the minimum duration in each of two sessions, which run alternately.
absl::StatusOr<std::pair<double, double>> ShortestRuns(
    api::Session& a, api::Session& b, const std::map<std::string, HostTensor>& inputs) {
  constexpr int kTurns = 5;
  std::pair<double, double> least = {1e9, 1e9};
  const auto run = [&](api::Session& session, double& shortest) -> absl::Status {
    const auto start = Clock::now();
    TARTAN_RETURN_IF_ERROR(session.Run(inputs).status());
    shortest = std::min(shortest, MillisecondsSince(start));
    return absl::OkStatus();
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    TARTAN_RETURN_IF_ERROR(run(a, least.first));
    TARTAN_RETURN_IF_ERROR(run(b, least.second));
  }
  return least;
}

absl::Status Run(const std::string& path, const std::string& input, int lengths,
                 const std::string& tier, int every) {
  TARTAN_ASSIGN_OR_RETURN(const auto model, onnx::OnnxModel::Load(path));
  TARTAN_ASSIGN_OR_RETURN(const auto device, api::Device::Open());
  api::SessionOptions options;
  options.tier = TierNamed(tier);
  TARTAN_ASSIGN_OR_RETURN(const auto session,
                          api::Session::Create(model, device, std::move(options)));
  api::SessionOptions exact_options;
  exact_options.tier = api::Tier::kExact;
  TARTAN_ASSIGN_OR_RETURN(const auto exact,
                          api::Session::Create(model, device, std::move(exact_options)));
  std::vector<int64_t> order;
  for (int64_t length = 1; length <= lengths; ++length) order.push_back(length);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  std::vector<double> firsts;
  std::vector<double> extras;
  std::vector<double> ratios;
  int last_compiled = 0;
  for (size_t n = 0; n < order.size(); ++n) {
    const HostTensor tokens = Tokens(order[n], n);
    api::RunStatistics first;
    auto start = Clock::now();
    TARTAN_RETURN_IF_ERROR(session->Run({{input, tokens}}, &first).status());
    const double first_ms = MillisecondsSince(start);
    api::RunStatistics again;
    start = Clock::now();
    TARTAN_RETURN_IF_ERROR(session->Run({{input, tokens}}, &again).status());
    const double again_ms = MillisecondsSince(start);
    firsts.push_back(first_ms);
    extras.push_back(first_ms - again_ms);
    if (first.cache_misses > 0) last_compiled = static_cast<int>(n) + 1;
    std::printf(
        "length %3lld: %8.1f ms, again %8.1f (bind %.1f, compile %.1f, setup %.1f; %lld "
        "programs compiled)\n",
        static_cast<long long>(order[n]), first_ms, again_ms, first.bind_ms, first.compile_ms,
        first.setup_ms, static_cast<long long>(first.cache_misses));
    if (every == 0 || n % every != 0) continue;
    TARTAN_RETURN_IF_ERROR(exact->Run({{input, tokens}}).status());
    TARTAN_ASSIGN_OR_RETURN(const auto least, ShortestRuns(*session, *exact, {{input, tokens}}));
    ratios.push_back(least.first / least.second);
    std::printf("  run %.1f ms, with exact kernels %.1f: %.2f times as long\n", least.first,
                least.second, ratios.back());
  }
  std::printf("median %.1f ms, %.1f more than the same again; the last to compile was number %d\n",
              Median(firsts), Median(extras), last_compiled);
  if (!ratios.empty()) std::printf("runs take %.2f times as long as exact\n", Median(ratios));
  return absl::OkStatus();
}

}  // namespace
}  // namespace tartan::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: lengths MODEL INPUT [LENGTHS [auto|exact|ready [EVERY]]]\n");
    return 2;
  }
  const absl::Status status =
      tartan::bench::Run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 64,
                         argc > 4 ? argv[4] : "auto", argc > 5 ? std::atoi(argv[5]) : 0);
  if (!status.ok()) std::fprintf(stderr, "lengths: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
