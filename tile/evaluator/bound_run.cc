// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/bound_run.h"

#include <utility>

#include "tile/base/status_macros.h"

namespace tartan::evaluator {

BoundRun::BoundRun(std::shared_ptr<LoadedProgram> program, std::unique_ptr<Frame> frame)
    : program_(std::move(program)), frame_(std::move(frame)) {}

BoundRun::~BoundRun() = default;

absl::StatusOr<std::unique_ptr<BoundRun>> BoundRun::Create(std::shared_ptr<LoadedProgram> program,
                                                           absl::Span<const hal::BufferPtr> states,
                                                           std::vector<hal::BufferPtr>* shared) {
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Frame> frame, program->MakeFrame(states, shared));
  return std::unique_ptr<BoundRun>(new BoundRun(std::move(program), std::move(frame)));
}

absl::Status BoundRun::Enqueue(hal::Queue& queue, absl::Span<const HostTensor> inputs) {
  TARTAN_RETURN_IF_ERROR(program_->WriteInputs(*frame_, queue, inputs));
  return program_->Execute(*frame_, queue, nullptr);
}

absl::StatusOr<std::vector<KernelTime>> BoundRun::Profile(absl::Span<const HostTensor> inputs) {
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<hal::Queue> queue,
                          program().device()->CreateQueue(true));
  TARTAN_RETURN_IF_ERROR(program_->WriteInputs(*frame_, *queue, inputs));
  std::vector<KernelTime> times;
  TARTAN_RETURN_IF_ERROR(program_->Execute(*frame_, *queue, &times));
  return times;
}

absl::StatusOr<HostTensor> BoundRun::ReadAsync(hal::Queue& queue, size_t output) {
  return program_->ReadOutput(*frame_, queue, output);
}

}  // namespace tartan::evaluator
