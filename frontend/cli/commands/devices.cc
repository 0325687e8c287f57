// SPDX-License-Identifier: Apache-2.0
// tartan devices: lists the available devices.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/terminal.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

using proto::DevicesReport;

void FillSettings(const HardwareSettings& from, DevicesReport::Settings* to) {
  to->set_threads(from.threads);
  to->set_vector_width(from.vector_width);
  to->set_has_local_memory(from.has_local_memory);
  to->set_local_memory_bytes(from.local_memory_bytes);
  to->set_l1_bytes(from.l1_bytes);
  to->set_l2_bytes(from.l2_bytes);
  to->set_cache_line_bytes(from.cache_line_bytes);
  to->set_register_bytes(from.register_bytes);
  to->set_compute_units(from.compute_units);
  to->set_max_work_group_size(from.max_work_group_size);
  for (const int64_t size : from.max_work_item_sizes) to->add_max_work_item_sizes(size);
  to->set_has_float16(from.has_float16);
  to->set_has_float64(from.has_float64);
  to->set_clock_mhz(from.clock_mhz);
  to->set_gflops(from.gflops);
  to->set_gbps(from.gbps);
  to->set_launch_us(from.launch_us);
}

void FillDevice(const hal::DeviceInfo& from, DevicesReport::Device* to) {
  to->set_index(from.index);
  to->set_platform(from.platform);
  to->set_name(from.name);
  to->set_vendor(from.vendor);
  to->set_driver(from.driver_version);
  to->set_type(std::string(hal::Name(from.type)));
  to->set_backend(from.backend);
  to->set_memory_bytes(from.memory_bytes);
  to->set_max_allocation_bytes(from.max_allocation_bytes);
  FillSettings(from.settings, to->mutable_settings());
}

std::string YesNo(bool value) { return value ? "yes" : "no"; }

std::string ToText(const DevicesReport& report, bool detailed) {
  std::string text;
  for (const DevicesReport::Device& device : report.devices()) {
    const DevicesReport::Settings& settings = device.settings();
    absl::StrAppend(&text, device.index(), device.is_default() ? "* " : "  ", device.name(), "\n");
    Table table({Table::Align::kLeft, Table::Align::kLeft});
    table.AddRow({"platform", device.platform()});
    table.AddRow({"driver", device.driver()});
    table.AddRow({"type", device.type()});
    table.AddRow({"memory", FormatBytes(device.memory_bytes())});
    table.AddRow({"compute units", absl::StrCat(settings.compute_units())});
    table.AddRow({"work-group", absl::StrCat(settings.threads(), " items, vectors of ",
                                             settings.vector_width(), " floats")});
    if (settings.has_local_memory()) {
      table.AddRow({"local memory", FormatBytes(settings.local_memory_bytes())});
    }
    table.AddRow({"caches", absl::StrCat(FormatBytes(settings.l1_bytes()), ", ",
                                         FormatBytes(settings.l2_bytes()))});
    table.AddRow({"float16, float64", absl::StrCat(YesNo(settings.has_float16()), ", ",
                                                   YesNo(settings.has_float64()))});
    if (settings.gflops() > 0) {
      table.AddRow(
          {"measured", absl::StrFormat("%.0f GFLOP/s, %.1f GB/s, %.1f us per launch",
                                       settings.gflops(), settings.gbps(), settings.launch_us())});
    }
    if (detailed) {
      table.AddRow({"largest allocation", FormatBytes(device.max_allocation_bytes())});
      table.AddRow({"registers", FormatBytes(settings.register_bytes())});
      table.AddRow({"cache line", FormatBytes(settings.cache_line_bytes())});
      table.AddRow({"clock", absl::StrCat(settings.clock_mhz(), " MHz")});
    }
    text += table.ToString("     ");
  }
  return text;
}

// The index of the device that a command with the same options would use; -1 if none matches.
int DefaultIndex(const std::vector<hal::DeviceInfo>& devices, const std::string& selector) {
  const absl::StatusOr<hal::DeviceInfo> selected = api::SelectDevice(devices, selector);
  return selected.ok() ? selected->index : -1;
}

// Measures the device that --device names, or all devices.
absl::Status CalibrateAgain(const std::vector<hal::DeviceInfo>& devices, const Context& context) {
  if (!context.options().use_disk_cache) {
    return At(Stage::kUsage,
              absl::InvalidArgumentError(
                  "--calibrate stores its results in the disk cache, so it excludes --no-cache"));
  }
  api::DeviceOptions options = context.device_options();
  options.calibrate_again = true;
  const std::string& selector = context.options().device;
  for (const hal::DeviceInfo& device : devices) {
    if (!selector.empty() && device.index != DefaultIndex(devices, selector)) continue;
    context.Note(absl::StrCat("calibrating ", Describe(device)));
    TARTAN_RETURN_IF_ERROR(
        At(Stage::kDevice, api::Device::Open(absl::StrCat(device.index), options).status()));
  }
  return absl::OkStatus();
}

struct DevicesOptions {
  bool calibrate = false;
};

absl::StatusOr<ExitCode> Run(const DevicesOptions& options, const Context& context) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<hal::DeviceInfo> devices,
                          At(Stage::kDevice, api::ListDevices(context.device_options())));
  if (devices.empty()) {
    return At(Stage::kDevice,
              absl::UnavailableError("no OpenCL device was found; for the CPU install PoCL: "
                                     "apt-get install pocl-opencl-icd"));
  }
  if (options.calibrate) {
    TARTAN_RETURN_IF_ERROR(CalibrateAgain(devices, context));
    TARTAN_ASSIGN_OR_RETURN(devices,
                            At(Stage::kDevice, api::ListDevices(context.device_options())));
  }
  DevicesReport report;
  const int chosen = DefaultIndex(devices, context.options().device);
  for (const hal::DeviceInfo& device : devices) {
    proto::DevicesReport::Device* row = report.add_devices();
    FillDevice(device, row);
    row->set_is_default(device.index == chosen);
  }
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report, context.options().verbosity > 0)));
  return ExitCode::kDone;
}

}  // namespace

Command AddDevices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List devices and their properties");
  auto options = std::make_shared<DevicesOptions>();
  command->add_flag(
      "--calibrate", options->calibrate,
      "Measure peak, bandwidth and launch cost of --device, or of all devices, again");
  command->footer(
      "A device is measured before its first exact kernels are compiled. The disk cache\n"
      "stores the results.\n\n"
      "Example:\n"
      "  tartan devices --format json\n\n"
      "* marks the default device.");
  return {command, [options](const Context& context) { return Run(*options, context); }};
}

}  // namespace tartan::cli
