// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/recompute_in_consumers.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/hardware_settings.h"
#include "tile/base/launch_batch_limits.h"
#include "tile/base/match.h"
#include "tile/compiler/launches/work_groups.h"
#include "tile/loop/build.h"
#include "tile/loop/local_memory.h"
#include "tile/loop/rename.h"
#include "tile/loop/traverse.h"
#include "tile/plan/machine.h"

namespace tartan::compiler {
namespace {

constexpr DataType kResult = DataType::kFloat32;

bool IsOneDimensional(const loop::Kernel& kernel) {
  return kernel.global_size[1] == 1 && kernel.global_size[2] == 1;
}

bool Uses(const loop::ExprPtr& expr, const std::string& name) {
  const auto* load = std::get_if<loop::Load>(&expr->node);
  bool uses = load != nullptr && load->buffer == name;
  loop::ForEachChild(*expr, [&](const loop::ExprPtr& child) { uses |= Uses(child, name); });
  return uses;
}

bool Uses(const loop::StmtPtr& stmt, const std::string& name) {
  const auto* prefetch = std::get_if<loop::Prefetch>(&stmt->node);
  bool uses = prefetch != nullptr && prefetch->buffer == name;
  loop::ForEachChild(*stmt, [&](const auto& child) { uses |= Uses(child, name); });
  return uses;
}

// Returns true if the name is used only by loads, not by copies to local memory or early
// statements.
bool IsOnlyLoaded(const loop::StmtPtr& stmt, const std::string& name) {
  const bool takes_buffers = std::holds_alternative<loop::CopyVector>(stmt->node) ||
                             std::holds_alternative<loop::Prefetch>(stmt->node) ||
                             std::holds_alternative<loop::MultiplyTiles>(stmt->node) ||
                             std::holds_alternative<loop::Early>(stmt->node) ||
                             std::holds_alternative<loop::Once>(stmt->node);
  if (takes_buffers) return !Uses(stmt, name);
  bool is_only_loaded = true;
  loop::ForEachChild(*stmt, Overloaded{[](const loop::ExprPtr&) {},
                                       [&](const loop::StmtPtr& child) {
                                         is_only_loaded &= IsOnlyLoaded(child, name);
                                       }});
  return is_only_loaded;
}

// Returns true for statements that several groups cannot repeat, or a part of a larger group cannot
// execute.
bool HasOwnGroup(const loop::StmtPtr& stmt) {
  bool has = std::holds_alternative<loop::AtomicUpdate>(stmt->node) ||
             std::holds_alternative<loop::MultiplyTiles>(stmt->node) ||
             std::holds_alternative<loop::CopyVector>(stmt->node) ||
             std::holds_alternative<loop::Early>(stmt->node) ||
             std::holds_alternative<loop::Once>(stmt->node);
  loop::ForEachChild(*stmt, Overloaded{[](const loop::ExprPtr&) {},
                                       [&](const loop::StmtPtr& c) { has |= HasOwnGroup(c); }});
  return has;
}

std::set<std::string> NamesOf(const loop::Kernel& kernel) {
  std::set<std::string> names = loop::DeclaredNames(kernel.body);
  for (const loop::Parameter& parameter : kernel.parameters) names.insert(parameter.name);
  return names;
}

std::vector<std::string> LocalArrays(const loop::StmtPtr& stmt) {
  std::vector<std::string> names;
  const auto* array = std::get_if<loop::DeclareArray>(&stmt->node);
  if (array != nullptr && array->space == loop::Space::kLocal) names.push_back(array->name);
  loop::ForEachChild(*stmt, Overloaded{[](const loop::ExprPtr&) {},
                                       [&](const loop::StmtPtr& child) {
                                         for (std::string& name : LocalArrays(child)) {
                                           names.push_back(std::move(name));
                                         }
                                       }});
  return names;
}

// Adapts a group's statements to a larger group. Work-items beyond the original group repeat its
// indices, and only the original ones write to local memory.
class InLargerGroup {
 public:
  InLargerGroup(const loop::Kernel& kernel, int64_t items, std::set<std::string> local_arrays)
      : kernel_(kernel),
        item_(loop::Work(loop::WorkId::kLocal, 0, kernel.index_type)),
        is_larger_(items > ItemCount(kernel)),
        local_arrays_(std::move(local_arrays)) {}

