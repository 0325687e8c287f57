// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/loaded_program.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tile/base/clock.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/lent_outputs.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {
namespace {

using compiler::BufferKind;

// Frames that were not needed during this number of calls are released.
constexpr int kReturnsBetweenLooks = 64;

}  // namespace

LoadedProgram::LoadedProgram(std::shared_ptr<const CompiledProgram> program)
    : program_(std::move(program)) {}

LoadedProgram::~LoadedProgram() = default;

absl::StatusOr<std::shared_ptr<LoadedProgram>> LoadedProgram::Load(
    std::shared_ptr<const CompiledProgram> program, absl::Span<const HostTensor> constants,
    ResidentPool* pool) {
  ResidentPool own;
  std::shared_ptr<LoadedProgram> loaded(new LoadedProgram(std::move(program)));
  if (const HostProgram* host = loaded->program_->host(); host != nullptr) {
    TARTAN_ASSIGN_OR_RETURN(loaded->known_, host->Load(constants));
    return loaded;
  }
  TARTAN_ASSIGN_OR_RETURN(loaded->resident_, LoadResidentBuffers(*loaded->program_, constants,
                                                                 pool == nullptr ? own : *pool));
  return loaded;
}

absl::StatusOr<std::unique_ptr<Frame>> LoadedProgram::MakeFrame(
    absl::Span<const hal::BufferPtr> states, std::vector<hal::BufferPtr>* shared) const {
  if (program_->host() != nullptr) {
    return absl::InternalError("a program for the host cannot run on the device");
  }
  const compiler::KernelList& list = program_->list();
  auto frame = std::make_unique<Frame>();
  frame->buffers = resident_.buffers;
  TARTAN_RETURN_IF_ERROR(AllocateRegion(*program_, program_->frame(), &frame->buffers, shared));
  size_t next = 0;
  for (int input : list.inputs) {
    if (list.buffers[input].kind != BufferKind::kState) continue;
    if (next == states.size() || states[next]->size() < list.buffers[input].bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("no memory, or too little, is given for the state '",
                       list.buffers[input].name, "' ", list.buffers[input].shape.ToString()));
    }
    frame->buffers[input] = states[next++];
  }
  if (next != states.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program has ", next, " states, but memory is given for ", states.size()));
  }
  TARTAN_ASSIGN_OR_RETURN(frame->commands,
                          RecordSteps(*program_, program_->list().steps, frame->buffers));
  return frame;
}

absl::StatusOr<std::unique_ptr<Frame>> LoadedProgram::MakeFrame(bool profiling) const {
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Frame> frame,
                          MakeFrame(absl::Span<const hal::BufferPtr>(), nullptr));
  TARTAN_ASSIGN_OR_RETURN(frame->queue, program_->device()->CreateQueue(profiling));
  return frame;
}

absl::StatusOr<std::unique_ptr<Frame>> LoadedProgram::TakeFrame() {
  std::unique_ptr<Frame> frame = TakeFreeFrame();
  if (frame == nullptr) return MakeFrame(false);
  TARTAN_RETURN_IF_ERROR(FreeOutputs(*program_, *frame));
  return frame;
}

std::unique_ptr<Frame> LoadedProgram::TakeFreeFrame() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (free_frames_.empty()) {
    idle_ = 0;
    return nullptr;
  }
  std::unique_ptr<Frame> frame = std::move(free_frames_.back());
  free_frames_.pop_back();
  idle_ = std::min(idle_, free_frames_.size());
  return frame;
}

void LoadedProgram::ReturnFrame(std::unique_ptr<Frame> frame) {
  std::vector<std::unique_ptr<Frame>> dropped;  // destroyed after the mutex is released
  std::lock_guard<std::mutex> lock(mutex_);
  free_frames_.push_back(std::move(frame));
  if (++returned_ < kReturnsBetweenLooks) return;
  const auto idle = free_frames_.begin() + static_cast<int64_t>(idle_);
  dropped.assign(std::move_iterator(free_frames_.begin()), std::move_iterator(idle));
  free_frames_.erase(free_frames_.begin(), idle);
  returned_ = 0;
  idle_ = free_frames_.size();
}

void LoadedProgram::ReleaseFreeFrames() {
  std::vector<std::unique_ptr<Frame>> dropped;  // destroyed after the mutex is released
  std::lock_guard<std::mutex> lock(mutex_);
  dropped.swap(free_frames_);
  idle_ = 0;
}

absl::Status LoadedProgram::Execute(const Frame& frame, hal::Queue& queue,
                                    std::vector<KernelTime>* profile) const {
  std::vector<hal::EventPtr> events;
  TARTAN_RETURN_IF_ERROR(RunCommands(*program_, frame.commands, frame.buffers, queue,
                                     profile == nullptr ? nullptr : &events));
  TARTAN_RETURN_IF_ERROR(
      CheckBoundsReport(*program_, program_->list().bounds_reports.run, frame.buffers, queue));
  if (profile == nullptr) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(queue.Finish());
  size_t next = 0;
  for (const compiler::Step& step : program_->list().steps) {
    const auto* launch = std::get_if<compiler::LaunchStep>(&step);
    if (launch == nullptr) continue;
    TARTAN_ASSIGN_OR_RETURN(const hal::Timing timing, events[next++]->GetTiming());
    profile->push_back({program_->list().kernels[launch->kernel].name, launch->description,
                        static_cast<double>(timing.end_ns - timing.start_ns) * 1e-6, launch->flops,
                        launch->bytes});
  }
  return absl::OkStatus();
}

