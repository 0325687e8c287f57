#include "tile/evaluator/loaded_program.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/frame.h"

namespace tartan::evaluator {
namespace {

using compiler::BufferKind;

// Frames that were not needed during so many calls are given back.
constexpr int kReturnsBetweenLooks = 64;

// "is for 'conv1' float32[1, 64, 56, 56], 802816 bytes": the largest buffer of an arena.
std::string LargestIn(const CompiledProgram& program, const CompiledProgram::Region& region,
                      int arena) {
  const compiler::BufferInfo* largest = nullptr;
  for (size_t b = 0; b < region.slot.size(); ++b) {
    if (region.slot[b] < 0 || region.plan.placements[region.slot[b]].arena != arena) continue;
    const compiler::BufferInfo& buffer = program.list().buffers[b];
    if (largest == nullptr || buffer.bytes > largest->bytes) largest = &buffer;
  }
  if (largest == nullptr) return "is for nothing";
  return absl::StrCat("is for '", largest->name, "' ", largest->shape.ToString(), ", ",
                      largest->bytes, " bytes");
}

// Sub-buffers of fresh arenas for every buffer of a region, one per piece; others stay null.
absl::Status AllocateRegion(const CompiledProgram& program, const CompiledProgram::Region& region,
                            Buffers* buffers) {
  Buffers arenas;
  for (int64_t bytes : region.plan.arena_bytes) {
    absl::StatusOr<hal::BufferPtr> arena = program.device()->Allocate(bytes);
    if (!arena.ok()) {
      const int number = static_cast<int>(arenas.size());
      return absl::Status(arena.status().code(),
                          absl::StrCat(arena.status().message(), "; the most ",
                                       LargestIn(program, region, number)));
    }
    arenas.push_back(*std::move(arena));
  }
  std::map<std::tuple<int, int64_t, int64_t>, hal::BufferPtr> pieces;
  for (size_t b = 0; b < region.slot.size(); ++b) {
    if (region.slot[b] < 0) continue;
    const Placement& placement = region.plan.placements[region.slot[b]];
    hal::BufferPtr& piece = pieces[{placement.arena, placement.offset, placement.bytes}];
    if (piece == nullptr) {
      TARTAN_ASSIGN_OR_RETURN(
          piece,
          program.device()->SubBuffer(arenas[placement.arena], placement.offset, placement.bytes));
    }
    (*buffers)[b] = piece;
  }
  return absl::OkStatus();
}

// The constant where it is, if the device can read it there; null otherwise.
absl::StatusOr<hal::BufferPtr> Wrap(const CompiledProgram& program, const HostTensor& constant) {
  return program.device()->Wrap(constant.bytes(), std::make_shared<const HostTensor>(constant));
}

// A buffer of its own.
absl::StatusOr<hal::BufferPtr> AllocateFor(const compiler::BufferInfo& buffer,
                                           hal::Device& device) {
  absl::StatusOr<hal::BufferPtr> allocated = device.Allocate(buffer.bytes);
  if (allocated.ok()) return allocated;
  return absl::Status(allocated.status().code(),
                      absl::StrCat("'", buffer.name, "' ", buffer.shape.ToString(), ": ",
                                   allocated.status().message()));
}

hal::Launch MakeLaunch(const compiler::KernelList& list, const compiler::LaunchStep& step,
                       const Buffers& buffers) {
  const loop::Kernel& kernel = list.kernels[step.kernel];
  hal::Launch launch;
  launch.entry_point = step.kernel;
  for (int buffer : step.buffers) launch.arguments.push_back(buffers[buffer]);
  std::copy_n(kernel.global_size, 3, launch.global_size.begin());
  std::copy_n(kernel.local_size, 3, launch.local_size.begin());
  return launch;
}

absl::StatusOr<std::vector<Command>> RecordSteps(const CompiledProgram& program,
                                                 absl::Span<const compiler::Step> steps,
                                                 const Buffers& buffers) {
  std::vector<Command> commands;
  std::vector<hal::Launch> launches;
  auto flush = [&]() -> absl::Status {
    if (launches.empty()) return absl::OkStatus();
    TARTAN_ASSIGN_OR_RETURN(hal::RecordingPtr recording,
                            program.device()->Record(program.executable(), launches));
    commands.push_back(std::move(recording));
    launches.clear();
    return absl::OkStatus();
  };
  for (const compiler::Step& step : steps) {
    if (const auto* launch = std::get_if<compiler::LaunchStep>(&step)) {
      launches.push_back(MakeLaunch(program.list(), *launch, buffers));
      continue;
    }
    TARTAN_RETURN_IF_ERROR(flush());
    if (const auto* fill = std::get_if<compiler::FillStep>(&step)) commands.push_back(*fill);
    if (const auto* copy = std::get_if<compiler::CopyStep>(&step)) commands.push_back(*copy);
  }
  TARTAN_RETURN_IF_ERROR(flush());
  return commands;
}

absl::Status RunCommands(const CompiledProgram& program, const std::vector<Command>& commands,
                         const Buffers& buffers, hal::Queue& queue,
                         std::vector<hal::EventPtr>* events) {
  for (const Command& command : commands) {
    TARTAN_RETURN_IF_ERROR(Match(
        command,
        [&](const hal::RecordingPtr& recording) { return queue.Replay(recording, events); },
        [&](const compiler::FillStep& fill) {
          std::array<uint8_t, 8> pattern = {};
          StoreElement(fill.type, fill.value, 0, pattern.data());
          return queue.Fill(buffers[fill.buffer], 0, program.list().buffers[fill.buffer].bytes,
                            absl::MakeSpan(pattern).first(ByteWidth(fill.type)));
        },
        [&](const compiler::CopyStep& copy) {
          return queue.Copy(buffers[copy.from], 0, buffers[copy.to], 0,
                            program.list().buffers[copy.to].bytes);
        }));
  }
  return absl::OkStatus();
}

absl::Status Upload(hal::Queue& queue, const hal::BufferPtr& buffer, const HostTensor& tensor) {
  if (tensor.bytes().empty()) return absl::OkStatus();
  return queue.Write(buffer, 0, tensor.bytes());
}

}  // namespace

LoadedProgram::LoadedProgram(std::shared_ptr<const CompiledProgram> program)
    : program_(std::move(program)) {}

LoadedProgram::~LoadedProgram() = default;

absl::StatusOr<std::shared_ptr<LoadedProgram>> LoadedProgram::Load(
    std::shared_ptr<const CompiledProgram> program, absl::Span<const HostTensor> constants) {
  std::shared_ptr<LoadedProgram> loaded(new LoadedProgram(std::move(program)));
  TARTAN_RETURN_IF_ERROR(loaded->Setup(constants));
  return loaded;
}

absl::Status LoadedProgram::Setup(absl::Span<const HostTensor> constants) {
  const compiler::KernelList& list = program_->list();
  resident_.resize(list.buffers.size());
  TARTAN_RETURN_IF_ERROR(AllocateRegion(*program_, program_->resident(), &resident_));
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<hal::Queue> queue,
                          program_->device()->CreateQueue(false));
  size_t next = 0;
  for (int input : list.inputs) {
    if (list.buffers[input].kind != BufferKind::kConstant) continue;
    if (next == constants.size() || constants[next].shape() != list.buffers[input].shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("constant '", list.buffers[input].name, "' is missing or of another shape"));
    }
    const HostTensor& constant = constants[next++];
    if (program_->IsSeparate(input)) {
      TARTAN_ASSIGN_OR_RETURN(resident_[input], Wrap(*program_, constant));
      if (resident_[input] != nullptr) continue;
      TARTAN_ASSIGN_OR_RETURN(resident_[input],
                              AllocateFor(list.buffers[input], *program_->device()));
    }
    TARTAN_RETURN_IF_ERROR(Upload(*queue, resident_[input], constant));
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Command> commands,
                          RecordSteps(*program_, list.setup, resident_));
  TARTAN_RETURN_IF_ERROR(RunCommands(*program_, commands, resident_, *queue, nullptr));
  return queue->Finish();
}

