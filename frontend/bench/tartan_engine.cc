// SPDX-License-Identifier: Apache-2.0
#include "frontend/bench/tartan_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::bench {
namespace {

class TartanEngine : public Engine {
 public:
  explicit TartanEngine(std::unique_ptr<evaluator::PreparedRun> run) : run_(std::move(run)) {}

  const std::string& name() const override { return name_; }

  absl::Status Run(int64_t count) override {
    for (int64_t i = 0; i < count; ++i) {
      TARTAN_RETURN_IF_ERROR(run_->Enqueue());
    }
    return run_->Finish();
  }

  absl::StatusOr<HostTensor> Output() override { return run_->Output(0); }

  int64_t kernels() const override { return run_->program().launches_per_run(); }

 private:
  const std::string name_ = "tartan";
  const std::unique_ptr<evaluator::PreparedRun> run_;
};

class CopyEngine : public Engine {
 public:
  CopyEngine(hal::BufferPtr from, hal::BufferPtr to, std::unique_ptr<hal::Queue> queue)
      : from_(std::move(from)), to_(std::move(to)), queue_(std::move(queue)) {}

  const std::string& name() const override { return name_; }

  absl::Status Run(int64_t count) override {
    for (int64_t i = 0; i < count; ++i) {
      TARTAN_RETURN_IF_ERROR(queue_->Copy(from_, 0, to_, 0, from_->size()));
    }
    return queue_->Finish();
  }

  absl::StatusOr<HostTensor> Output() override { return HostTensor(); }

 private:
  const std::string name_ = "copy";
  const hal::BufferPtr from_;
  const hal::BufferPtr to_;
  const std::unique_ptr<hal::Queue> queue_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> MakeTartanEngine(const WorkloadProgram& program,
                                                         absl::Span<const HostTensor> values,
                                                         api::Device& device) {
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<const evaluator::CompiledProgram> compiled,
                          device.Compile(program.program));
  return MakeTartanEngine(std::move(compiled), program, values);
}

absl::StatusOr<std::unique_ptr<Engine>> MakeTartanEngine(
    std::shared_ptr<const evaluator::CompiledProgram> compiled, const WorkloadProgram& program,
    absl::Span<const HostTensor> values) {
  std::vector<HostTensor> constants;
  std::vector<HostTensor> varying;
  for (size_t i = 0; i < values.size(); ++i) {
    (program.inputs[i].is_constant ? constants : varying).push_back(values[i]);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::shared_ptr<evaluator::LoadedProgram> loaded,
                          evaluator::LoadedProgram::Load(std::move(compiled), constants));
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<evaluator::PreparedRun> run,
                          evaluator::PreparedRun::Create(loaded, varying));
  return std::unique_ptr<Engine>(std::make_unique<TartanEngine>(std::move(run)));
}

absl::StatusOr<std::unique_ptr<Engine>> MakeCopyEngine(double bytes, api::Device& device) {
  const auto half = std::max<int64_t>(static_cast<int64_t>(bytes / 2), 1);
  TARTAN_ASSIGN_OR_RETURN(hal::BufferPtr from, device.hal()->Allocate(half));
  TARTAN_ASSIGN_OR_RETURN(hal::BufferPtr to, device.hal()->Allocate(half));
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<hal::Queue> queue, device.hal()->CreateQueue(false));
  const uint8_t zero = 0;
  TARTAN_RETURN_IF_ERROR(queue->Fill(from, 0, half, {&zero, 1}));
  TARTAN_RETURN_IF_ERROR(queue->Finish());
  return std::unique_ptr<Engine>(
      std::make_unique<CopyEngine>(std::move(from), std::move(to), std::move(queue)));
}

}  // namespace tartan::bench
