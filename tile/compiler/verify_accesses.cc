// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/verify_accesses.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/loop/trace_accesses.h"
#include "tile/loop/traverse.h"

namespace tartan::compiler {
namespace {

int64_t ElementsOf(const BufferInfo& buffer) { return buffer.bytes / ByteWidth(buffer.shape.type); }

// Elements; larger buffers are not tracked and are assumed to be written.
constexpr int64_t kMaxTrackedElements = int64_t{1} << 33;

// The set of written elements of a buffer. It has memory only while some are written and some not.
class Written {
 public:
  explicit Written(int64_t count)
      : count_(count <= kMaxTrackedElements ? count : 0), missing_(count_) {}

  void AddAll() {
    is_written_ = {};
    missing_ = 0;
  }

  void Add(int64_t index, int64_t lanes) {
    if (missing_ == 0) return;
    if (is_written_.empty()) is_written_.resize(static_cast<size_t>(count_));
    const int64_t end = std::min(index + lanes, count_);
    for (int64_t i = std::max<int64_t>(index, 0); i < end; ++i) {
      if (is_written_[i]) continue;
      is_written_[i] = true;
      --missing_;
    }
    if (missing_ == 0) is_written_ = {};
  }

  bool is_whole() const { return missing_ == 0; }

  // Returns the first unwritten element of a span, or -1.
  int64_t FirstMissing(int64_t index, int64_t lanes) const {
    if (missing_ == 0) return -1;
    const int64_t end = std::min(index + lanes, count_);
    for (int64_t i = std::max<int64_t>(index, 0); i < end; ++i) {
      if (is_written_.empty() || !is_written_[i]) return i;
    }
    return -1;
  }

 private:
  int64_t count_;
  int64_t missing_;
  std::vector<bool> is_written_;  // empty: all or none, as `missing_` says
};

// Returns, per parameter of a kernel, whether the kernel loads from it.
std::vector<bool> LoadedParameters(const loop::Kernel& kernel) {
  std::vector<bool> loaded(kernel.parameters.size(), false);
  const auto visit = [&](const auto& visit, const auto& tree) -> void {
    if constexpr (std::is_same_v<std::decay_t<decltype(tree)>, loop::ExprPtr>) {
      if (const auto* load = std::get_if<loop::Load>(&tree->node)) {
        for (size_t p = 0; p < loaded.size(); ++p) {
          if (kernel.parameters[p].name == load->buffer) loaded[p] = true;
        }
      }
    }
    loop::ForEachChild(*tree, [&](const auto& child) { visit(visit, child); });
  };
  if (kernel.body != nullptr) visit(visit, kernel.body);
  return loaded;
}

loop::TraceOptions OptionsFor(const LaunchStep& launch, const AccessLimits& limits) {
  loop::TraceOptions options;
  options.sizes = launch.sizes;
  if (!launch.sizes.empty()) options.global_size = launch.global_size;
  options.max_steps = limits.max_steps;
  return options;
}

class WriteVerifier {
 public:
  WriteVerifier(const KernelList& list, const AccessLimits& limits) : list_(list), limits_(limits) {
    for (const BufferInfo& buffer : list.buffers) {
      const bool is_made = buffer.kind == BufferKind::kTemporary ||
                           buffer.kind == BufferKind::kPersistent ||
                           buffer.kind == BufferKind::kOutput;
      written_.emplace_back(is_made ? ElementsOf(buffer) : 0);
    }
    for (const loop::Kernel& kernel : list.kernels) loaded_.push_back(LoadedParameters(kernel));
  }

