// SPDX-License-Identifier: Apache-2.0
// tartan cache: manages the compiled kernels in the disk cache.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/device/opencl_driver.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/terminal.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

struct CacheOptions {
  std::string action = "show";
  bool has_limit = false;
  double limit_mib = static_cast<double>(opencl::OpenClOptions().cache_limit_bytes) / (1 << 20);
};

// Executes the action; returns the number of removed entries.
absl::StatusOr<int64_t> Act(const CacheOptions& options, const std::string& directory) {
  if (options.action == "verify") return opencl::VerifyCache(directory);
  if (options.action == "clear") return opencl::ClearCache(directory);
  if (options.action != "prune") return 0;
  TARTAN_ASSIGN_OR_RETURN(const opencl::CacheContents before, opencl::InspectCache(directory));
  const auto limit = static_cast<int64_t>(options.limit_mib * (1 << 20));
  TARTAN_ASSIGN_OR_RETURN(const opencl::CacheContents after, opencl::PruneCache(directory, limit));
  return before.entries - after.entries;
}

std::string ToText(const proto::CacheReport& report, const CacheOptions& options) {
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  table.AddRow({"directory", report.directory()});
  table.AddRow({"entries", absl::StrCat(report.entries())});
  table.AddRow({"size", absl::StrCat(FormatBytes(report.bytes()), " of at most ",
                                     FormatBytes(report.limit_bytes()))});
  if (options.action != "show") {
    const absl::string_view what = options.action == "verify" ? "damaged, removed" : "removed";
    table.AddRow({std::string(what), absl::StrCat(report.removed())});
  }
  return table.ToString();
}

absl::StatusOr<ExitCode> Run(const CacheOptions& options, const Context& context) {
  if (options.has_limit && options.action != "prune") {
    return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                 "--limit belongs to prune, not to ", options.action)));
  }
  const std::string directory = opencl::DefaultCacheDirectory();
  if (directory.empty()) {
    return At(Stage::kFile, absl::NotFoundError(
                                "no folder is known for the cache: set TARTAN_CACHE_DIR or HOME"));
  }
  TARTAN_ASSIGN_OR_RETURN(const int64_t removed, At(Stage::kFile, Act(options, directory)));
  TARTAN_ASSIGN_OR_RETURN(const opencl::CacheContents contents,
                          At(Stage::kFile, opencl::InspectCache(directory)));
  proto::CacheReport report;
  report.set_directory(directory);
  report.set_entries(contents.entries);
  report.set_bytes(contents.bytes);
  report.set_limit_bytes(opencl::OpenClOptions().cache_limit_bytes);
  report.set_removed(removed);
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report, options)));
  return ExitCode::kDone;
}

}  // namespace

Command AddCache(CLI::App& app) {
  CLI::App* command = app.add_subcommand("cache", "Show, verify, prune or clear the disk cache");
  auto options = std::make_shared<CacheOptions>();
  command->add_option("action", options->action, "show, verify, prune or clear")
      ->check(CLI::IsMember({"show", "verify", "prune", "clear"}))
      ->default_str("show");
  AddDouble(command, "--limit", &options->limit_mib, 0, 1e6,
            "With prune: the size in MiB that the cache may keep")
      ->each([options](const std::string&) { options->has_limit = true; });
  command->footer(
      "The cache is in $TARTAN_CACHE_DIR, else in $XDG_CACHE_HOME/tartan.\n\n"
      "Example:\n"
      "  tartan cache prune --limit 100");
  return {command, [options](const Context& context) { return Run(*options, context); }};
}

}  // namespace tartan::cli