  loop::StmtPtr operator()(const loop::StmtPtr& stmt) {
    loop::StmtPtr mapped = MapChildren(stmt, *this);
    const auto* store = std::get_if<loop::Store>(&mapped->node);
    if (!is_larger_ || store == nullptr || local_arrays_.count(store->buffer) == 0) return mapped;
    return loop::MakeIf(loop::Less(item_, Items()), std::move(mapped));
  }

  loop::ExprPtr operator()(const loop::ExprPtr& expr) {
    const auto* work = std::get_if<loop::WorkIndex>(&expr->node);
    if (work == nullptr) return MapChildren(expr, *this);
    const bool is_zero = work->id == loop::WorkId::kGroup || work->dimension > 0;
    if (is_zero) return loop::Int(0, kernel_.index_type);
    return is_larger_ ? loop::Mod(item_, Items()) : item_;
  }

 private:
  loop::ExprPtr Items() const { return loop::Int(ItemCount(kernel_), kernel_.index_type); }

  const loop::Kernel& kernel_;
  const loop::ExprPtr item_;
  const bool is_larger_;
  const std::set<std::string> local_arrays_;
};

// Inserts the producer's statements into the reader, before the first statement that uses the
// result. `read`: the reader's parameter for the result, which has `elements` elements.
loop::Kernel Join(const loop::Kernel& producer, const loop::Kernel& reader, size_t read,
                  int64_t elements) {
  const std::set<std::string> taken = NamesOf(reader);
  std::string prefix = "own_";
  const auto is_taken = [&](const std::string& name) { return name.rfind(prefix, 0) == 0; };
  while (std::any_of(taken.begin(), taken.end(), is_taken)) prefix += "_";
  loop::Renaming renaming;
  for (const std::string& name : NamesOf(producer)) renaming[name] = absl::StrCat(prefix, name);
  const std::string result = renaming[producer.parameters[0].name];
  const loop::StmtPtr renamed = loop::Rename(producer.body, renaming);
  std::set<std::string> local_arrays = {result};
  for (std::string& name : LocalArrays(renamed)) local_arrays.insert(std::move(name));

  loop::Kernel joined = reader;
  joined.comments.insert(joined.comments.begin(), producer.comments.begin(),
                         producer.comments.end());
  joined.parameters.erase(joined.parameters.begin() + static_cast<int64_t>(read));
  for (size_t p = 1; p < producer.parameters.size(); ++p) {
    loop::Parameter parameter = producer.parameters[p];
    parameter.name = renaming[parameter.name];
    joined.parameters.push_back(std::move(parameter));
  }
  const std::string& name = reader.parameters[read].name;
  const auto* block = std::get_if<loop::Block>(&reader.body->node);
  const std::vector<loop::StmtPtr> statements =
      block != nullptr ? block->statements : std::vector<loop::StmtPtr>{reader.body};
  std::vector<loop::StmtPtr> body;
  bool is_there = false;
  for (const loop::StmtPtr& statement : statements) {
    if (!is_there && Uses(statement, name)) {
      body.push_back(loop::MakeArray({kResult, 1}, result, elements, loop::Space::kLocal));
      body.push_back(InLargerGroup(producer, ItemCount(reader), local_arrays)(renamed));
      body.push_back(loop::MakeBarrier());
      is_there = true;
    }
    body.push_back(loop::Rename(statement, {{name, result}}));
  }
  joined.body = loop::MakeBlock(std::move(body));
  return joined;
}

class Recomputation {
 public:
  Recomputation(fuse::Judge* judge, KernelList* list)
      : settings_(judge->settings()), machine_(settings_), judge_(*judge), list_(*list) {}

  void Run() {
    bool changed = false;
    // A fused launch may be fused again into its own consumers.
    for (size_t step = 0; step < list_.steps.size();) {
      const bool is_gone = TryJoin(step);
      changed |= is_gone;
      if (!is_gone) ++step;
    }
    if (changed) DropUnusedKernels(&list_);
  }