absl::StatusOr<std::unique_ptr<LoadedProgram::Frame>> LoadedProgram::MakeFrame(
    bool profiling) const {
  auto frame = std::make_unique<Frame>();
  frame->buffers = resident_;
  TARTAN_RETURN_IF_ERROR(AllocateRegion(*program_, program_->frame(), &frame->buffers));
  TARTAN_ASSIGN_OR_RETURN(frame->queue, program_->device()->CreateQueue(profiling));
  TARTAN_ASSIGN_OR_RETURN(frame->commands,
                          RecordSteps(*program_, program_->list().steps, frame->buffers));
  return frame;
}

absl::StatusOr<std::unique_ptr<LoadedProgram::Frame>> LoadedProgram::TakeFrame() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_frames_.empty()) {
      std::unique_ptr<Frame> frame = std::move(free_frames_.back());
      free_frames_.pop_back();
      idle_ = std::min(idle_, free_frames_.size());
      return frame;
    }
    idle_ = 0;
  }
  return MakeFrame(false);
}

void LoadedProgram::ReturnFrame(std::unique_ptr<Frame> frame) {
  std::vector<std::unique_ptr<Frame>> dropped;  // released after the mutex is
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
  std::vector<std::unique_ptr<Frame>> dropped;  // released after the mutex is
  std::lock_guard<std::mutex> lock(mutex_);
  dropped.swap(free_frames_);
  idle_ = 0;
}

