// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/kernel_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "tile/base/cancellation.h"
#include "tile/base/status_macros.h"

namespace tartan::evaluator {
namespace {

// Fixed cost of compiling a kernel, in characters of kernel text (empirical).
constexpr size_t kStart = 3500;

// Statements of a program for each process that compiles its kernels (empirical). Training steps of
// large networks have 30 to 140 statements per kernel.
constexpr int64_t kStatementsPerProcess = 200;

int64_t Statements(const proto::Program& program) {
  int64_t count = std::count(program.code().begin(), program.code().end(), ';');
  for (const proto::Program::Part& part : program.parts()) count += Statements(part.program());
  return count;
}

// The ascending kernel positions of each part. Depends on the texts alone, so that every process
// computes the same parts.
std::vector<std::vector<int>> DivideKernels(const hal::ExecutableSource& source,
                                            const CompilerProcesses& processes) {
  const int enough = static_cast<int>(source.kernels.size()) / std::max(processes.min_kernels, 1);
  const auto count = static_cast<size_t>(std::clamp(enough, 1, std::max(processes.count, 1)));
  std::vector<int> order(source.kernels.size());
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](int k) { return kStart + source.kernels[k].source.size(); };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return length(a) > length(b); });
  std::vector<std::vector<int>> parts(count);
  std::vector<size_t> lengths(count, 0);
  for (int k : order) {  // kernels of launch batches must be compiled together
    if (!source.joins_launch_batches || !source.kernels[k].in_launch_batch) continue;
    parts.front().push_back(k);
    lengths.front() += length(k);
  }
  for (int k : order) {  // the longest first, each to the currently shortest part
    if (source.joins_launch_batches && source.kernels[k].in_launch_batch) continue;
    const size_t shortest = std::min_element(lengths.begin(), lengths.end()) - lengths.begin();
    parts[shortest].push_back(k);
    lengths[shortest] += length(k);
  }
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [](const std::vector<int>& part) { return part.empty(); }),
              parts.end());
  for (std::vector<int>& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

hal::ExecutableSource SourceOf(const hal::ExecutableSource& source, const std::vector<int>& part) {
  hal::ExecutableSource taken{
      source.format,         source.prologue, {}, source.options, source.joins_launch_batches,
      source.uses_megakernel};
  for (int k : part) taken.kernels.push_back(source.kernels[k]);
  return taken;
}

// True if no launch makes the driver compile. Drivers of GPUs compile whole programs at once, so
// that running their kernels would prepare nothing.
bool HasAllKernels(const hal::Executable& executable, const hal::DeviceInfo& info) {
  const hal::CompileStatistics& statistics = executable.statistics();
  return info.type == hal::DeviceType::kGpu ||
         (statistics.cache_misses == 0 && statistics.cache_partial_hits == 0);
}

absl::StatusOr<BuiltKernels> BuildWhole(hal::Device& device, const hal::ExecutableSource& source) {
  BuiltKernels built;
  TARTAN_ASSIGN_OR_RETURN(const hal::ExecutablePtr executable, device.Compile(source));
  for (size_t k = 0; k < source.kernels.size(); ++k) {
    built.kernels.push_back({executable, static_cast<int>(k)});
  }
  built.executables = {executable};
  built.has_all_kernels = HasAllKernels(*executable, device.info());
  return built;
}

}  // namespace

ProgramSource PartOf(const ProgramSource& program, const std::vector<int>& kernels) {
  ProgramSource part;
  part.source = SourceOf(program.source, kernels);
  part.list.name = program.list.name;
  part.list.buffers = program.list.buffers;
  std::vector<int> positions(program.list.kernels.size(), -1);
  for (int k : kernels) {
    positions[k] = static_cast<int>(part.list.kernels.size());
    loop::Kernel kernel = program.list.kernels[k];
    kernel.body = nullptr;
    part.list.kernels.push_back(std::move(kernel));
  }
  const auto take = [&](const std::vector<compiler::Step>& from, std::vector<compiler::Step>* to) {
    for (const compiler::Step& step : from) {
      const auto* launch = std::get_if<compiler::LaunchStep>(&step);
      if (launch == nullptr || positions[launch->kernel] < 0) continue;
      to->push_back(*launch);
      std::get<compiler::LaunchStep>(to->back()).kernel = positions[launch->kernel];
    }
  };
  take(program.list.setup, &part.list.setup);
  take(program.list.steps, &part.list.steps);
  return part;
}