  absl::Status Run() {
    for (const std::vector<Step>* steps : {&list_.setup, &list_.steps}) {
      for (const Step& step : *steps) TARTAN_RETURN_IF_ERROR(Do(step));
    }
    for (size_t o = 0; o < list_.outputs.size(); ++o) {
      const int64_t count = list_.output_shapes[o].element_count();
      TARTAN_RETURN_IF_ERROR(Require(list_.outputs[o], 0, count, "is an output"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Require(int buffer, int64_t index, int64_t lanes, absl::string_view reader) const {
    const int64_t missing = written_[buffer].FirstMissing(index, lanes);
    if (missing < 0) return absl::OkStatus();
    const BufferInfo& info = list_.buffers[buffer];
    return absl::InternalError(absl::StrCat("'", info.name, "' ", info.shape.ToString(), " ",
                                            reader, ", but no step has written its element ",
                                            missing));
  }

  absl::Status Do(const Step& step) {
    return Match(
        step, [&](const LaunchStep& launch) { return Do(launch); },
        [&](const FillStep& fill) {
          written_[fill.buffer].AddAll();
          return absl::OkStatus();
        },
        [&](const CopyStep& copy) {
          if (written_[copy.from].is_whole()) {
            written_[copy.to].AddAll();
            return absl::OkStatus();
          }
          const int64_t count = ElementsOf(list_.buffers[copy.to]);
          for (int64_t i = 0; i < count; ++i) {
            if (written_[copy.from].FirstMissing(i, 1) < 0) written_[copy.to].Add(i, 1);
          }
          return absl::OkStatus();
        });
  }

  absl::Status Do(const LaunchStep& launch) {
    const loop::Kernel& kernel = list_.kernels[launch.kernel];
    loop::TraceOptions options = OptionsFor(launch, limits_);
    options.loads.assign(kernel.parameters.size(), false);
    bool looks_at_loads = false;
    for (size_t p = 0; p < kernel.parameters.size(); ++p) {
      // Reads of a kernel's own output are not checked here.
      if (kernel.parameters[p].is_output || written_[launch.buffers[p]].is_whole()) continue;
      options.loads[p] = loaded_[launch.kernel][p];
      looks_at_loads = looks_at_loads || options.loads[p];
    }
    if (looks_at_loads) TARTAN_RETURN_IF_ERROR(CheckLoads(kernel, launch, options));
    options.loads.clear();
    options.only_if_complete = true;
    std::vector<Written*> outputs;
    for (const int buffer : launch.buffers) outputs.push_back(&written_[buffer]);
    const auto store = [&](int parameter, int64_t index, int64_t lanes) {
      outputs[parameter]->Add(index, lanes);
    };
    const loop::Trace trace = loop::TraceAccesses(kernel, options, store);
    for (size_t p = 0; p < kernel.parameters.size(); ++p) {
      if (!kernel.parameters[p].is_output) continue;
      if (!trace.is_complete || trace.is_uncertain[p]) outputs[p]->AddAll();
    }
    return absl::OkStatus();
  }

  absl::Status CheckLoads(const loop::Kernel& kernel, const LaunchStep& launch,
                          loop::TraceOptions options) const {
    options.stores = false;
    absl::Status status;
    loop::TraceAccesses(kernel, options, [&](int parameter, int64_t index, int64_t lanes) {
      if (!status.ok()) return;
      status = Require(launch.buffers[parameter], index, lanes,
                       absl::StrCat("is read by kernel ", kernel.name));
    });
    return status;
  }

  const KernelList& list_;
  const AccessLimits& limits_;
  std::vector<Written> written_;           // per buffer; caller-provided buffers have no elements
  std::vector<std::vector<bool>> loaded_;  // per kernel and parameter
};

absl::Status CheckLaunchBounds(const KernelList& list, const LaunchStep& launch,
                               const AccessLimits& limits) {
  const loop::Kernel& kernel = list.kernels[launch.kernel];
  loop::TraceOptions options = OptionsFor(launch, limits);
  options.loads.assign(kernel.parameters.size(), true);
  options.edges_only = true;
  std::vector<int64_t> counts;
  for (const int buffer : launch.buffers) counts.push_back(ElementsOf(list.buffers[buffer]));
  absl::Status status;
  loop::TraceAccesses(kernel, options, [&](int parameter, int64_t index, int64_t lanes) {
    if (!status.ok() || (index >= 0 && index + lanes <= counts[parameter])) return;
    const BufferInfo& buffer = list.buffers[launch.buffers[parameter]];
    status = absl::InternalError(absl::StrCat(
        "kernel ", kernel.name, " accesses ", lanes, " elements from element ", index, " of '",
        buffer.name, "' ", buffer.shape.ToString(), ", which has ", counts[parameter]));
  });
  return status;
}

}  // namespace

absl::Status VerifyWrites(const KernelList& list, const AccessLimits& limits) {
  return WriteVerifier(list, limits).Run();
}

absl::Status VerifyBounds(const KernelList& list, const AccessLimits& limits) {
  for (const std::vector<Step>* steps : {&list.setup, &list.steps}) {
    for (const Step& step : *steps) {
      const auto* launch = std::get_if<LaunchStep>(&step);
      if (launch != nullptr) TARTAN_RETURN_IF_ERROR(CheckLaunchBounds(list, *launch, limits));
    }
  }
  return absl::OkStatus();
}

}  // namespace tartan::compiler
