#include "bench/run_problem.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/comparison.h"
#include "bench/peer_engine.h"
#include "bench/tartan_engine.h"
#include "bench/workload.h"
#include "tile/base/status_macros.h"

namespace tartan::bench {
namespace {

constexpr char kCopy[] = "copy";

// The part of the roofline that `ms` reaches: the device needs at least the longer of the times for
// its arithmetic and for its memory.
double Roofline(const Workload& work, double ms, const HardwareSettings& settings) {
  if (settings.gflops <= 0 || settings.gbps <= 0 || ms <= 0) return 0;
  const double least_ms = std::max(work.flops / settings.gflops, work.bytes / settings.gbps) * 1e-6;
  return least_ms / ms;
}

absl::StatusOr<std::unique_ptr<Engine>> MakeEngine(const std::string& name, const Problem& problem,
                                                   const Workload& work,
                                                   absl::Span<const HostTensor> values,
                                                   api::Device& device) {
  if (name == kCopy) return MakeCopyEngine(work.bytes, device);
  const TensorShape& result =
      work.gradient_of < 0 ? work.output : work.inputs[work.gradient_of].shape;
  return MakePeerEngine(name, problem, result, values, device.info());
}

// The error of an engine's result, after one run.
absl::StatusOr<double> CheckEngine(Engine& engine, const HostTensor& expected,
                                   absl::string_view spec) {
  TARTAN_RETURN_IF_ERROR(engine.Run(1));
  TARTAN_ASSIGN_OR_RETURN(const HostTensor output, engine.Output());
  if (output.type() == DataType::kInvalid) return 0;
  const double error = MaxError(output, expected);
  if (error <= kTolerance) return error;
  return absl::DataLossError(
      absl::StrFormat("%s: the results of %s and tartan differ by %.2g of the greatest element",
                      spec, engine.name(), error));
}

}  // namespace

std::vector<std::string> EngineNames() {
  std::vector<std::string> names = PeerNames();
  names.push_back(kCopy);
  return names;
}

absl::StatusOr<ProblemResult> RunProblem(const Problem& problem,
                                         const std::vector<std::string>& against,
                                         const MeasureOptions& options, api::Device& device) {
  const Workload work = MakeWorkload(problem);
  ProblemResult result;
  result.spec = problem.spec;
  result.flops = work.flops;
  result.bytes = work.bytes;
  TARTAN_ASSIGN_OR_RETURN(const WorkloadProgram program, MakeProgram(work, problem.spec));
  const std::vector<HostTensor> values = RandomValues(program.inputs);

  const auto start = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Engine>> engines(1);
  TARTAN_ASSIGN_OR_RETURN(engines[0], MakeTartanEngine(program, values, device));
  TARTAN_RETURN_IF_ERROR(engines[0]->Run(1));
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  result.compile_ms = elapsed.count();
  TARTAN_ASSIGN_OR_RETURN(const HostTensor expected, engines[0]->Output());

  std::vector<double> errors = {0};
  for (const std::string& name : against) {
    TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine,
                            MakeEngine(name, problem, work, values, device));
    if (engine == nullptr) {
      result.missing.push_back(name);
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(errors.emplace_back(), CheckEngine(*engine, expected, problem.spec));
    engines.push_back(std::move(engine));
  }

  std::vector<Engine*> pointers;
  for (const auto& engine : engines) pointers.push_back(engine.get());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Measurement> times, Measure(pointers, options));
  for (size_t i = 0; i < engines.size(); ++i) {
    const double ms = times[i].median_ms;
    result.engines.push_back({engines[i]->name(), times[i], work.flops / ms * 1e-6,
                              work.bytes / ms * 1e-6, Roofline(work, ms, device.info().settings),
                              errors[i], engines[i]->kernels()});
  }
  return result;
}

}  // namespace tartan::bench
