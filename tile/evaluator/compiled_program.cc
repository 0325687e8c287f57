// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/compiled_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tile/base/clock.h"
#include "tile/base/digest.h"
#include "tile/base/status_macros.h"
#include "tile/codegen/write_kernel.h"
#include "tile/compiler/memory/lifetimes.h"
#include "tile/evaluator/host/make_host_program.h"
#include "tile/evaluator/kernel_parts.h"
#include "tile/evaluator/resident_names.h"
#include "tile/evaluator/written_kernels.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::evaluator {
namespace {

using compiler::BufferKind;

hal::ExecutableSource WriteSource(const compiler::KernelList& list, const codegen::Dialect& dialect,
                                  const BuildServices& means) {
  hal::ExecutableSource source;
  source.format = dialect.format;
  source.options = dialect.compiler_options;
  source.uses_megakernel = dialect.team_barrier != nullptr;
  source.joins_launch_batches = source.uses_megakernel || JoinsLaunchBatches(list);
  std::vector<std::shared_ptr<const WrittenKernel>> written;
  std::vector<const codegen::KernelText*> texts;
  for (const loop::Kernel& kernel : list.kernels) {
    written.push_back(means.written == nullptr
                          ? WriteOne(kernel, dialect)
                          : means.written->Get(kernel, dialect, means.written_key));
    texts.push_back(&written.back()->text);
    source.kernels.push_back(
        {kernel.name, texts.back()->kernel, kernel.in_launch_batch, written.back()->kept});
  }
  source.prologue = codegen::PrologueOf(texts, dialect);
  return source;
}

absl::StatusOr<ProgramSource> MakeSource(const proto::Program& program,
                                         const codegen::Dialect& dialect,
                                         const compiler::CompileOptions& options,
                                         const compiler::CompileHooks& hooks,
                                         const BuildServices& means = {}) {
  ProgramSource made;
  compiler::CompileHooks knowing = hooks;
  knowing.known = means.known;
  TARTAN_ASSIGN_OR_RETURN(made.list, MakeList(program, options, knowing, means.tree));
  hooks.Dump("source", [&] { return codegen::WriteProgram(made.list.kernels, dialect); });
  made.source = WriteSource(made.list, dialect, means);
  return made;
}

// The memory planner does not check the device's allocation limit.
absl::Status CheckFits(const compiler::BufferInfo& buffer, const hal::DeviceInfo& info) {
  if (buffer.bytes <= info.max_allocation_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "'", buffer.name, "' ", buffer.shape.ToString(), " needs ", buffer.bytes, " bytes, but ",
      info.max_allocation_bytes, " is the device's largest allocation"));
}

// Smaller constants (bytes) are copied into a common arena, which is denser and has larger pages.
constexpr int64_t kMinSeparateBytes = int64_t{1} << 24;

bool HasOwnBuffer(const compiler::BufferInfo& buffer, const hal::DeviceInfo& info) {
  return info.type == hal::DeviceType::kCpu && buffer.kind == BufferKind::kConstant &&
         buffer.bytes >= kMinSeparateBytes;
}

bool LivesOn(BufferKind kind) {
  return kind == BufferKind::kConstant || kind == BufferKind::kPersistent;
}

// All buffers that a step reads or writes.
std::vector<int> AllOf(const compiler::KernelList& list, const compiler::Step& step) {
  compiler::StepBuffers buffers = compiler::BuffersOf(list, step);
  buffers.read.insert(buffers.read.end(), buffers.written.begin(), buffers.written.end());
  return std::move(buffers.read);
}

// Minimum bytes of an output that is returned without a copy; allocations so large have pages of
// their own.
constexpr int64_t kMinLentBytes = int64_t{1} << 21;

std::vector<int> LentOutputs(const compiler::KernelList& list, const hal::DeviceInfo& info) {
  std::vector<int> lent;
  if (info.type != hal::DeviceType::kCpu) return lent;
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    const compiler::BufferInfo& buffer = list.buffers[b];
    // Host tensors require bools to be 0 or 1, which kernels do not guarantee.
    if (buffer.kind != BufferKind::kOutput || buffer.bytes < kMinLentBytes ||
        buffer.shape.type == DataType::kBool) {
      continue;
    }
    lent.push_back(static_cast<int>(b));
  }
  return lent;
}

