// SPDX-License-Identifier: Apache-2.0
#include "frontend/bench/run_problem.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/bench/comparison.h"
#include "frontend/bench/peer_engine.h"
#include "frontend/bench/tartan_engine.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::bench {
namespace {

constexpr char kCopy[] = "copy";

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
      absl::StrFormat("%s: the results of %s and tartan differ by %.2g of the maximum element",
                      spec, engine.name(), error));
}

}  // namespace

std::vector<std::string> EngineNames() {
  std::vector<std::string> names = PeerNames();
  names.push_back(kCopy);
  return names;
}

double RooflineMilliseconds(const Workload& work, const HardwareSettings& settings) {
  if (settings.gflops <= 0 || settings.gbps <= 0) return 0;
  return std::max(work.flops / settings.gflops, work.bytes / settings.gbps) * 1e-6;
}

namespace {

// Compiles the program of a problem with the algorithm that the problem names.
absl::StatusOr<std::unique_ptr<Engine>> CompileProblem(const Problem& problem,
                                                       const WorkloadProgram& program,
                                                       absl::Span<const HostTensor> values,
                                                       api::Device& device) {
  const auto* convolution = std::get_if<ConvolutionProblem>(&problem.op);
  if (convolution == nullptr || convolution->algorithm == ConvolutionAlgorithm::kChosen) {
    return MakeTartanEngine(program, values, device);
  }
  const plan::Winograd use = convolution->algorithm == ConvolutionAlgorithm::kDirect
                                 ? plan::Winograd::kNever
                                 : plan::Winograd::kAlways;
  return MakeTartanEngine(program, values, *device.WithWinograd(use));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProblemRun>> ProblemRun::Create(const Problem& problem,
                                                               api::Device& device) {
  std::unique_ptr<ProblemRun> run(new ProblemRun(problem, device));
  TARTAN_ASSIGN_OR_RETURN(const WorkloadProgram program, MakeProgram(run->work_, problem.spec));
  run->values_ = RandomValues(program.inputs);
  const auto start = std::chrono::steady_clock::now();
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Engine> tartan,
                          CompileProblem(problem, program, run->values_, device));
  TARTAN_RETURN_IF_ERROR(tartan->Run(1));
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  run->compile_ms_ = elapsed.count();
  TARTAN_ASSIGN_OR_RETURN(run->expected_, tartan->Output());
  run->entries_.push_back({std::move(tartan)});
  return run;
}

absl::StatusOr<Engine*> ProblemRun::AddEngine(const std::string& name) {
  for (const Entry& entry : entries_) {
    if (entry.engine->name() == name) return entry.engine.get();
  }
  Entry entry;
  TARTAN_ASSIGN_OR_RETURN(entry.engine, MakeEngine(name, problem_, work_, values_, device_));
  if (entry.engine == nullptr) return nullptr;
  TARTAN_ASSIGN_OR_RETURN(entry.max_error, CheckEngine(*entry.engine, expected_, problem_.spec));
  entries_.push_back(std::move(entry));
  return entries_.back().engine.get();
}

double ProblemRun::MaxErrorOf(const Engine& engine) const {
  for (const Entry& entry : entries_) {
    if (entry.engine.get() == &engine) return entry.max_error;
  }
  return 0;
}

absl::StatusOr<ProblemResult> RunProblem(const Problem& problem,
                                         const std::vector<std::string>& against,
                                         const MeasureOptions& options, api::Device& device) {
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ProblemRun> run,
                          ProblemRun::Create(problem, device));
  const Workload& work = run->workload();
  ProblemResult result;
  result.spec = problem.spec;
  result.flops = work.flops;
  result.bytes = work.bytes;
  result.compile_ms = run->compile_ms();
  std::vector<std::string> names = {"tartan"};
  names.insert(names.end(), against.begin(), against.end());
  std::vector<Engine*> engines;
  for (const std::string& name : names) {
    TARTAN_ASSIGN_OR_RETURN(Engine * engine, run->AddEngine(name));
    if (engine != nullptr) engines.push_back(engine);
    if (engine == nullptr) result.missing.push_back(name);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Measurement> times, Measure(engines, options));
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings, device.MeasuredSettings());
  const double least_ms = RooflineMilliseconds(work, settings);
  for (size_t i = 0; i < engines.size(); ++i) {
    const double ms = times[i].median_ms;
    result.engines.push_back({engines[i]->name(), times[i], work.flops / ms * 1e-6,
                              work.bytes / ms * 1e-6, least_ms / ms, run->MaxErrorOf(*engines[i]),
                              engines[i]->kernels()});
  }
  return result;
}

}  // namespace tartan::bench
