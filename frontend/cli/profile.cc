// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/profile.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/cli/latency.h"
#include "frontend/cli/terminal.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

constexpr int kRuns = 7;
constexpr int kShownKernels = 25;

double Milliseconds(double amount, double giga_per_second) {
  return giga_per_second > 0 ? amount / giga_per_second / 1e6 : 0;
}

}  // namespace

absl::Status Profile(api::Session& session, const std::map<std::string, api::HostValue>& inputs,
                     proto::BenchReport* report) {
  std::vector<std::vector<double>> times;
  std::vector<api::KernelProfile> kernels;
  for (int run = 0; run < kRuns; ++run) {
    kernels.clear();
    TARTAN_RETURN_IF_ERROR(session.RunValues(inputs, nullptr, &kernels).status());
    times.resize(kernels.size());
    for (size_t k = 0; k < kernels.size(); ++k) times[k].push_back(kernels[k].ms);
  }
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings, session.device().MeasuredSettings());
  double total = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const double ms = Summarize(times[k]).median;
    const double least = std::max(Milliseconds(kernels[k].flops, settings.gflops),
                                  Milliseconds(kernels[k].bytes, settings.gbps));
    proto::BenchReport::Kernel* kernel = report->add_profile();
    kernel->set_kernel(kernels[k].kernel);
    kernel->add_nodes(kernels[k].description);
    kernel->set_ms(ms);
    if (ms > 0) {
      kernel->set_gflops(kernels[k].flops / ms / 1e6);
      kernel->set_gbps(kernels[k].bytes / ms / 1e6);
      kernel->set_roofline(least / ms);
    }
    total += ms;
  }
  for (proto::BenchReport::Kernel& kernel : *report->mutable_profile()) {
    if (total > 0) kernel.set_share(kernel.ms() / total);
  }
  return absl::OkStatus();
}

std::string ProfileText(const proto::BenchReport& report) {
  std::vector<const proto::BenchReport::Kernel*> kernels;
  for (const proto::BenchReport::Kernel& kernel : report.profile()) kernels.push_back(&kernel);
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
