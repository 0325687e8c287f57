#include "frontend/api/load.h"

#include <chrono>
#include <utility>

#include "frontend/api/composer.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::api {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

}  // namespace

absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>> Load(
    const Device& device, absl::Span<const Tensor> placeholders, absl::Span<const Tensor> outputs,
    absl::string_view name, RunStatistics* statistics) {
  const auto compile_start = Clock::now();
  TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed, Compose(placeholders, outputs, name));
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<const evaluator::CompiledProgram> compiled,
                          device.programs().Get(composed.program));
  statistics->compile_ms += Milliseconds(compile_start);
  if (compiled->executable() != nullptr) {
    statistics->cache_hits += compiled->executable()->statistics().cache_hits;
    statistics->cache_misses += compiled->executable()->statistics().cache_misses;
  }
  const auto setup_start = Clock::now();
  std::vector<HostTensor> constants;
  for (const Tensor& input : composed.inputs) {
    if (input.constant() != nullptr) constants.push_back(*input.constant());
  }
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<evaluator::LoadedProgram> loaded,
                          evaluator::LoadedProgram::Load(std::move(compiled), constants));
  statistics->setup_ms += Milliseconds(setup_start);
  const auto warm_up_start = Clock::now();
  if (loaded->program().is_newly_compiled()) TARTAN_RETURN_IF_ERROR(loaded->WarmUp());
  statistics->compile_ms += Milliseconds(warm_up_start);
  return loaded;
}

}  // namespace tartan::api
