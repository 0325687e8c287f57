// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/context.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/parallel/parallel_session.h"
#include "frontend/cli/terminal.h"
#include "tile/base/printable.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/compile_options.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// True if the device may compute some matmuls with less precision than float32. A CPU's packed
// arithmetic is known only after its compiler was queried, so any CPU counts for kInt8.
bool MayRound(const HardwareSettings& settings, Precision precision) {
  const bool is_cpu = settings.threads == 1;
  if (precision == Precision::kInt8) return is_cpu || settings.packed_dot_width > 1;
  return settings.matrix_local_bytes > 0 || (is_cpu && precision == Precision::kBFloat16);
}

// Escapes bytes that are not UTF-8, which JSON cannot represent; names of files and tensors may
// have them.
void MakeValid(Message* message) {
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_string = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const int count = field->is_repeated() ? reflection.FieldSize(*message, field) : 0;
    if (is_string && !field->is_repeated()) {
      reflection.SetString(message, field, ValidUtf8(reflection.GetString(*message, field)));
    } else if (is_message && !field->is_repeated()) {
      MakeValid(reflection.MutableMessage(message, field));
    }
    for (int i = 0; is_string && i < count; ++i) {
      const std::string text = reflection.GetRepeatedString(*message, field, i);
      reflection.SetRepeatedString(message, field, i, ValidUtf8(text));
    }
    for (int i = 0; is_message && i < count; ++i) {
      MakeValid(reflection.MutableRepeatedMessage(message, field, i));
    }
  }
}

}  // namespace

api::DeviceOptions Context::device_options() const {
  api::DeviceOptions options;
  options.use_disk_cache = options_.use_disk_cache;
  options.verbose = options_.verbosity > 0 && !options_.quiet;
  options.quiet = options_.quiet;
  options.memory_limit_bytes = options_.limits.memory_bytes;
  return options;
}

absl::StatusOr<std::shared_ptr<api::Device>> Context::OpenDevice(
    std::optional<Precision> chosen) const {
  if (absl::StrContains(options_.device, ',')) {
    return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                 "--device ", options_.device,
                                 " names several devices, but this use of the command needs one")));
  }
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<api::Device> device,
                          At(Stage::kDevice, api::Device::Open(options_.device, device_options())));
  return Prepared(std::move(device), chosen.value_or(options_.precision));
}

absl::StatusOr<std::vector<std::shared_ptr<api::Device>>> Context::OpenDevices() const {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> selectors,
                          At(Stage::kUsage, api::ParseSelectors(options_.device)));
  TARTAN_ASSIGN_OR_RETURN(std::vector<std::shared_ptr<api::Device>> devices,
                          At(Stage::kDevice, api::OpenDevices(selectors, device_options())));
  for (auto& device : devices) device = Prepared(std::move(device), options_.precision);
  return devices;
}

std::shared_ptr<api::Device> Context::Prepared(std::shared_ptr<api::Device> device,
                                               Precision precision) const {
  Detail(absl::StrCat("device: ", Describe(device->info())));
  if (options_.tier == api::Tier::kReady) device = device->WithTier(compiler::Tier::kReady);
  if (precision != Precision::kFloat32) {
    if (!MayRound(device->info().settings, precision)) {
      Note(absl::StrCat("warning: no kernels for ", device->info().name, " round matmul factors: ",
                        "--precision ", Name(precision), " changes nothing"));
    }
    device = device->WithPrecision(precision);
  }
  if (options_.verbosity > 1) {
    compiler::CompileHooks hooks;
    hooks.dump = [](absl::string_view stage, absl::string_view text) {
      WriteError(absl::StrCat("==== ", stage, "\n", text));
    };
    device = device->With(std::move(hooks));
  }
  return device;
}

absl::StatusOr<std::shared_ptr<const onnx::OnnxModel>> Context::LoadModel(
    const std::string& path) const {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    return At(Stage::kFile, absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno))));
  }
  if (S_ISDIR(info.st_mode)) {
    return At(Stage::kFile, absl::InvalidArgumentError(
                                absl::StrCat(path, ": is a folder: give the .onnx file in it")));
  }
  if (!S_ISREG(info.st_mode)) {
    return At(Stage::kFile,
              absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file")));
  }
  TARTAN_ASSIGN_OR_RETURN(auto model, At(Stage::kModel, onnx::OnnxModel::Load(path)));
  for (const std::string& warning : model->warnings()) Note(absl::StrCat("warning: ", warning));
  return model;
}

api::SessionOptions Context::session_options() const {
  api::SessionOptions options;
  options.unchecked = options_.unchecked;
  options.tier = options_.tier;
  options.exact_after_runs = 0;
  return options;
}

absl::StatusOr<std::unique_ptr<api::Session>> Context::OpenSession(
    std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<api::Device> device) const {
  return At(Stage::kRun,
            api::Session::Create(std::move(model), std::move(device), session_options()));
}

absl::Status Context::Print(const google::protobuf::Message& report, absl::string_view text) const {
  if (!wants_json()) return WriteOutput(text);
  TARTAN_ASSIGN_OR_RETURN(const std::string json, ToJson(report));
  return WriteDocument(json);
}

void Context::Note(absl::string_view line) const {
  if (!options_.quiet) WriteError(line);
}

void Context::Assume(absl::string_view line) const {
  *assumed_ = std::string(line);
  Note(line);
}

absl::Status Context::Explained(absl::Status status) const {
  if (assumed_->empty() || !absl::IsInvalidArgument(status)) return status;
  if (ExitCodeFor(status) != ExitCode::kModel) return status;
  const std::string text = absl::StrCat(status.message(), "\n(", *assumed_, ")");
  return At(Stage::kModel, absl::InvalidArgumentError(text));
}

void Context::Detail(absl::string_view line) const {
  if (options_.verbosity > 0 && !options_.quiet) WriteError(line);
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  const std::unique_ptr<Message> valid(message.New());
  valid->CopyFrom(message);
  MakeValid(valid.get());
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(*valid, &json, options);
  if (!status.ok()) return absl::InternalError("the report cannot be written as JSON");
  return json;
}

std::string Describe(const hal::DeviceInfo& info) {
  return absl::StrCat(info.name, " (", info.platform, ")");
}

std::string Describe(absl::Span<const std::shared_ptr<api::Device>> devices) {
  std::vector<std::string> names;
  for (const auto& device : devices) names.push_back(Describe(device->info()));
  if (names.size() == 1) return names[0];
  if (std::count(names.begin(), names.end(), names[0]) == static_cast<int64_t>(names.size())) {
    return absl::StrCat(names.size(), " x ", names[0]);
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace tartan::cli
