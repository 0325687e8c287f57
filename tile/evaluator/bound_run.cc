// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/bound_run.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tile/base/clock.h"
#include "tile/base/status_macros.h"

namespace tartan::evaluator {
namespace {

absl::Status CheckStates(const HostProgram& program, absl::Span<const hal::BufferPtr> states) {
  size_t next = 0;
  for (const HostInput& input : program.inputs()) {
    if (!input.is_state) continue;
    if (next == states.size() || states[next]->size() < input.shape.byte_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no memory, or too little, is given for the state '", input.name, "' ",
                       input.shape.ToString()));
    }
    ++next;
  }
  if (next == states.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the program has ", next, " states, but memory is given for ", states.size()));
}

absl::StatusOr<HostTensor> ReadState(hal::Queue& queue, const hal::BufferPtr& buffer,
                                     const TensorShape& shape) {
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  if (!bytes.empty()) TARTAN_RETURN_IF_ERROR(queue.Read(buffer, 0, absl::MakeSpan(bytes)));
  if (shape.type == DataType::kBool) {  // kernels may write other values than 0 and 1
    for (uint8_t& byte : bytes) byte = byte != 0 ? 1 : 0;
  }
  return HostTensor(shape, bytes);
}

}  // namespace

BoundRun::BoundRun(std::shared_ptr<LoadedProgram> program, std::unique_ptr<Frame> frame,
                   std::vector<hal::BufferPtr> states)
    : program_(std::move(program)), frame_(std::move(frame)), states_(std::move(states)) {}

BoundRun::~BoundRun() = default;

absl::StatusOr<std::unique_ptr<BoundRun>> BoundRun::Create(std::shared_ptr<LoadedProgram> program,
                                                           absl::Span<const hal::BufferPtr> states,
                                                           std::vector<hal::BufferPtr>* shared) {
  std::vector<hal::BufferPtr> kept(states.begin(), states.end());
  std::unique_ptr<Frame> frame;
  if (const HostProgram* host = program->program().host(); host != nullptr) {
    TARTAN_RETURN_IF_ERROR(CheckStates(*host, states));
  } else {
    TARTAN_ASSIGN_OR_RETURN(frame, program->MakeFrame(states, shared));
  }
  return std::unique_ptr<BoundRun>(
      new BoundRun(std::move(program), std::move(frame), std::move(kept)));
}

absl::Status BoundRun::RunOnHost(hal::Queue& queue, absl::Span<const HostTensor> inputs) {
  const HostProgram& host = *program().host();
  std::vector<HostTensor> given;
  size_t state = 0;
  size_t input = 0;
  for (const HostInput& read : host.inputs()) {
    if (read.is_state) {
      TARTAN_ASSIGN_OR_RETURN(given.emplace_back(), ReadState(queue, states_[state++], read.shape));
    } else if (!read.is_constant && input < inputs.size()) {
      given.push_back(inputs[input++]);
    }
  }
  TARTAN_ASSIGN_OR_RETURN(host_outputs_, host.Run(program_->known_, given));
  state = 0;
  for (const HostInput& written : host.inputs()) {
    if (!written.is_state) continue;
    const hal::BufferPtr& buffer = states_[state++];
    if (written.next < 0 || host_outputs_[written.next].bytes().empty()) continue;
    TARTAN_RETURN_IF_ERROR(queue.Write(buffer, 0, host_outputs_[written.next].bytes()));
  }
  // The caller may change an input that is returned.
  for (HostTensor& output : host_outputs_) {
    for (const HostTensor& of_caller : inputs) {
      if (output.bytes().data() != of_caller.bytes().data()) continue;
      output = HostTensor(output.shape(), output.bytes());
    }
  }
  return absl::OkStatus();
}

std::vector<StateUse> UsesOfStates(const CompiledProgram& program) {
  std::vector<StateUse> uses;
  if (const HostProgram* host = program.host(); host != nullptr) {
    for (const HostInput& input : host->inputs()) {
      if (input.is_state) uses.push_back({0, 1, {0}});
    }
    return uses;
  }
  const compiler::KernelList& list = program.list();
  // The uses by buffer; a view uses its base.
  std::vector<StateUse> by_buffer(list.buffers.size());
  for (size_t s = 0; s < list.steps.size(); ++s) {
    const auto step = static_cast<int64_t>(s);
    const auto use = [&](int buffer) {
      StateUse& found = by_buffer[static_cast<size_t>(buffer)];
      if (found.last == 0) found.first = step;
      found.last = step + 1;
      if (found.steps.empty() || found.steps.back() != step) found.steps.push_back(step);
    };
    const compiler::StepBuffers used = compiler::BuffersOf(list, list.steps[s]);
    for (const auto* buffers : {&used.read, &used.written}) {
      for (const int buffer : *buffers) {
        use(buffer);
        if (list.buffers[buffer].base >= 0) use(list.buffers[buffer].base);
      }
    }
  }
  for (const int input : list.inputs) {
    if (list.buffers[input].kind == compiler::BufferKind::kState)
      uses.push_back(by_buffer[static_cast<size_t>(input)]);
  }
  return uses;
}