// Adds arenas of the buffers that have views. Each arena has buffers with equal views only, so that
// all its sub-buffers are equal or disjoint.
absl::Status PlanBuffersWithViews(const compiler::KernelList& list,
                                  const std::vector<Lifetime>& lifetimes, int64_t alignment,
                                  CompiledProgram::Region* region) {
  std::map<int, int64_t> view_bytes;  // by buffer
  for (const compiler::BufferInfo& view : list.buffers) {
    if (view.base >= 0) view_bytes.emplace(view.base, view.bytes);
  }
  std::map<std::pair<int64_t, int64_t>, std::vector<int>> groups;  // by sizes of buffer and views
  for (const auto& [buffer, bytes] : view_bytes) {
    if (lifetimes[buffer].first > lifetimes[buffer].last) continue;
    groups[{list.buffers[buffer].bytes, bytes}].push_back(buffer);
  }
  MemoryPlan& plan = region->plan;
  for (const auto& [sizes, buffers] : groups) {
    std::vector<Lifetime> group;
    for (const int buffer : buffers) group.push_back(lifetimes[buffer]);
    const int64_t bytes = (sizes.first + alignment - 1) / alignment * alignment;
    TARTAN_ASSIGN_OR_RETURN(const MemoryPlan arenas,
                            PlanCache(group, alignment, bytes, Sharing::kWholePieces));
    const int first = static_cast<int>(plan.arena_bytes.size());
    for (size_t i = 0; i < buffers.size(); ++i) {
      Placement placement = arenas.placements[i];
      placement.arena += first;
      region->slot[buffers[i]] = static_cast<int>(plan.placements.size());
      plan.placements.push_back(placement);
    }
    plan.arena_bytes.insert(plan.arena_bytes.end(), arenas.arena_bytes.begin(),
                            arenas.arena_bytes.end());
  }
  return absl::OkStatus();
}

// Plans the arenas of one execution. `alone`: buffers that have arenas of their own.
absl::StatusOr<CompiledProgram::Region> PlanFrame(const compiler::KernelList& list,
                                                  const std::vector<int>& alone,
                                                  const hal::DeviceInfo& info) {
  CompiledProgram::Region region;
  region.slot.assign(list.buffers.size(), -1);
  std::vector<Lifetime> lifetimes;
  const std::vector<Lifetime> all = compiler::LifetimesOf(list);
  std::vector<bool> has_views(list.buffers.size(), false);
  for (const compiler::BufferInfo& buffer : list.buffers) {
    if (buffer.base >= 0) has_views[buffer.base] = !info.sub_buffers_may_overlap;
  }
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    const bool is_of_run = compiler::IsOfRun(list.buffers[b].kind);
    // Values that only stages of a fused kernel exchange have no buffer.
    if (is_of_run && all[b].first > all[b].last) continue;
    TARTAN_RETURN_IF_ERROR(CheckFits(list.buffers[b], info));
    if (!is_of_run || has_views[b]) continue;
    if (std::binary_search(alone.begin(), alone.end(), static_cast<int>(b))) continue;
    region.slot[b] = static_cast<int>(lifetimes.size());
    lifetimes.push_back(all[b]);
  }
  const Sharing sharing = info.sub_buffers_may_overlap ? Sharing::kAnywhere : Sharing::kWholePieces;
  TARTAN_ASSIGN_OR_RETURN(
      region.plan, PlanCache(lifetimes, info.buffer_alignment, info.max_allocation_bytes, sharing));
  if (!info.sub_buffers_may_overlap) {
    TARTAN_RETURN_IF_ERROR(PlanBuffersWithViews(list, all, info.buffer_alignment, &region));
  }
  for (const int buffer : alone) {
    const int64_t bytes = list.buffers[buffer].bytes;
    region.slot[buffer] = static_cast<int>(region.plan.placements.size());
    region.plan.placements.push_back({static_cast<int>(region.plan.arena_bytes.size()), 0, bytes});
    region.plan.arena_bytes.push_back(bytes);
  }
  return region;
}

// The buffers that executions use and that live as long as the program is loaded.
std::vector<int> UsedResidents(const compiler::KernelList& list) {
  std::vector<bool> is_used(list.buffers.size(), false);
  for (const compiler::Step& step : list.steps) {
    for (int buffer : AllOf(list, step)) is_used[buffer] = true;
  }
  for (int output : list.outputs) is_used[output] = true;
  std::vector<int> resident;
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    if (is_used[b] && LivesOn(list.buffers[b].kind)) resident.push_back(static_cast<int>(b));
  }
  return resident;
}

