// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/load.h"

#include <algorithm>
#include <utility>

#include "frontend/api/composer.h"
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

struct Compiled {
  std::shared_ptr<const evaluator::CompiledProgram> program;
  bool is_ready = false;
};

absl::StatusOr<Compiled> Compile(const Device& device, const ComposedProgram& composed,
                                 const ExactPrograms* exact, int64_t times) {
  const proto::Program& program = composed.program;
  const lang::Function* const tree = composed.tree.get();
  if (exact != nullptr) {
    if (auto found = exact->device->FindCompiled(program); found != nullptr) return Compiled{found};
    if (times > 0 && exact->host_ms > 0) {
      TARTAN_ASSIGN_OR_RETURN(auto host, device.OnHost(program, exact->host_ms, times, tree));
      if (host != nullptr) return Compiled{std::move(host), /*is_ready=*/true};
    }
  }
  auto compiled = device.Compile(program, tree);
  if (compiled.ok()) return Compiled{*std::move(compiled), device.tier() == compiler::Tier::kReady};
  if (exact == nullptr || absl::IsResourceExhausted(compiled.status())) return compiled.status();
  // Compiling failed; exact (shape-specialised) kernels may still compile.
  TARTAN_ASSIGN_OR_RETURN(compiled, exact->device->Compile(program, tree));
  return Compiled{*std::move(compiled)};
}

}  // namespace

LoadedPrograms::LoadedPrograms(std::shared_ptr<ExactPrograms> exact,
                               std::shared_ptr<evaluator::ResidentPool> pool)
    : exact_(std::move(exact)),
      pool_(pool != nullptr ? std::move(pool) : std::make_shared<evaluator::ResidentPool>()) {
  if (exact_ != nullptr) exact_->pool = pool_;
}

absl::StatusOr<std::shared_ptr<TieredProgram>> LoadedPrograms::Get(
    std::shared_ptr<const evaluator::CompiledProgram> program, bool is_ready,
    const proto::Program& source, const std::vector<HostTensor>& constants) {
  std::lock_guard<std::mutex> lock(mutex_);
  ForgetReleased();
  for (const Entry& entry : entries_) {
    if (!AreSame(entry.constants, constants)) continue;
    auto loaded = entry.program.lock();
    if (loaded != nullptr && &loaded->loaded()->program() == program.get()) return loaded;
  }
  TARTAN_ASSIGN_OR_RETURN(
      std::shared_ptr<evaluator::LoadedProgram> loaded,
      evaluator::LoadedProgram::Load(std::move(program), constants, pool_.get()));
  std::shared_ptr<const ExactSource> exact;
  if (is_ready && exact_ != nullptr) {
    exact = std::make_shared<const ExactSource>(ExactSource{exact_, source, constants});
  }
  auto tiered =
      std::make_shared<TieredProgram>(std::move(loaded), is_ready, source, std::move(exact));
  entries_.push_back({constants, tiered});
  return tiered;
}

std::vector<std::shared_ptr<TieredProgram>> LoadedPrograms::All() {
  std::vector<std::shared_ptr<TieredProgram>> all;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) {
    if (auto program = entry.program.lock(); program != nullptr) all.push_back(std::move(program));
  }
  return all;
}

void LoadedPrograms::ForgetReleased() {
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [](const Entry& entry) { return entry.program.expired(); }),
                 entries_.end());
}

absl::StatusOr<std::vector<ProgramReport>> LoadedPrograms::Explain(const Device& device) {
  std::vector<ProgramReport> reports;
  for (const auto& program : All()) {
    const bool is_host = program->loaded()->program().host() != nullptr;
    const auto tier = program->is_ready() ? compiler::Tier::kReady : compiler::Tier::kExact;
    TARTAN_ASSIGN_OR_RETURN(reports.emplace_back(),
                            api::Explain(*device.WithTier(tier), program->source(), is_host));
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

absl::StatusOr<std::shared_ptr<TieredProgram>> Load(
    const Device& device, absl::Span<const Tensor> placeholders, absl::Span<const Tensor> outputs,
    absl::string_view name, RunStatistics* statistics, LoadedPrograms* shared, int64_t times) {
  const Background::Pause pause;
  LoadedPrograms alone;
  if (shared == nullptr) shared = &alone;
  const auto compile_start = Clock::now();
  TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed, Compose(placeholders, outputs, name));
  TARTAN_ASSIGN_OR_RETURN(const Compiled compiled,
                          Compile(device, composed, shared->exact(), times));
  if (!compiled.program->has_all_kernels()) {
    const absl::Status kernels = evaluator::CompileKernels(*compiled.program);
    if (absl::IsResourceExhausted(kernels)) ++statistics->memory_shortages;
    TARTAN_RETURN_IF_ERROR(kernels);
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
    constants.push_back(device.in_float64() ? ir::InFloat64(*input.constant()) : *input.constant());
  }
  TARTAN_ASSIGN_OR_RETURN(
      std::shared_ptr<TieredProgram> loaded,
      CountShortage(shared->Get(compiled.program, compiled.is_ready, composed.program, constants),
                    statistics));
  statistics->setup_ms += MillisecondsSince(setup_start);
  return loaded;
}

}  // namespace tartan::api
