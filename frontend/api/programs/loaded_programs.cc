// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/programs/loaded_programs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "frontend/api/session.h"
#include "tile/base/clock.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/compile_options.h"
#include "tile/evaluator/compile_kernels.h"
#include "tile/evaluator/program_cache.h"
#include "tile/ir/in_float64.h"

namespace tartan::api {
namespace {

bool AreSame(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HostTensor& x, const HostTensor& y) {
                      return x.shape() == y.shape() && x.bytes().data() == y.bytes().data();
                    });
}

// Hooks must not be called from another thread, so a device with hooks compiles exact
// (shape-specialised) kernels at once.
bool IsExactAtOnce(const Device& device, const SessionOptions& options) {
  return options.tier == Tier::kExact || (options.tier == Tier::kAuto && device.has_hooks());
}

// Null if programs keep their kernels.
std::shared_ptr<ExactPrograms> ExactOf(const Device& device, const SessionOptions& options,
                                       bool completes_compilations) {
  if (options.tier != Tier::kAuto || IsExactAtOnce(device, options)) return nullptr;
  auto exact = std::make_shared<ExactPrograms>();
  exact->device = device.WithTier(compiler::Tier::kExact);
  exact->rule = {options.exact_after_runs, options.exact_lost_share};
  exact->host_ms = options.host_ms;
  exact->before_compile = options.before_exact;
  exact->completes_compilations = completes_compilations;
  return exact;
}

// Takes no lock that another thread may have held when this process was forked.
absl::StatusOr<std::shared_ptr<const evaluator::CompiledProgram>> OnHostOnly(
    const Device& device, const proto::Program& program, const lang::Function* tree) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  TARTAN_ASSIGN_OR_RETURN(
      std::shared_ptr<const evaluator::CompiledProgram> host,
      evaluator::CompiledProgram::OnHost(program, device.hal(), device.options(), kNoLimit,
                                         /*times=*/1, tree));
  if (host != nullptr) return host;
  return absl::UnimplementedError(
      "the host cannot compute this program, and a process that was forked has no driver");
}

}  // namespace

LoadedPrograms::LoadedPrograms(std::shared_ptr<const Device> device,
                               std::shared_ptr<ExactPrograms> exact,
                               std::shared_ptr<evaluator::ResidentPool> pool)
    : device_(std::move(device)),
      exact_(std::move(exact)),
      pool_(pool != nullptr ? std::move(pool) : std::make_shared<evaluator::ResidentPool>()) {
  if (exact_ != nullptr) exact_->pool = pool_;
}

LoadedPrograms::LoadedPrograms(const Device& device, const SessionOptions& options,
                               bool completes_compilations)
    : LoadedPrograms(device.WithTier(IsExactAtOnce(device, options) ? compiler::Tier::kExact
                                                                    : compiler::Tier::kReady),
                     ExactOf(device, options, completes_compilations), options.pool) {}

absl::StatusOr<LoadedPrograms::Compiled> LoadedPrograms::Compile(const ComposedProgram& composed,
                                                                 int64_t times) const {
  const proto::Program& program = composed.program;
  const lang::Function* const tree = composed.tree.get();
  if (exact_ != nullptr && exact_->only_host) {
    TARTAN_ASSIGN_OR_RETURN(auto host, OnHostOnly(*device_, program, tree));
    return Compiled{std::move(host)};
  }
  if (exact_ != nullptr) {
    if (auto found = exact_->device->FindCompiled(program); found != nullptr) {
      return Compiled{found};
    }
    if (times > 0 && exact_->host_ms > 0) {
      TARTAN_ASSIGN_OR_RETURN(auto host, device_->OnHost(program, exact_->host_ms, times, tree));
      if (host != nullptr) return Compiled{std::move(host), /*is_ready=*/true};
    }
  }
  auto compiled = device_->Compile(program, tree);
  if (compiled.ok()) {
    return Compiled{*std::move(compiled), device_->tier() == compiler::Tier::kReady};
  }
  if (exact_ == nullptr || absl::IsResourceExhausted(compiled.status())) return compiled.status();
  // Compiling failed; exact kernels may still compile.
  TARTAN_ASSIGN_OR_RETURN(compiled, exact_->device->Compile(program, tree));
  return Compiled{*std::move(compiled)};
}