// Separate constants of which a launch uses each element for at most kMaxFlops operations.
// Constants that setup steps repack are excluded, because executions stream the repacked form.
std::vector<bool> StreamedConstants(const compiler::KernelList& list,
                                    const std::vector<bool>& is_separate) {
  constexpr double kMaxFlops = 32;
  std::vector<bool> is_streamed(list.buffers.size(), false);
  for (const compiler::Step& step : list.steps) {
    const auto* launch = std::get_if<compiler::LaunchStep>(&step);
    if (launch == nullptr) continue;
    for (const int buffer : launch->buffers) {
      if (!is_separate[buffer]) continue;
      const auto elements = static_cast<double>(list.buffers[buffer].shape.element_count());
      if (launch->flops < elements || launch->flops > kMaxFlops * elements) continue;
      is_streamed[buffer] = true;
    }
  }
  for (const compiler::Step& step : list.setup) {
    for (const int buffer : compiler::BuffersOf(list, step).read) is_streamed[buffer] = false;
  }
  return is_streamed;
}

// Digest of a kernel's text without its name, and of its launch sizes.
std::string DigestOf(const loop::Kernel& kernel, const hal::KernelSource& source) {
  return Digest(absl::StrCat(absl::StrJoin(kernel.global_size, ","), "|",
                             absl::StrJoin(kernel.local_size, ","), "|",
                             absl::StrReplaceAll(source.source, {{source.name, "kernel"}})));
}

}  // namespace

absl::Status CompiledProgram::PlanBuffers(const hal::DeviceInfo& info) {
  lent_outputs_ = LentOutputs(list_, info);
  TARTAN_ASSIGN_OR_RETURN(frame_, PlanFrame(list_, lent_outputs_, info));
  for (const compiler::BufferInfo& buffer : list_.buffers) {
    is_separate_.push_back(HasOwnBuffer(buffer, info));
  }
  is_streamed_ = StreamedConstants(list_, is_separate_);
  resident_ = UsedResidents(list_);
  for (int buffer : resident_) resident_bytes_ += list_.buffers[buffer].bytes;
  return absl::OkStatus();
}