absl::Status BoundRun::WatchStates(absl::Span<const StateGroup> groups, StateHooks hooks) {
  events_.assign(groups.size(), nullptr);
  hooks_ = std::move(hooks);
  if (frame_ == nullptr) return absl::OkStatus();  // one event follows the whole run
  const std::vector<StateUse> uses = UsesOfStates(program());
  // Groups whose uses begin or end at one place, a number of steps.
  struct Cut {
    std::vector<size_t> ends;
    std::vector<size_t> begins;
  };
  const compiler::KernelList& list = program().list();
  std::map<size_t, Cut> cuts;
  for (size_t g = 0; g < groups.size(); ++g) {
    size_t begin = list.steps.size();
    size_t end = 0;
    for (const size_t state : groups[g].states) {
      if (state >= uses.size())
        return absl::InvalidArgumentError(absl::StrCat("there is no state ", state));
      for (const int64_t step : uses[state].steps) {
        if (step < groups[g].first || step >= groups[g].last) continue;
        begin = std::min(begin, static_cast<size_t>(step));
        end = std::max(end, static_cast<size_t>(step) + 1);
      }
    }
    cuts[end].ends.push_back(g);
    if (hooks_.before != nullptr) cuts[std::min(begin, end)].begins.push_back(g);
  }
  cuts[list.steps.size()];  // the rest
  parts_.clear();
  size_t first = 0;
  for (auto& [place, cut] : cuts) {
    const auto steps = absl::MakeConstSpan(list.steps).subspan(first, place - first);
    Part& part = parts_.emplace_back();
    TARTAN_ASSIGN_OR_RETURN(part.commands, RecordSteps(program(), steps, frame_->buffers));
    part.ends = std::move(cut.ends);
    part.begins = std::move(cut.begins);
    first = place;
  }
  return absl::OkStatus();
}

absl::Status BoundRun::EnqueueParts(hal::Queue& queue) {
  for (const Part& part : parts_) {
    TARTAN_RETURN_IF_ERROR(RunCommands(program(), part.commands, frame_->buffers, queue, nullptr));
    if (!part.ends.empty()) {
      TARTAN_ASSIGN_OR_RETURN(const hal::EventPtr event, queue.Mark());
      for (const size_t group : part.ends) {
        events_[group] = event;
        if (hooks_.after != nullptr) TARTAN_RETURN_IF_ERROR(hooks_.after(group, event));
      }
    }
    for (const size_t group : part.begins) TARTAN_RETURN_IF_ERROR(hooks_.before(group, queue));
  }
  return absl::OkStatus();
}

absl::Status BoundRun::Enqueue(hal::Queue& queue, absl::Span<const HostTensor> inputs) {
  if (frame_ == nullptr) {
    for (size_t g = 0; g < events_.size() && hooks_.before != nullptr; ++g)
      TARTAN_RETURN_IF_ERROR(hooks_.before(g, queue));
    TARTAN_RETURN_IF_ERROR(RunOnHost(queue, inputs));
    if (events_.empty()) return absl::OkStatus();
    TARTAN_ASSIGN_OR_RETURN(const hal::EventPtr event, queue.Mark());
    std::fill(events_.begin(), events_.end(), event);
    for (size_t g = 0; g < events_.size() && hooks_.after != nullptr; ++g)
      TARTAN_RETURN_IF_ERROR(hooks_.after(g, event));
    return absl::OkStatus();
  }
  TARTAN_RETURN_IF_ERROR(program_->WriteInputs(*frame_, queue, inputs));
  if (parts_.empty()) return program_->Execute(*frame_, queue, nullptr);
  TARTAN_RETURN_IF_ERROR(EnqueueParts(queue));
  return CheckBoundsReport(program(), program().list().bounds_reports.run, frame_->buffers, queue);
}

absl::StatusOr<std::vector<KernelTime>> BoundRun::Profile(absl::Span<const HostTensor> inputs) {
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<hal::Queue> queue,
                          program().device()->CreateQueue(true));
  std::vector<KernelTime> times;
  if (frame_ == nullptr) {
    const auto start = Clock::now();
    TARTAN_RETURN_IF_ERROR(RunOnHost(*queue, inputs));
    times.push_back({"host", "computed by the host", MillisecondsSince(start)});
    return times;
  }
  TARTAN_RETURN_IF_ERROR(program_->WriteInputs(*frame_, *queue, inputs));
  TARTAN_RETURN_IF_ERROR(program_->Execute(*frame_, *queue, &times));
  return times;
}

absl::StatusOr<HostTensor> BoundRun::ReadAsync(hal::Queue& queue, size_t output,
                                               hal::HostMemory memory) {
  if (frame_ == nullptr) return host_outputs_[output];
  return program_->ReadOutput(*frame_, queue, output, std::move(memory));
}

}  // namespace tartan::evaluator