std::vector<ProgramSource> SplitProgram(const ProgramSource& program,
                                        const CompilerProcesses& processes) {
  const std::vector<std::vector<int>> divided = DivideKernels(program.source, processes);
  if (divided.size() == 1) return {program};
  std::vector<ProgramSource> parts;
  for (const std::vector<int>& kernels : divided) parts.push_back(PartOf(program, kernels));
  return parts;
}

int ExpectedProcesses(const proto::Program& program) {
  constexpr int64_t kMost = 1024;
  return static_cast<int>(std::min(Statements(program) / kStatementsPerProcess, kMost));
}

bool AreKernelsCompiled(const hal::ExecutableSource& source, const CompilerProcesses& processes) {
  if (processes.is_compiled(source)) return true;
  const auto parts = DivideKernels(source, processes);
  return parts.size() > 1 &&
         std::all_of(parts.begin(), parts.end(), [&](const std::vector<int>& part) {
           return processes.is_compiled(SourceOf(source, part));
         });
}

absl::StatusOr<BuiltKernels> BuildKernelParts(const hal::DevicePtr& device,
                                              const ProgramSource& program,
                                              const CompilerProcesses* processes) {
  const auto divided =
      DivideKernels(program.source, processes == nullptr ? CompilerProcesses() : *processes);
  if (divided.size() == 1 || processes->is_compiled(program.source)) {
    return BuildWhole(*device, program.source);
  }
  // Waits for the other process that compiles a part; null for parts that none compiles.
  std::vector<std::function<void()>> waiting(divided.size());
  std::vector<size_t> here;  // the parts that this process compiles
  for (size_t p = 0; p < divided.size(); ++p) {
    const ProgramSource part = PartOf(program, divided[p]);
    if (processes->is_compiled(part.source)) continue;
    if (!here.empty()) waiting[p] = processes->start(part);
    if (!waiting[p]) here.push_back(p);
  }
  absl::Status status;
  std::vector<hal::ExecutablePtr> compiled(divided.size());
  for (size_t p : here) {
    status.Update(CheckCancellation());
    if (!status.ok()) break;
    auto part = processes->compile_here(PartOf(program, divided[p]));
    status.Update(part.status());
    if (!status.ok()) break;
    compiled[p] = *std::move(part);
  }
  BuiltKernels built;
  built.kernels.resize(program.source.kernels.size());
  built.has_all_kernels = true;
  // Each part is loaded while the later ones compile. An error is returned only after all have
  // ended: until then other processes use their parts.
  for (size_t p = 0; p < divided.size(); ++p) {
    if (waiting[p]) waiting[p]();
    status.Update(CheckCancellation());  // ends the other processes
    if (!status.ok()) continue;
    hal::ExecutablePtr executable = compiled[p];
    if (executable == nullptr) {
      auto loaded = device->Compile(SourceOf(program.source, divided[p]));
      status.Update(loaded.status());
      if (!status.ok()) continue;
      executable = *std::move(loaded);
      built.has_all_kernels &= HasAllKernels(*executable, device->info());
    }
    for (size_t k = 0; k < divided[p].size(); ++k) {
      built.kernels[divided[p][k]] = {executable, static_cast<int>(k)};
    }
    built.executables.push_back(std::move(executable));
  }
  TARTAN_RETURN_IF_ERROR(status);
  return built;
}

}  // namespace tartan::evaluator
