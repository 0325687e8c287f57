#include "frontend/cli/context.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::cli {
namespace {

void WriteLine(absl::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fputc('\n', stderr);
}

}  // namespace

absl::StatusOr<std::shared_ptr<api::Device>> Context::OpenDevice() const {
  api::DeviceOptions device_options;
  device_options.use_disk_cache = options_.use_disk_cache;
  device_options.verbose = options_.verbosity > 0;
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<api::Device> device,
                          At(Stage::kDevice, api::Device::Open(options_.device, device_options)));
  Detail(absl::StrCat("device: ", Describe(device->info())));
  if (options_.verbosity > 1) {
    compiler::CompileOptions compile_options = device->programs().options();
    compile_options.dump = [](absl::string_view stage, absl::string_view text) {
      WriteLine(absl::StrCat("==== ", stage, "\n", text));
    };
    device->programs().SetOptions(compile_options);
  }
  return device;
}

absl::StatusOr<std::shared_ptr<const onnx::OnnxModel>> Context::LoadModel(
    const std::string& path) const {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    return At(Stage::kFile, absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno))));
  }
  if (!S_ISREG(info.st_mode)) {
    return At(Stage::kFile,
              absl::InvalidArgumentError(absl::StrCat(path, ": is no regular file, so no model")));
  }
  return At(Stage::kModel, onnx::OnnxModel::Load(path));
}

absl::Status Context::Print(const google::protobuf::Message& report, absl::string_view text) const {
  std::string output(text);
  if (wants_json()) {
    TARTAN_ASSIGN_OR_RETURN(output, ToJson(report));
  }
  const bool written = std::fwrite(output.data(), 1, output.size(), stdout) == output.size() &&
                       std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return absl::OkStatus();
  return At(Stage::kFile, absl::UnavailableError(absl::StrCat("standard output cannot be written: ",
                                                              std::strerror(errno))));
}

void Context::Note(absl::string_view line) const {
  if (!options_.quiet) WriteLine(line);
}

void Context::Detail(absl::string_view line) const {
  if (options_.verbosity > 0 && !options_.quiet) WriteLine(line);
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return absl::InternalError("the report cannot be written as JSON");
  return json;
}

std::string Describe(const hal::DeviceInfo& info) {
  return absl::StrCat(info.name, " (", info.platform, ")");
}

}  // namespace tartan::cli
