// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/candidates.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/golden/report.h"
#include "tile/codegen/write_kernel.h"
#include "tile/compiler/compile_kernel.h"
#include "tile/plan/select/select_plan.h"
#include "tile/plan/store/tuning_database.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::golden {
namespace {

using plan::PlannedKernel;

// Reports whether the tuning database stores a plan and finds the same plan again.
std::string AfterStoring(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const std::vector<bool>& is_constant, const PlannedKernel& planned) {
  plan::TuningDatabase database;
  if (!database.Keep(flat, settings, is_constant, planned, 1, 2)) return "cannot be stored";
  const auto found =
      plan::TuningDatabase::Parse(database.Serialize()).Find(flat, settings, is_constant);
  if (!found) return "stored, and not found";
  return found->plan == planned.plan ? "stored" : "stored as another";
}

}  // namespace

plan::PlanFunction CandidateRecorder(int count, const HardwareSettings& settings,
                                     const codegen::Dialect& dialect, std::string* text) {
  return [=, &settings, &dialect](const poly::FlatContraction& flat,
                                  const plan::LaunchContext& launch) {
    const std::vector<PlannedKernel> plans = plan::PlanCandidates(flat, settings, launch, count);
    const poly::FlatContraction merged = poly::MergeIndices(flat);
    compiler::CompileOptions options;
    options.settings = settings;
    for (const PlannedKernel& planned : plans) {
      const compiler::KernelList list =
          compiler::CompileKernel(merged, planned, launch.is_constant, options).value();
      absl::StrAppend(text, "  ", planned.flat.name, ": ",
                      plan::ToString(planned.plan, planned.flat), "\n    ",
                      AfterStoring(flat, settings, launch.is_constant, planned), ", kernels ",
                      Digest(codegen::WriteProgram(list.kernels, dialect)), "\n");
    }
    return plans.front();
  };
}

}  // namespace tartan::golden
