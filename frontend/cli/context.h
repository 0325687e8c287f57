// SPDX-License-Identifier: Apache-2.0
// The context of a command: global options, and functions for opening devices and reporting.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/api/device.h"
#include "frontend/api/session.h"
#include "frontend/cli/process/exit_code.h"
#include "frontend/cli/process/resource_limits.h"
#include "frontend/onnx/model/onnx_model.h"

namespace google::protobuf {
class Message;
}

namespace tartan::cli {

enum class Format { kText, kJson };

struct GlobalOptions {
  Format format = Format::kText;
  std::string device;  // empty: the default; "0,1": several
  int verbosity = 0;
  bool quiet = false;
  bool use_disk_cache = true;
  bool unchecked = false;
  api::Tier tier = api::Tier::kAuto;
  Precision precision = Precision::kFloat32;
  ResourceLimits limits;
};

class Context {
 public:
  explicit Context(GlobalOptions options) : options_(std::move(options)) {}

  const GlobalOptions& options() const { return options_; }
  bool wants_json() const { return options_.format == Format::kJson; }

  // Opens the device that --device names; with -vv, its compiler prints every stage to stderr.
  // Outside sessions, its kernels are exact (shape-specialised) unless --tier is ready.
  // InvalidArgument if it names several.
  absl::StatusOr<std::shared_ptr<api::Device>> OpenDevice(
      std::optional<Precision> precision = std::nullopt) const;
  // The same for each device of a list such as 0,1.
  absl::StatusOr<std::vector<std::shared_ptr<api::Device>>> OpenDevices() const;
  absl::StatusOr<std::shared_ptr<const onnx::OnnxModel>> LoadModel(const std::string& path) const;
  // Device and session options that follow from the global options. OpenSession opens a session
  // with these; nothing is compiled in its background.
  api::DeviceOptions device_options() const;
  api::SessionOptions session_options() const;
  absl::StatusOr<std::unique_ptr<api::Session>> OpenSession(
      std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<api::Device> device) const;

  // Writes the result to stdout: `report` as JSON, or `text`. A full disk is an error; a closed
  // pipe ends the program.
  absl::Status Print(const google::protobuf::Message& report, absl::string_view text) const;

  // Prints a line on stderr. Note: unless --quiet. Detail: only with -v.
  void Note(absl::string_view line) const;
  // Notes an assumption about the inputs. Explained repeats it after an error that says that the
  // model does not fit its inputs.
  void Assume(absl::string_view line) const;
  absl::Status Explained(absl::Status status) const;
  void Detail(absl::string_view line) const;

 private:
  // Applies the global options to an opened device.
  std::shared_ptr<api::Device> Prepared(std::shared_ptr<api::Device> device,
                                        Precision precision) const;

  GlobalOptions options_;
  const std::shared_ptr<std::string> assumed_ = std::make_shared<std::string>();
};

// A JSON document with all fields of the message except unset messages.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

// "cpu-znver3 (Portable Computing Language)".
std::string Describe(const hal::DeviceInfo& info);
// The same for several devices, separated by commas; "2 x cpu-znver3 (…)" if their names are equal.
std::string Describe(absl::Span<const std::shared_ptr<api::Device>> devices);

}  // namespace tartan::cli
