// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/load.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "frontend/api/composer.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/compile_kernels.h"
#include "tile/evaluator/program_cache.h"
#include "tile/ir/in_float64.h"

namespace tartan::api {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

bool AreSame(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HostTensor& x, const HostTensor& y) {
                      return x.shape() == y.shape() && x.bytes().data() == y.bytes().data();
                    });
}

}  // namespace

absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>> LoadedPrograms::Get(
    std::shared_ptr<const evaluator::CompiledProgram> program,
    const std::vector<HostTensor>& constants) {
  std::lock_guard<std::mutex> lock(mutex_);
  ForgetReleased();
  for (const Entry& entry : entries_) {
    if (entry.program != program.get() || !AreSame(entry.constants, constants)) continue;
    if (auto loaded = entry.loaded.lock(); loaded != nullptr) return loaded;
  }
  const evaluator::CompiledProgram* const key = program.get();
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<evaluator::LoadedProgram> loaded,
                          evaluator::LoadedProgram::Load(std::move(program), constants, &pool_));
  entries_.push_back({key, constants, loaded});
  return loaded;
}

void LoadedPrograms::ForgetReleased() {
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [](const Entry& entry) { return entry.loaded.expired(); }),
                 entries_.end());
}

void LoadedPrograms::ReleaseFreeFrames() {
  std::lock_guard<std::mutex> lock(mutex_);
  ForgetReleased();
  for (const Entry& entry : entries_) {
    if (const auto loaded = entry.loaded.lock(); loaded != nullptr) loaded->ReleaseFreeFrames();
  }
}

absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>> Load(
    const Device& device, absl::Span<const Tensor> placeholders, absl::Span<const Tensor> outputs,
    absl::string_view name, RunStatistics* statistics, LoadedPrograms* shared) {
  const auto compile_start = Clock::now();
  TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed, Compose(placeholders, outputs, name));
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<const evaluator::CompiledProgram> compiled,
                          device.Compile(composed.program));
  if (!compiled->has_all_kernels()) {
    const absl::Status kernels = evaluator::CompileKernels(*compiled);
    if (absl::IsResourceExhausted(kernels)) ++statistics->memory_shortages;
    TARTAN_RETURN_IF_ERROR(kernels);
  }
  statistics->compile_ms += Milliseconds(compile_start);
  if (compiled->executable() != nullptr) {
    statistics->cache_hits += compiled->executable()->statistics().cache_hits;
    statistics->cache_misses += compiled->executable()->statistics().cache_misses;
  }
  const auto setup_start = Clock::now();
  std::vector<HostTensor> constants;
  for (const Tensor& input : composed.inputs) {
    if (input.constant() == nullptr) continue;
    constants.push_back(device.in_float64() ? ir::InFloat64(*input.constant()) : *input.constant());
  }
  TARTAN_ASSIGN_OR_RETURN(
      std::shared_ptr<evaluator::LoadedProgram> loaded,
      CountShortage(shared != nullptr
                        ? shared->Get(std::move(compiled), constants)
                        : evaluator::LoadedProgram::Load(std::move(compiled), constants),
                    statistics));
  statistics->setup_ms += Milliseconds(setup_start);
  return loaded;
}

}  // namespace tartan::api