absl::Status CompiledProgram::BuildKernels(hal::DevicePtr device, hal::ExecutableSource source,
                                           const BuildServices& means) {
  TARTAN_RETURN_IF_ERROR(PlanBuffers(device->info()));
  for (size_t k = 0; k < list_.kernels.size(); ++k) {
    kernel_digests_.push_back(DigestOf(list_.kernels[k], source.kernels[k]));
  }
  device_ = std::move(device);
  has_all_kernels_ = true;
  if (source.kernels.empty()) return absl::OkStatus();
  const auto build = [&](const ProgramSource& program) -> absl::StatusOr<std::vector<BuiltKernel>> {
    TARTAN_ASSIGN_OR_RETURN(BuiltKernels built,
                            BuildKernelParts(device_, program, means.processes));
    executables_ = std::move(built.executables);
    has_all_kernels_ = built.has_all_kernels;
    return std::move(built.kernels);
  };
  const ProgramSource whole{list_, std::move(source)};
  if (means.library == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(kernels_, build(whole));
    return absl::OkStatus();
  }
  TARTAN_ASSIGN_OR_RETURN(kernels_, means.library->Get(*device_, whole.source, means.disk,
                                                       [&](const std::vector<int>& missing) {
                                                         return build(PartOf(whole, missing));
                                                       }));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const CompiledProgram>> CompiledProgram::Plan(
    const proto::Program& program, const hal::DeviceInfo& info,
    const compiler::CompileOptions& options, const compiler::CompileHooks& hooks) {
  std::shared_ptr<CompiledProgram> planned(new CompiledProgram());
  TARTAN_ASSIGN_OR_RETURN(planned->list_, MakeList(program, options, hooks));
  TARTAN_RETURN_IF_ERROR(planned->PlanBuffers(info));
  return planned;
}

absl::StatusOr<std::shared_ptr<const CompiledProgram>> CompiledProgram::Create(
    const proto::Program& program, hal::DevicePtr device, const codegen::Dialect& dialect,
    const compiler::CompileOptions& options, const compiler::CompileHooks& hooks) {
  return Restore(program, std::move(device), dialect, options, hooks, {}, "");
}

absl::StatusOr<std::shared_ptr<const CompiledProgram>> CompiledProgram::Restore(
    const proto::Program& program, hal::DevicePtr device, const codegen::Dialect& dialect,
    const compiler::CompileOptions& options, const compiler::CompileHooks& hooks,
    const ProgramStore& store, absl::string_view key, const BuildServices& means) {
  const auto start = Clock::now();
  std::optional<ProgramSource> made;
  std::shared_ptr<void> prepared;  // during the passes: a GPU's driver makes 15 contexts in 2 s
  const std::optional<std::string> stored = store.load ? store.load(key) : std::nullopt;
  if (stored.has_value()) made = ParseProgram(*stored);
  if (made.has_value()) {
    made->source.format = dialect.format;
    made->source.options = dialect.compiler_options;
  } else {
    const bool is_cpu = device->info().type == hal::DeviceType::kCpu;
    if (!is_cpu && means.processes != nullptr && means.processes->prepare)
      prepared = means.processes->prepare(ExpectedProcesses(program));
    TARTAN_ASSIGN_OR_RETURN(made, MakeSource(program, dialect, options, hooks, means));
    if (store.store) store.store(key, SerializeProgram(*made));
  }
  std::shared_ptr<CompiledProgram> compiled(new CompiledProgram());
  compiled->list_ = std::move(made->list);
  TARTAN_RETURN_IF_ERROR(compiled->BuildKernels(std::move(device), std::move(made->source), means));
  compiled->compile_ms_ = MillisecondsSince(start);
  return compiled;
}

absl::StatusOr<std::shared_ptr<const CompiledProgram>> CompiledProgram::OnHost(
    const proto::Program& program, hal::DevicePtr device, const compiler::CompileOptions& options,
    double most_ms, int64_t times, const lang::Function* tree) {
  const auto start = Clock::now();
  std::shared_ptr<CompiledProgram> compiled(new CompiledProgram());
  TARTAN_ASSIGN_OR_RETURN(compiled->host_, MakeHostProgram(program, options, most_ms, times, tree));
  if (compiled->host_ == nullptr) return nullptr;
  compiled->device_ = std::move(device);
  compiled->SetHasAllKernels();
  compiled->compile_ms_ = MillisecondsSince(start);
  return compiled;
}

absl::StatusOr<std::shared_ptr<const CompiledProgram>> CompiledProgram::Build(
    compiler::KernelList list, hal::DevicePtr device, const codegen::Dialect& dialect) {
  std::shared_ptr<CompiledProgram> built(new CompiledProgram());
  built->list_ = std::move(list);
  TARTAN_RETURN_IF_ERROR(
      built->BuildKernels(std::move(device), WriteSource(built->list_, dialect, {})));
  return built;
}

absl::StatusOr<std::string> CompiledProgram::Serialize(const proto::Program& program,
                                                       const codegen::Dialect& dialect,
                                                       const compiler::CompileOptions& options,
                                                       const compiler::CompileHooks& hooks) {
  TARTAN_ASSIGN_OR_RETURN(const ProgramSource made, MakeSource(program, dialect, options, hooks));
  return SerializeProgram(made);
}

absl::StatusOr<std::shared_ptr<const CompiledProgram>> CompiledProgram::BuildSerialized(
    absl::string_view bytes, const hal::ExecutableSource& source, hal::DevicePtr device) {
  std::optional<ProgramSource> made = ParseProgram(bytes);
  if (!made.has_value()) return absl::InvalidArgumentError("the bytes are not a compiled program");
  made->source.format = source.format;
  made->source.options = source.options;
  return BuildPart(*std::move(made), std::move(device));
}

absl::StatusOr<std::shared_ptr<const CompiledProgram>> CompiledProgram::BuildPart(
    ProgramSource part, hal::DevicePtr device) {
  std::shared_ptr<CompiledProgram> built(new CompiledProgram());
  built->list_ = std::move(part.list);
  TARTAN_RETURN_IF_ERROR(built->BuildKernels(std::move(device), std::move(part.source)));
  return built;
}

int64_t CompiledProgram::launches_per_run() const {
  return std::count_if(list_.steps.begin(), list_.steps.end(), [](const compiler::Step& step) {
    return std::holds_alternative<compiler::LaunchStep>(step);
  });
}

}  // namespace tartan::evaluator
