// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/step_program.h"

#include <mutex>
#include <utility>

#include "frontend/api/tiers/background.h"
#include "frontend/api/tiers/tiered_program.h"
#include "tile/base/clock.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/compile_options.h"

namespace tartan::api {
namespace {

using ProgramPtr = std::unique_ptr<DeviceProgram>;

absl::StatusOr<ProgramPtr> MakeProgram(const StepSource& source, compiler::Tier tier,
                                       CompileWhere where, RunStatistics* statistics) {
  return DeviceProgram::Create(source.device->WithTier(tier), source.inputs, source.states,
                               source.outputs, source.name, statistics, where, source.pool.get());
}

}  // namespace

struct StepProgram::ExactCompilation {
  std::mutex mutex;
  bool is_wanted = true;
  bool is_there = false;
  absl::StatusOr<ProgramPtr> program = absl::UnavailableError("exact kernels are not compiled yet");
};

StepProgram::StepProgram(std::shared_ptr<const StepSource> source, ProgramPtr program,
                         bool is_ready)
    : source_(std::move(source)),
      program_(std::move(program)),
      is_ready_(is_ready),
      repayment_(source_->rule, ForecastExact(program_->compiled(), source_->device->info())) {}

StepProgram::~StepProgram() {
  if (exact_compilation_ == nullptr) return;
  std::lock_guard<std::mutex> lock(exact_compilation_->mutex);
  exact_compilation_->is_wanted = false;
}

absl::StatusOr<std::unique_ptr<StepProgram>> StepProgram::Create(StepSource source,
                                                                 RunStatistics* statistics) {
  const Background::Pause pause;
  auto shared = std::make_shared<const StepSource>(std::move(source));
  const auto made = [&](ProgramPtr program, bool is_ready) {
    return std::unique_ptr<StepProgram>(new StepProgram(shared, std::move(program), is_ready));
  };
  const bool is_auto = shared->tier == Tier::kAuto && !shared->device->has_hooks();
  if (is_auto) {
    absl::StatusOr<ProgramPtr> found =
        MakeProgram(*shared, compiler::Tier::kExact, CompileWhere::kCachedOnly, statistics);
    if (found.ok()) return made(*std::move(found), false);
    if (!absl::IsNotFound(found.status())) return found.status();
  }
  const bool is_ready = is_auto || shared->tier == Tier::kReady;
  TARTAN_ASSIGN_OR_RETURN(
      ProgramPtr program,
      MakeProgram(*shared, is_ready ? compiler::Tier::kReady : compiler::Tier::kExact,
                  CompileWhere::kInProcess, statistics));
  return made(std::move(program), is_ready);
}

absl::Status StepProgram::Bind(std::vector<DeviceTensor> states) {
  TARTAN_RETURN_IF_ERROR(program_->Bind(states));
  bound_ = std::move(states);
  return absl::OkStatus();
}

void StepProgram::RequestExact() {
  exact_compilation_ = std::make_shared<ExactCompilation>();
  const auto urgency = [coming = exact_compilation_] {
    std::lock_guard<std::mutex> lock(coming->mutex);
    return coming->is_wanted ? 1.0 : -1.0;
  };
  const auto make = [coming = exact_compilation_,
                     source = source_](const Background::ContinueCallback&) {
    RunStatistics ignored;
    absl::StatusOr<ProgramPtr> program =
        MakeProgram(*source, compiler::Tier::kExact, CompileWhere::kSeparateProcess, &ignored);
    std::lock_guard<std::mutex> lock(coming->mutex);
    if (coming->is_wanted) coming->program = std::move(program);
    coming->is_there = true;
  };
  Background::OfProcess().Add({urgency, make});
}

// Switches to the program that the background has made. `inputs` are the inputs of the next run.
absl::Status StepProgram::TakeExact(absl::Span<const HostTensor> inputs) {
  if (!is_ready_ || exact_compilation_ == nullptr) return absl::OkStatus();
  absl::StatusOr<ProgramPtr> exact = absl::UnavailableError("");
  {
    std::lock_guard<std::mutex> lock(exact_compilation_->mutex);
    if (!exact_compilation_->is_there) return absl::OkStatus();
    exact = std::move(exact_compilation_->program);
  }
  is_ready_ = !exact.ok();
  if (!exact.ok()) {
    // Keeps the ready (dynamic-shape) kernels for good: nothing requests exact (shape-specialised)
    // ones again.
    if (!std::exchange(has_reported_failure_, true) && !source_->device->quiet())
      ReportNoExactKernels(exact.status());
    exact_compilation_->program = exact.status();
    return absl::OkStatus();
  }
  TARTAN_RETURN_IF_ERROR(program_->Finish());
  const ProgramPtr ready = std::exchange(program_, *std::move(exact));
  TARTAN_RETURN_IF_ERROR(program_->Bind(bound_));
  return program_->CompareWithReady(*ready, inputs);
}

absl::StatusOr<std::vector<HostTensor>> StepProgram::Run(absl::Span<const HostTensor> inputs,
                                                         RunStatistics* statistics,
                                                         std::vector<KernelProfile>* profile) {
  TARTAN_RETURN_IF_ERROR(TakeExact(inputs));
  const auto begin = Clock::now();
  statistics->kernels += program_->kernels();
  ++(is_ready_ ? statistics->ready_programs : statistics->exact_programs);
  if (profile != nullptr) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<KernelProfile> kernels, program_->Profile(inputs));
    profile->insert(profile->end(), kernels.begin(), kernels.end());
  } else {
    TARTAN_RETURN_IF_ERROR(program_->Start(inputs));
  }
  absl::StatusOr<std::vector<HostTensor>> outputs = program_->Outputs();
  const bool is_repaid = repayment_.AddRun(MillisecondsSince(begin));
  if (is_repaid && is_ready_ && source_->tier == Tier::kAuto) RequestExact();
  return outputs;
}

void CompileExactLater(std::function<absl::StatusOr<StepSource>()> make,
                       std::function<void()> then) {
  // Lower than the urgency of kernels that runs are waiting for.
  const auto urgency = [] { return 0.5; };
  const auto run = [make = std::move(make),
                    then = std::move(then)](const Background::ContinueCallback&) {
    const absl::StatusOr<StepSource> source = make();
    if (!source.ok()) return;
    const absl::Status compiled = DeviceProgram::Compile(
        source->device->WithTier(compiler::Tier::kExact), source->inputs, source->states,
        source->outputs, source->name, CompileWhere::kSeparateProcess);
    if (compiled.ok()) then();
  };
  Background::OfProcess().Add({urgency, run});
}

absl::Status StepProgram::MakeExact() {
  if (!is_ready_ || source_->tier != Tier::kAuto) return absl::OkStatus();
  const Background::Pause pause;
  RunStatistics ignored;
  TARTAN_ASSIGN_OR_RETURN(ProgramPtr exact, MakeProgram(*source_, compiler::Tier::kExact,
                                                        CompileWhere::kInProcess, &ignored));
  TARTAN_RETURN_IF_ERROR(program_->Finish());
  program_ = std::move(exact);
  is_ready_ = false;
  return bound_.empty() && !source_->states.empty() ? absl::OkStatus() : program_->Bind(bound_);
}

}  // namespace tartan::api