absl::StatusOr<std::shared_ptr<TieredProgram>> LoadedPrograms::Get(
    const Compiled& compiled, const proto::Program& source,
    const std::vector<HostTensor>& constants) {
  std::lock_guard<std::mutex> lock(mutex_);
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [](const Entry& entry) { return entry.program.expired(); }),
                 entries_.end());
  for (const Entry& entry : entries_) {
    if (!AreSame(entry.constants, constants)) continue;
    auto loaded = entry.program.lock();
    if (loaded != nullptr && &loaded->loaded()->program() == compiled.program.get()) return loaded;
  }
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<evaluator::LoadedProgram> loaded,
                          evaluator::LoadedProgram::Load(compiled.program, constants, pool_.get()));
  std::shared_ptr<const ExactSource> exact;
  if (compiled.is_ready && exact_ != nullptr) {
    exact = std::make_shared<const ExactSource>(ExactSource{exact_, source, constants});
  }
  auto tiered = std::make_shared<TieredProgram>(std::move(loaded), compiled.is_ready, source,
                                                std::move(exact));
  entries_.push_back({constants, tiered});
  return tiered;
}

absl::StatusOr<std::shared_ptr<TieredProgram>> LoadedPrograms::Load(const ComposedProgram& composed,
                                                                    RunStatistics* statistics,
                                                                    int64_t times) {
  const auto compile_start = Clock::now();
  TARTAN_ASSIGN_OR_RETURN(const Compiled compiled, Compile(composed, times));
  if (!compiled.program->has_all_kernels()) {
    TARTAN_RETURN_IF_ERROR(CountShortage(evaluator::CompileKernels(*compiled.program), statistics));
  }
  statistics->compile_ms += MillisecondsSince(compile_start);
  for (const hal::ExecutablePtr& executable : compiled.program->executables()) {
    statistics->cache_hits += executable->statistics().cache_hits;
    statistics->cache_misses += executable->statistics().cache_misses;
  }
  const auto setup_start = Clock::now();
  std::vector<HostTensor> constants;
  for (const Tensor& input : composed.inputs) {
    if (input.constant() == nullptr) continue;
    constants.push_back(device_->in_float64() ? ir::InFloat64(*input.constant())
                                              : *input.constant());
  }
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<TieredProgram> loaded,
                          CountShortage(Get(compiled, composed.program, constants), statistics));
  statistics->setup_ms += MillisecondsSince(setup_start);
  return loaded;
}

std::vector<std::shared_ptr<TieredProgram>> LoadedPrograms::All() {
  std::vector<std::shared_ptr<TieredProgram>> all;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) {
    if (auto program = entry.program.lock(); program != nullptr) all.push_back(std::move(program));
  }
  return all;
}

absl::StatusOr<std::vector<ProgramReport>> LoadedPrograms::Explain() {
  std::vector<ProgramReport> reports;
  for (const auto& program : All()) {
    const bool is_host = program->loaded()->program().host() != nullptr;
    const auto tier = program->is_ready() ? compiler::Tier::kReady : compiler::Tier::kExact;
    TARTAN_ASSIGN_OR_RETURN(reports.emplace_back(),
                            api::Explain(*device_->WithTier(tier), program->source(), is_host));
  }
  return reports;
}

void LoadedPrograms::ReleaseFreeFrames() {
  for (const auto& program : All()) program->loaded()->ReleaseFreeFrames();
}

absl::Status LoadedPrograms::MakeExact() {
  absl::Status first;
  for (const auto& program : All()) first.Update(program->MakeExact());
  return first;
}

absl::StatusOr<std::shared_ptr<TieredProgram>> Load(LoadedPrograms& programs,
                                                    absl::Span<const Tensor> placeholders,
                                                    absl::Span<const Tensor> outputs,
                                                    absl::string_view name,
                                                    RunStatistics* statistics, int64_t times) {
  const Background::Pause pause;
  const auto start = Clock::now();
  TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed, Compose(placeholders, outputs, name));
  statistics->compile_ms += MillisecondsSince(start);
  return programs.Load(composed, statistics, times);
}

}  // namespace tartan::api