absl::Status LoadedProgram::WriteInputs(const Frame& frame, hal::Queue& queue,
                                        absl::Span<const HostTensor> inputs) const {
  TARTAN_RETURN_IF_ERROR(PoisonRun(*program_, frame.buffers, queue));
  const compiler::KernelList& list = program_->list();
  size_t next = 0;
  for (int input : list.inputs) {
    if (list.buffers[input].kind != BufferKind::kInput) continue;
    if (next == inputs.size() || inputs[next].shape() != list.buffers[input].shape) {
      return absl::InvalidArgumentError(absl::StrCat("input '", list.buffers[input].name,
                                                     "' is missing, or its shape is not ",
                                                     list.buffers[input].shape.ToString()));
    }
    TARTAN_RETURN_IF_ERROR(queue.WriteAsync(frame.buffers[input], 0, inputs[next++].bytes()));
  }
  return absl::OkStatus();
}

namespace {

// Memory for a result of the device; pinned if possible.
hal::HostMemory MemoryFor(hal::Device& device, int64_t bytes) {
  hal::HostMemory pinned = device.AllocateHost(bytes);
  if (pinned.owner != nullptr) return pinned;
  auto ordinary = std::make_shared<std::vector<uint8_t>>(bytes);
  return {absl::MakeSpan(*ordinary), ordinary};
}

}  // namespace

absl::StatusOr<HostTensor> LoadedProgram::ReadOutput(const Frame& frame, hal::Queue& queue,
                                                     size_t output, hal::HostMemory memory) const {
  const compiler::KernelList& list = program_->list();
  const int buffer = list.outputs[output];
  if (memory.owner == nullptr) memory = MemoryFor(*program_->device(), list.buffers[buffer].bytes);
  // Allocated first: after ReadAsync the memory must not be released, even if an allocation fails.
  HostTensor read(list.output_shapes[output], memory.bytes, std::move(memory.owner));
  if (!memory.bytes.empty()) {
    TARTAN_RETURN_IF_ERROR(queue.ReadAsync(frame.buffers[buffer], 0, memory.bytes));
  }
  return read;
}

absl::StatusOr<std::vector<HostTensor>> LoadedProgram::RunOnHost(
    absl::Span<const HostTensor> inputs, std::vector<KernelTime>* profile,
    const std::function<void()>& meanwhile) const {
  if (meanwhile != nullptr) meanwhile();
  const auto start = Clock::now();
  auto outputs = program_->host()->Run(known_, inputs);
  const double taken_ms = MillisecondsSince(start);
  if (profile != nullptr) profile->push_back({"host", "computed by the host", taken_ms});
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> LoadedProgram::Run(absl::Span<const HostTensor> inputs,
                                                           std::vector<KernelTime>* profile,
                                                           const std::function<void()>& meanwhile) {
  if (program_->host() != nullptr) return RunOnHost(inputs, profile, meanwhile);
  std::vector<HostTensor> outputs;  // outlive the frame, whose queue may still read
  outputs.reserve(program_->list().outputs.size());
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Frame> frame,
                          profile == nullptr ? TakeFrame() : MakeFrame(true));
  TARTAN_RETURN_IF_ERROR(WriteInputs(*frame, *frame->queue, inputs));
  if (profile != nullptr) {
    // The frame is new: an unprofiled execution first touches its memory.
    TARTAN_RETURN_IF_ERROR(Execute(*frame, *frame->queue, nullptr));
    TARTAN_RETURN_IF_ERROR(WriteInputs(*frame, *frame->queue, inputs));
  }
  TARTAN_RETURN_IF_ERROR(Execute(*frame, *frame->queue, profile));
  if (meanwhile != nullptr) {
    TARTAN_RETURN_IF_ERROR(frame->queue->Flush());
    meanwhile();
  }
  for (size_t o = 0; o < program_->list().outputs.size(); ++o) {
    if (std::optional<HostTensor> lent = LendOutput(*program_, *frame, o)) {
      outputs.push_back(*std::move(lent));
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(outputs.emplace_back(), ReadOutput(*frame, *frame->queue, o));
  }
  TARTAN_RETURN_IF_ERROR(frame->queue->Finish());
  // After a failure the frame is dropped, because its queue may still hold the error.
  if (profile == nullptr) ReturnFrame(std::move(frame));
  return outputs;
}

PreparedRun::PreparedRun(std::shared_ptr<LoadedProgram> program, std::unique_ptr<Frame> frame)
    : program_(std::move(program)), frame_(std::move(frame)) {}

PreparedRun::~PreparedRun() = default;

absl::StatusOr<std::unique_ptr<PreparedRun>> PreparedRun::Create(
    std::shared_ptr<LoadedProgram> program, absl::Span<const HostTensor> inputs) {
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Frame> frame, program->MakeFrame(false));
  TARTAN_RETURN_IF_ERROR(program->WriteInputs(*frame, *frame->queue, inputs));
  TARTAN_RETURN_IF_ERROR(frame->queue->Finish());
  return std::unique_ptr<PreparedRun>(new PreparedRun(std::move(program), std::move(frame)));
}

absl::Status PreparedRun::Enqueue() { return program_->Execute(*frame_, *frame_->queue, nullptr); }

absl::Status PreparedRun::Finish() { return frame_->queue->Finish(); }

absl::StatusOr<HostTensor> PreparedRun::Output(size_t output) {
  TARTAN_ASSIGN_OR_RETURN(HostTensor read, program_->ReadOutput(*frame_, *frame_->queue, output));
  TARTAN_RETURN_IF_ERROR(Finish());
  return read;
}

}  // namespace tartan::evaluator