absl::Status LoadedProgram::Execute(Frame& frame, std::vector<KernelTime>* profile) const {
  std::vector<hal::EventPtr> events;
  TARTAN_RETURN_IF_ERROR(RunCommands(*program_, frame.commands, frame.buffers, *frame.queue,
                                     profile == nullptr ? nullptr : &events));
  if (profile == nullptr) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(frame.queue->Finish());
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

absl::Status LoadedProgram::WarmUp() {
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Frame> frame, TakeFrame());
  TARTAN_RETURN_IF_ERROR(Execute(*frame, nullptr));
  TARTAN_RETURN_IF_ERROR(frame->queue->Finish());
  ReturnFrame(std::move(frame));
  return absl::OkStatus();
}

absl::Status LoadedProgram::WriteInputs(Frame& frame, absl::Span<const HostTensor> inputs) const {
  const compiler::KernelList& list = program_->list();
  size_t next = 0;
  for (int input : list.inputs) {
    if (list.buffers[input].kind != BufferKind::kInput) continue;
    if (next == inputs.size() || inputs[next].shape() != list.buffers[input].shape) {
      return absl::InvalidArgumentError(absl::StrCat("input '", list.buffers[input].name,
                                                     "' is missing or of another shape than ",
                                                     list.buffers[input].shape.ToString()));
    }
    TARTAN_RETURN_IF_ERROR(
        frame.queue->WriteLater(frame.buffers[input], 0, inputs[next++].bytes()));
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> LoadedProgram::ReadOutput(Frame& frame, size_t output) const {
  const compiler::KernelList& list = program_->list();
  const int buffer = list.outputs[output];
  auto bytes = std::make_shared<std::vector<uint8_t>>(list.buffers[buffer].bytes);
  if (!bytes->empty()) {
    TARTAN_RETURN_IF_ERROR(
        frame.queue->ReadLater(frame.buffers[buffer], 0, absl::MakeSpan(*bytes)));
  }
  absl::Span<const uint8_t> view = *bytes;
  return HostTensor(list.output_shapes[output], view, std::move(bytes));
}

absl::StatusOr<std::vector<HostTensor>> LoadedProgram::Run(absl::Span<const HostTensor> inputs,
                                                           std::vector<KernelTime>* profile,
                                                           const std::function<void()>& meanwhile) {
  std::vector<HostTensor> outputs;  // outlive the frame, whose queue may still read
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Frame> frame,
                          profile == nullptr ? TakeFrame() : MakeFrame(true));
  TARTAN_RETURN_IF_ERROR(WriteInputs(*frame, inputs));
  if (profile != nullptr) {
    // The frame is new: the first run pays for touching its memory.
    TARTAN_RETURN_IF_ERROR(Execute(*frame, nullptr));
    TARTAN_RETURN_IF_ERROR(WriteInputs(*frame, inputs));
  }
  TARTAN_RETURN_IF_ERROR(Execute(*frame, profile));
  if (meanwhile != nullptr) {
    TARTAN_RETURN_IF_ERROR(frame->queue->Flush());
    meanwhile();
  }
  for (size_t o = 0; o < program_->list().outputs.size(); ++o) {
    TARTAN_ASSIGN_OR_RETURN(outputs.emplace_back(), ReadOutput(*frame, o));
  }
  TARTAN_RETURN_IF_ERROR(frame->queue->Finish());
  // A frame whose run failed is dropped: its queue may still hold the failure.
  if (profile == nullptr) ReturnFrame(std::move(frame));
  return outputs;
}

PreparedRun::PreparedRun(std::shared_ptr<LoadedProgram> program,
                         std::unique_ptr<LoadedProgram::Frame> frame)
    : program_(std::move(program)), frame_(std::move(frame)) {}

PreparedRun::~PreparedRun() = default;

absl::StatusOr<std::unique_ptr<PreparedRun>> PreparedRun::Create(
    std::shared_ptr<LoadedProgram> program, absl::Span<const HostTensor> inputs) {
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram::Frame> frame, program->MakeFrame(false));
  TARTAN_RETURN_IF_ERROR(program->WriteInputs(*frame, inputs));
  TARTAN_RETURN_IF_ERROR(frame->queue->Finish());
  return std::unique_ptr<PreparedRun>(new PreparedRun(std::move(program), std::move(frame)));
}

absl::Status PreparedRun::Enqueue() { return program_->Execute(*frame_, nullptr); }

absl::Status PreparedRun::Finish() { return frame_->queue->Finish(); }

absl::StatusOr<HostTensor> PreparedRun::Output(size_t output) {
  TARTAN_ASSIGN_OR_RETURN(HostTensor read, program_->ReadOutput(*frame_, output));
  TARTAN_RETURN_IF_ERROR(Finish());
  return read;
}

}  // namespace tartan::evaluator
