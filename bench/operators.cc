// SPDX-License-Identifier: Apache-2.0
// Runs the problems of a list as Google Benchmarks named "SPEC/ENGINE", one per engine. Google
// Benchmark's options also apply (--benchmark_repetitions, --benchmark_format, ...).
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/program_options.h"
#include "frontend/bench/run_problem.h"
#include "tile/base/status_macros.h"

namespace tartan::bench {
namespace {

// The engines of one problem, reused by consecutive benchmarks of that problem.
class Workbench {
 public:
  Workbench(api::Device& device, const HardwareSettings& settings)
      : device_(device), settings_(settings) {}

  // Returns null if the engine does not support the operation.
  absl::StatusOr<Engine*> Take(const Problem& problem, const std::string& engine) {
    if (current_ == nullptr || current_->problem().spec != problem.spec) {
      current_.reset();
      TARTAN_ASSIGN_OR_RETURN(current_, ProblemRun::Create(problem, device_));
    }
    return current_->AddEngine(engine);
  }

  const ProblemRun& current() const { return *current_; }
  const HardwareSettings& settings() const { return settings_; }

 private:
  api::Device& device_;
  const HardwareSettings settings_;
  std::unique_ptr<ProblemRun> current_;
};

void RunBenchmark(benchmark::State& state, const Problem& problem, const std::string& name,
                  Workbench& workbench) {
  const absl::StatusOr<Engine*> engine = workbench.Take(problem, name);
  if (!engine.ok()) return state.SkipWithError(std::string(engine.status().message()).c_str());
  if (*engine == nullptr) return state.SkipWithError("the engine does not have this operation");
  const auto start = std::chrono::steady_clock::now();
  for (auto iteration : state) {
    if (const absl::Status status = (*engine)->Run(1); !status.ok()) {
      return state.SkipWithError(std::string(status.message()).c_str());
    }
  }
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  const Workload& work = workbench.current().workload();
  const auto runs = static_cast<double>(state.iterations());
  using benchmark::Counter;
  state.counters["FLOP/s"] = Counter(work.flops * runs, Counter::kIsRate);
  state.counters["B/s"] = Counter(work.bytes * runs, Counter::kIsRate);
  state.counters["roofline"] =
      RooflineMilliseconds(work, workbench.settings()) * runs / elapsed.count();
}

absl::Status Run(int argc, char** argv) {
  TARTAN_ASSIGN_OR_RETURN(const ProgramOptions options, TakeOptions(&argc, argv));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<ProblemSection> sections, ReadProblems(options));
  TARTAN_ASSIGN_OR_RETURN(const std::shared_ptr<api::Device> device, OpenDevice(options));
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings, device->MeasuredSettings());
  Workbench workbench(*device, settings);
  std::vector<std::string> engines = {"tartan"};
  engines.insert(engines.end(), options.against.begin(), options.against.end());
  for (const ProblemSection& section : sections) {
    for (const Problem& problem : section.problems) {
      for (const std::string& engine : engines) {
        benchmark::RegisterBenchmark(absl::StrCat(problem.spec, "/", engine).c_str(),
                                     [&problem, engine, &workbench](benchmark::State& state) {
                                       RunBenchmark(state, problem, engine, workbench);
                                     })
            ->UseRealTime()
            ->MinTime(options.seconds)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return absl::InvalidArgumentError("unknown arguments");
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return absl::OkStatus();
}

}  // namespace
}  // namespace tartan::bench

int main(int argc, char** argv) {
  const absl::Status status = tartan::bench::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "operators: %s\n", std::string(status.message()).c_str());
  return 2;
}
