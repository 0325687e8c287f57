// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/run_steps.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/check_bounds.h"

namespace tartan::evaluator {
namespace {

// "is for 'conv1' float32[1, 64, 56, 56], 802816 bytes": the largest buffer of an arena.
std::string LargestIn(const CompiledProgram& program, const CompiledProgram::Region& region,
                      int arena) {
  const compiler::BufferInfo* largest = nullptr;
  for (size_t b = 0; b < region.slot.size(); ++b) {
    if (region.slot[b] < 0 || region.plan.placements[region.slot[b]].arena != arena) continue;
    const compiler::BufferInfo& buffer = program.list().buffers[b];
    if (largest == nullptr || buffer.bytes > largest->bytes) largest = &buffer;
  }
  if (largest == nullptr) return "is unused";
  return absl::StrCat("is for '", largest->name, "' ", largest->shape.ToString(), ", ",
                      largest->bytes, " bytes");
}

hal::Launch MakeLaunch(const CompiledProgram& program, const compiler::LaunchStep& step,
                       const Buffers& buffers) {
  const loop::Kernel& kernel = program.list().kernels[step.kernel];
  hal::Launch launch;
  launch.entry_point = program.kernels()[step.kernel].entry_point;
  for (int buffer : step.buffers) launch.arguments.push_back(buffers[buffer]);
  if (step.sizes.empty()) {
    std::copy_n(kernel.global_size, 3, launch.global_size.begin());
  } else {
    launch.global_size = step.global_size;
    launch.numbers = step.sizes;
    launch.number_bytes = static_cast<int>(ByteWidth(kernel.index_type));
  }
  std::copy_n(kernel.local_size, 3, launch.local_size.begin());
  return launch;
}

// Creates the views of a region's buffers.
absl::Status AddViews(const CompiledProgram& program, const CompiledProgram::Region& region,
                      const Buffers& arenas, Buffers* buffers) {
  const std::vector<compiler::BufferInfo>& infos = program.list().buffers;
  for (size_t b = 0; b < infos.size(); ++b) {
    if (infos[b].base < 0 || region.slot[infos[b].base] < 0 || infos[b].bytes == 0) continue;
    const Placement& placement = region.plan.placements[region.slot[infos[b].base]];
    TARTAN_ASSIGN_OR_RETURN((*buffers)[b], program.device()->SubBuffer(
                                               arenas[placement.arena],
                                               placement.offset + infos[b].offset, infos[b].bytes));
  }
  return absl::OkStatus();
}

// Returns whether a copy is recorded with the launches before it. On a CPU, it would otherwise
// divide their launch batch, and wake the driver's thread twice. Not measured on GPUs.
bool JoinsLaunches(const CompiledProgram& program, const compiler::CopyStep& copy) {
  return program.device()->info().type == hal::DeviceType::kCpu &&
         program.list().buffers[copy.to].bytes > 0;
}

hal::Launch MakeCopy(const CompiledProgram& program, const compiler::CopyStep& step,
                     const Buffers& buffers) {
  return hal::Launch::Copy(buffers[step.from], 0, buffers[step.to], 0,
                           program.list().buffers[step.to].bytes);
}

absl::Status ReplaySteps(const RecordedSteps& recorded, hal::Queue& queue,
                         std::vector<hal::EventPtr>* events) {
  if (events == nullptr) return queue.Replay(recorded.recording, nullptr);
  std::vector<hal::EventPtr> all;
  TARTAN_RETURN_IF_ERROR(queue.Replay(recorded.recording, &all));
  for (size_t i = 0; i < all.size(); ++i) {
    if (recorded.is_launch[i]) events->push_back(std::move(all[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AllocateRegion(const CompiledProgram& program, const CompiledProgram::Region& region,
                            Buffers* buffers, Buffers* shared) {
  // Other programs divide the arenas differently, which requires overlapping sub-buffers.
  if (!program.device()->info().sub_buffers_may_overlap) shared = nullptr;
  Buffers arenas;
  for (int64_t bytes : region.plan.arena_bytes) {
    const size_t next = arenas.size();
    if (shared != nullptr && next < shared->size() && (*shared)[next]->size() >= bytes) {
      arenas.push_back((*shared)[next]);
      continue;
    }
    absl::StatusOr<hal::BufferPtr> arena = program.device()->Allocate(bytes);
    if (!arena.ok()) {
      const int number = static_cast<int>(arenas.size());
      return absl::Status(arena.status().code(),
                          absl::StrCat(arena.status().message(), "; its largest value ",
                                       LargestIn(program, region, number)));
    }
    arenas.push_back(*std::move(arena));
    if (shared == nullptr) continue;
    shared->resize(std::max(shared->size(), next + 1));
    (*shared)[next] = arenas.back();
  }
  std::map<std::tuple<int, int64_t, int64_t>, hal::BufferPtr> pieces;
  for (size_t b = 0; b < region.slot.size(); ++b) {
    if (region.slot[b] < 0) continue;
    const Placement& placement = region.plan.placements[region.slot[b]];
    hal::BufferPtr& piece = pieces[{placement.arena, placement.offset, placement.bytes}];
    const hal::BufferPtr& arena = arenas[placement.arena];
    if (placement.bytes == arena->size()) piece = arena;  // views of it do not overlap
    if (piece == nullptr) {
      TARTAN_ASSIGN_OR_RETURN(
          piece, program.device()->SubBuffer(arena, placement.offset, placement.bytes));
    }
    (*buffers)[b] = piece;
  }
  return AddViews(program, region, arenas, buffers);
}

absl::Status PoisonRun(const CompiledProgram& program, const Buffers& buffers, hal::Queue& queue) {
  if (!program.device()->info().poisons_memory) return absl::OkStatus();
  for (size_t b = 0; b < buffers.size(); ++b) {
    if (program.frame().slot[b] < 0) continue;
    TARTAN_RETURN_IF_ERROR(queue.Fill(buffers[b], 0, buffers[b]->size(), {&hal::kPoison, 1}));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Command>> RecordSteps(const CompiledProgram& program,
                                                 absl::Span<const compiler::Step> steps,
                                                 const Buffers& buffers) {
  std::vector<Command> commands;
  std::vector<hal::Launch> launches;
  hal::ExecutablePtr executable;  // of the launches
  auto flush = [&]() -> absl::Status {
    if (launches.empty()) return absl::OkStatus();
    TARTAN_ASSIGN_OR_RETURN(hal::RecordingPtr recording,
                            program.device()->Record(executable, launches));
    RecordedSteps& recorded = std::get<RecordedSteps>(commands.emplace_back(RecordedSteps()));
    recorded.recording = std::move(recording);
    for (const hal::Launch& launch : launches) {
      recorded.is_launch.push_back(launch.entry_point != hal::kCopy);
    }
    launches.clear();
    return absl::OkStatus();
  };
  for (const compiler::Step& step : steps) {
    if (const auto* launch = std::get_if<compiler::LaunchStep>(&step)) {
      const hal::ExecutablePtr& next = program.kernels()[launch->kernel].executable;
      if (next != executable) TARTAN_RETURN_IF_ERROR(flush());
      executable = next;
      launches.push_back(MakeLaunch(program, *launch, buffers));
      continue;
    }
    const auto* copy = std::get_if<compiler::CopyStep>(&step);
    if (copy != nullptr && !launches.empty() && JoinsLaunches(program, *copy)) {
      launches.push_back(MakeCopy(program, *copy, buffers));
      continue;
    }
    TARTAN_RETURN_IF_ERROR(flush());
    if (const auto* fill = std::get_if<compiler::FillStep>(&step)) commands.push_back(*fill);
    if (copy != nullptr) commands.push_back(*copy);
  }
  TARTAN_RETURN_IF_ERROR(flush());
  return commands;
}

std::optional<std::vector<hal::Launch>> LaunchesOf(const CompiledProgram& program,
                                                   absl::Span<const compiler::Step> steps,
                                                   const Buffers& buffers,
                                                   hal::ExecutablePtr* executable) {
  // the report is read after each execution
  if (program.list().bounds_reports.run >= 0) return std::nullopt;
  std::vector<hal::Launch> launches;
  for (const compiler::Step& step : steps) {
    const auto* launch = std::get_if<compiler::LaunchStep>(&step);
    if (launch == nullptr) return std::nullopt;
    const hal::ExecutablePtr& next = program.kernels()[launch->kernel].executable;
    if (!launches.empty() && next != *executable) return std::nullopt;
    *executable = next;
    launches.push_back(MakeLaunch(program, *launch, buffers));
  }
  if (launches.empty()) return std::nullopt;
  return launches;
}

absl::Status RunCommands(const CompiledProgram& program, const std::vector<Command>& commands,
                         const Buffers& buffers, hal::Queue& queue,
                         std::vector<hal::EventPtr>* events) {
  for (const Command& command : commands) {
    TARTAN_RETURN_IF_ERROR(Match(
        command,
        [&](const RecordedSteps& recorded) { return ReplaySteps(recorded, queue, events); },
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

absl::Status CheckBoundsReport(const CompiledProgram& program, int report, const Buffers& buffers,
                               hal::Queue& queue) {
  if (report < 0 || buffers[report] == nullptr) return absl::OkStatus();
  std::array<int32_t, compiler::kReportWords> words = {};
  const absl::Span<uint8_t> bytes(reinterpret_cast<uint8_t*>(words.data()), sizeof(words));
  TARTAN_RETURN_IF_ERROR(queue.Read(buffers[report], 0, bytes));
  return compiler::ErrorOfReport(program.list(), words);
}

}  // namespace tartan::evaluator