 private:
  // Returns the steps that read a buffer; nothing if a step other than `writer` writes it.
  std::optional<std::vector<size_t>> ReadersOf(int buffer, size_t writer) const {
    std::vector<size_t> readers;
    for (size_t s = 0; s < list_.steps.size(); ++s) {
      const StepBuffers buffers = BuffersOf(list_, list_.steps[s]);
      const auto has = [&](const std::vector<int>& all) {
        return std::find(all.begin(), all.end(), buffer) != all.end();
      };
      if (s != writer && has(buffers.written)) return std::nullopt;
      if (s != writer && has(buffers.read)) readers.push_back(s);
    }
    return readers;
  }

  // Returns true for a launch of one work-group with one output, which is a temporary of the run.
  bool IsProducer(const LaunchStep& launch) const {
    const loop::Kernel& kernel = list_.kernels[launch.kernel];
    if (kernel.body == nullptr || GroupCount(kernel) != 1 || !IsOneDimensional(kernel) ||
        !kernel.sizes.empty() || HasOwnGroup(kernel.body)) {
      return false;
    }
    for (size_t p = 0; p < kernel.parameters.size(); ++p) {
      if (kernel.parameters[p].is_output != (p == 0)) return false;
    }
    const BufferInfo& buffer = list_.buffers[launch.buffers[0]];
    const bool is_output = std::find(list_.outputs.begin(), list_.outputs.end(),
                                     launch.buffers[0]) != list_.outputs.end();
    return buffer.kind == BufferKind::kTemporary && buffer.shape.type == kResult && !is_output;
  }

  // Returns the parameter of the step's kernel that recomputation can replace; nothing if it
  // cannot.
  std::optional<size_t> ReadIn(const LaunchStep& producer, size_t step) const {
    const auto* launch = std::get_if<LaunchStep>(&list_.steps[step]);
    if (launch == nullptr) return std::nullopt;
    const loop::Kernel& kernel = list_.kernels[launch->kernel];
    const loop::Kernel& repeated = list_.kernels[producer.kernel];
    const int buffer = producer.buffers[0];
    if (std::count(launch->buffers.begin(), launch->buffers.end(), buffer) != 1) {
      return std::nullopt;
    }
    const auto read =
        static_cast<size_t>(std::find(launch->buffers.begin(), launch->buffers.end(), buffer) -
                            launch->buffers.begin());
    if (kernel.body == nullptr || !kernel.sizes.empty() || !IsOneDimensional(kernel) ||
        kernel.parameters[read].is_output || kernel.index_type != repeated.index_type ||
        ItemCount(kernel) % ItemCount(repeated) != 0 ||
        !IsOnlyLoaded(kernel.body, kernel.parameters[read].name)) {
      return std::nullopt;
    }
    return HasRoom(kernel, repeated, list_.buffers[buffer].bytes) &&
                   IsWorthIt(producer, GroupCount(kernel))
               ? std::optional<size_t>(read)
               : std::nullopt;
  }

  bool HasRoom(const loop::Kernel& reader, const loop::Kernel& producer, int64_t bytes) const {
    const WorkGroups groups = WorkGroupsOf(reader);
    const loop::DeclareArray result = {
        {kResult, 1}, "", bytes / ByteWidth(kResult), loop::Space::kLocal};
    const int64_t local_bytes =
        groups.local_bytes + WorkGroupsOf(producer).local_bytes + loop::LocalBytes(result);
    if (!FitsLaunchBatch(ItemCount(reader), local_bytes, groups.fills_compute_unit)) return false;
    return local_bytes <= (groups.fills_compute_unit ? settings_.matrix_local_bytes
                                                     : settings_.local_memory_bytes);
  }

  // Returns true if all groups run at once and their reads from the L2 cache take less than half a
  // launch.
  bool IsWorthIt(const LaunchStep& producer, int64_t groups) const {
    if (groups > machine_.units) return false;
    const double cycles = static_cast<double>(groups) * producer.bytes /
                          (static_cast<double>(machine_.units) * plan::gpu::kCacheBytesPerCycle);
    return machine_.Microseconds(cycles) < machine_.megakernel_launch_us / 2;
  }

