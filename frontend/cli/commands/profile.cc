// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/profile.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/cli/latency.h"
#include "frontend/cli/terminal.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

constexpr int kRuns = 7;
constexpr int kShownKernels = 25;

double Milliseconds(double amount, double giga_per_second) {
  return giga_per_second > 0 ? amount / giga_per_second / 1e6 : 0;
}

}  // namespace

absl::Status AddKernels(const api::Device& device, const std::vector<api::KernelProfile>& kernels,
                        KernelRows* rows) {
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings, device.MeasuredSettings());
  double total = 0;
  for (const api::KernelProfile& kernel : kernels) total += kernel.ms;
  for (const api::KernelProfile& kernel : kernels) {
    const double least = std::max(Milliseconds(kernel.flops, settings.gflops),
                                  Milliseconds(kernel.bytes, settings.gbps));
    proto::BenchReport::Kernel* row = rows->Add();
    row->set_kernel(kernel.kernel);
    row->add_nodes(kernel.description);
    row->set_ms(kernel.ms);
    if (kernel.ms <= 0) continue;
    row->set_share(kernel.ms / total);
    row->set_gflops(kernel.flops / kernel.ms / 1e6);
    row->set_gbps(kernel.bytes / kernel.ms / 1e6);
    row->set_roofline(least / kernel.ms);
  }
  return absl::OkStatus();
}

absl::Status Profile(ModelSession& session, const std::map<std::string, api::HostValue>& inputs,
                     proto::BenchReport* report) {
  std::vector<std::vector<double>> times;
  std::vector<api::KernelProfile> kernels;
  for (int run = 0; run < kRuns; ++run) {
    kernels.clear();
    TARTAN_RETURN_IF_ERROR(session.RunValues(inputs, nullptr, &kernels).status());
    times.resize(kernels.size());
    for (size_t k = 0; k < kernels.size(); ++k) times[k].push_back(kernels[k].ms);
  }
  for (size_t k = 0; k < kernels.size(); ++k) kernels[k].ms = Summarize(times[k]).median;
  return AddKernels(session.device(), kernels, report->mutable_profile());
}

std::string ProfileText(const KernelRows& rows) {
  std::vector<const proto::BenchReport::Kernel*> kernels;
  for (const proto::BenchReport::Kernel& kernel : rows) kernels.push_back(&kernel);
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto* a, const auto* b) { return a->ms() > b->ms(); });
  using Align = Table::Align;
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kLeft, Align::kLeft});
  table.AddRow({"time", "share", "GFLOP/s", "GB/s", "roofline", "kernel", "computes"});
  double rest = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const proto::BenchReport::Kernel& kernel = *kernels[k];
    if (k >= kShownKernels) {
      rest += kernel.ms();
      continue;
    }
    table.AddRow({FormatMs(kernel.ms()), absl::StrFormat("%.1f %%", 100 * kernel.share()),
                  absl::StrFormat("%.1f", kernel.gflops()), absl::StrFormat("%.1f", kernel.gbps()),
                  absl::StrFormat("%.2f", kernel.roofline()), kernel.kernel(), kernel.nodes(0)});
  }
  if (kernels.size() > kShownKernels) {
    table.AddRow({FormatMs(rest), "", "", "", "",
                  absl::StrCat(kernels.size() - kShownKernels, " more"), ""});
  }
  return table.ToString("  ");
}

}  // namespace tartan::cli
