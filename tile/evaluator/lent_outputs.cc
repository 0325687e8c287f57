// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/lent_outputs.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "tile/base/status_macros.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {
namespace {

// Keeps lent memory alive, and shows that a caller still holds an output.
struct Lease {
  std::shared_ptr<const void> memory;
};

// Installs other output memory in the frame, and returns the previous one.
OutputMemory Exchange(const CompiledProgram& program, Frame& frame, OutputMemory next) {
  OutputMemory last = {{}, std::move(frame.commands), std::move(frame.lent)};
  for (size_t o = 0; o < program.lent_outputs().size(); ++o) {
    hal::BufferPtr& buffer = frame.buffers[program.lent_outputs()[o]];
    last.buffers.push_back(std::exchange(buffer, std::move(next.buffers[o])));
  }
  frame.commands = std::move(next.commands);
  frame.lent = std::move(next.lent);
  return last;
}

absl::StatusOr<OutputMemory> MakeMemory(const CompiledProgram& program, const Frame& frame) {
  OutputMemory made;
  Buffers buffers = frame.buffers;
  for (const int output : program.lent_outputs()) {
    TARTAN_ASSIGN_OR_RETURN(made.buffers.emplace_back(),
                            program.device()->Allocate(program.list().buffers[output].bytes));
    buffers[output] = made.buffers.back();
  }
  TARTAN_ASSIGN_OR_RETURN(made.commands, RecordSteps(program, program.list().steps, buffers));
  return made;
}

bool AnyIsKept(const std::vector<std::weak_ptr<const void>>& lent) {
  const bool is_kept =
      std::any_of(lent.begin(), lent.end(), [](const auto& lease) { return !lease.expired(); });
  // Synchronizes with the caller that has released the output after its last read.
  std::atomic_thread_fence(std::memory_order_acquire);
  return is_kept;
}

}  // namespace

absl::Status FreeOutputs(const CompiledProgram& program, Frame& frame) {
  if (!AnyIsKept(frame.lent)) {
    frame.lent.clear();
    return absl::OkStatus();
  }
  const auto free = std::find_if(frame.others.begin(), frame.others.end(),
                                 [](const OutputMemory& other) { return !AnyIsKept(other.lent); });
  if (free != frame.others.end()) {
    free->lent.clear();
    *free = Exchange(program, frame, std::move(*free));
    return absl::OkStatus();
  }
  frame.others.reserve(frame.others.size() + 1);
  TARTAN_ASSIGN_OR_RETURN(OutputMemory made, MakeMemory(program, frame));
  frame.others.push_back(Exchange(program, frame, std::move(made)));
  return absl::OkStatus();
}

std::optional<HostTensor> LendOutput(const CompiledProgram& program, Frame& frame, size_t output) {
  const int buffer = program.list().outputs[output];
  const std::vector<int>& lent = program.lent_outputs();
  if (std::find(lent.begin(), lent.end(), buffer) == lent.end()) return std::nullopt;
  // Recorded repetitions will write to this memory again.
  if (!frame.repetitions.empty()) return std::nullopt;
  const auto others =
      std::count_if(frame.others.begin(), frame.others.end(),
                    [](const OutputMemory& other) { return AnyIsKept(other.lent); });
  if (others >= OutputMemory::kMaxLent) return std::nullopt;
  hal::HostMemory memory = frame.buffers[buffer]->host_memory();
  if (memory.owner == nullptr) return std::nullopt;
  const auto lease = std::make_shared<const Lease>(Lease{std::move(memory.owner)});
  frame.lent.push_back(lease);
  return HostTensor(program.list().output_shapes[output],
                    memory.bytes.first(program.list().buffers[buffer].bytes), lease);
}

}  // namespace tartan::evaluator