  // Returns true if the step was fused into all its readers and removed.
  bool TryJoin(size_t step) {
    const auto* launch = std::get_if<LaunchStep>(&list_.steps[step]);
    if (launch == nullptr || !IsProducer(*launch)) return false;
    const auto readers = ReadersOf(launch->buffers[0], step);
    if (!readers.has_value() || readers->empty() || readers->front() < step ||
        IsChanged(*launch, step, readers->back())) {
      return false;
    }
    const int result = launch->buffers[0];
    std::vector<size_t> reads;
    for (size_t reader : *readers) {
      const std::optional<size_t> read = ReadIn(*launch, reader);
      Log(result, reader, read.has_value());
      if (!read.has_value()) return false;
      reads.push_back(*read);
    }
    for (size_t r = 0; r < reads.size(); ++r) {
      JoinInto(*launch, reads[r], &std::get<LaunchStep>(list_.steps[(*readers)[r]]));
    }
    list_.steps.erase(list_.steps.begin() + static_cast<int64_t>(step));
    return true;
  }

  void Log(int result, size_t reader, bool is_accepted) const {
    const auto* launch = std::get_if<LaunchStep>(&list_.steps[reader]);
    if (launch == nullptr) return;
    const std::string& name = list_.buffers[launch->buffers[0]].name;
    judge_.Log({.rule = graph::FusionRule::kRecompute,
                .is_accepted = is_accepted,
                .producer = list_.buffers[result].name,
                .consumer = name,
                .kernel = name,
                .reason = is_accepted ? "each work-group computes the producer"
                                      : "the consumer has more work-groups than compute units, or "
                                        "no room for the producer"});
  }

  // Returns true if a step after the launch, up to `last`, writes one of its inputs.
  bool IsChanged(const LaunchStep& launch, size_t step, size_t last) const {
    for (size_t s = step + 1; s <= last; ++s) {
      const StepBuffers buffers = BuffersOf(list_, list_.steps[s]);
      for (size_t b = 1; b < launch.buffers.size(); ++b) {
        const auto& written = buffers.written;
        if (std::find(written.begin(), written.end(), launch.buffers[b]) != written.end()) {
          return true;
        }
      }
    }
    return false;
  }

  void JoinInto(const LaunchStep& producer, size_t read, LaunchStep* reader) {
    const int64_t elements = list_.buffers[producer.buffers[0]].bytes / ByteWidth(kResult);
    loop::Kernel joined =
        Join(list_.kernels[producer.kernel], list_.kernels[reader->kernel], read, elements);
    reader->kernel = KernelOf(std::move(joined));
    reader->buffers.erase(reader->buffers.begin() + static_cast<int64_t>(read));
    reader->buffers.insert(reader->buffers.end(), producer.buffers.begin() + 1,
                           producer.buffers.end());
    reader->description = absl::StrCat(producer.description, "; ", reader->description);
    reader->flops += producer.flops;
    reader->bytes += producer.bytes;
    if (reader->predicted_us > 0) {
      reader->predicted_us += std::max(producer.predicted_us - machine_.launch_us, 0.0);
    }
    // The reader may write a state's next value in place, while other groups still read the state.
    const bool reads_state =
        std::any_of(producer.buffers.begin() + 1, producer.buffers.end(),
                    [&](int buffer) { return list_.buffers[buffer].kind == BufferKind::kState; });
    if (reads_state) reader->writes_once.assign(reader->writes_once.size(), false);
    if (!reader->operations.empty()) {
      reader->operations = absl::StrCat(producer.operations, "; ", reader->operations);
    }
    if (!reader->plan.empty()) reader->plan = absl::StrCat(producer.plan, "\n", reader->plan);
  }

  // Returns the number of a kernel that is equal except for names, and adds it if there is none.
  int KernelOf(loop::Kernel kernel) {
    const loop::Kernel form = loop::WithoutNames(kernel);
    for (size_t k = first_joined_; k < list_.kernels.size(); ++k) {
      if (loop::Equal(loop::WithoutNames(list_.kernels[k]), form)) return static_cast<int>(k);
    }
    kernel.name =
        absl::StrCat("k", list_.kernels.size(),
                     kernel.name.substr(std::min(kernel.name.find('_'), kernel.name.size())));
    list_.kernels.push_back(std::move(kernel));
    return static_cast<int>(list_.kernels.size()) - 1;
  }

  const HardwareSettings& settings_;
  const plan::Machine machine_;
  fuse::Judge& judge_;
  KernelList& list_;
  const size_t first_joined_ = list_.kernels.size();
};

}  // namespace

void RecomputeInConsumers(fuse::Judge* judge, KernelList* list) {
  if (judge->settings().threads > 1) Recomputation(judge, list).Run();
}

}  // namespace tartan::compiler
