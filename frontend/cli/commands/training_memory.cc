// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/training_memory.h"

#include "absl/strings/str_cat.h"
#include "frontend/cli/terminal.h"

namespace tartan::cli {

namespace {

std::string RecomputedText(const train::Trainer::Memory& memory) {
  if (memory.recomputed_steps == 0) return "";
  return absl::StrCat("; ", memory.recomputed_steps, " kernels recomputed, ",
                      FormatMs(memory.recomputed_ms), " predicted, which saves ",
                      FormatBytes(static_cast<double>(memory.recomputed_bytes)));
}

}  // namespace

std::string MemoryText(const train::Trainer::Memory& memory) {
  const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
  return absl::StrCat(bytes(memory.total()), ": parameters ", bytes(memory.parameters),
                      ", optimizer ", bytes(memory.state), ", kept values ", bytes(memory.kept),
                      ", scratch ", bytes(memory.scratch), ", batch ", bytes(memory.batch),
                      ", constants ", bytes(memory.constants), RecomputedText(memory));
}

void FillMemory(const train::Trainer::Memory& memory, proto::TrainReport* report) {
  report->set_peak_device_bytes(static_cast<double>(memory.total()));
  report->set_parameter_bytes(static_cast<double>(memory.parameters));
  report->set_state_bytes(static_cast<double>(memory.state));
  report->set_constant_bytes(static_cast<double>(memory.constants));
  report->set_scratch_bytes(static_cast<double>(memory.scratch));
  report->set_kept_bytes(static_cast<double>(memory.kept));
  report->set_batch_bytes(static_cast<double>(memory.batch));
  report->set_recomputed_kernels(memory.recomputed_steps);
  report->set_recomputed_ms(memory.recomputed_ms);
  report->set_recomputed_bytes(static_cast<double>(memory.recomputed_bytes));
}

proto::TrainStepReport::Memory MemoryReport(const train::Trainer::Memory& memory) {
  proto::TrainStepReport::Memory report;
  report.set_peak(static_cast<double>(memory.total()));
  report.set_parameters(static_cast<double>(memory.parameters));
  report.set_state(static_cast<double>(memory.state));
  report.set_kept(static_cast<double>(memory.kept));
  report.set_batch(static_cast<double>(memory.batch));
  report.set_scratch(static_cast<double>(memory.scratch));
  report.set_constants(static_cast<double>(memory.constants));
  report.set_recomputed_kernels(memory.recomputed_steps);
  report.set_recomputed_ms(memory.recomputed_ms);
  report.set_recomputed_bytes(static_cast<double>(memory.recomputed_bytes));
  return report;
}

}  // namespace tartan::cli
