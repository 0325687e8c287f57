// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/training_log.h"

#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/cli/commands/training_memory.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/pages/loss_plot.h"
#include "frontend/cli/pages/training_page.h"
#include "frontend/cli/process/exit_code.h"
#include "frontend/cli/terminal.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

proto::TrainStepReport ReportOf(const train::LogLine& line) {
  proto::TrainStepReport report;
  report.set_step(static_cast<int32_t>(line.step));
  report.set_epoch(static_cast<int32_t>(line.epoch));
  report.set_loss(line.loss);
  report.set_lr(line.rate);
  report.set_step_ms(line.step_ms);
  if (line.loss_scale.has_value()) {
    report.set_loss_scale(*line.loss_scale);
    report.set_left_out(static_cast<int32_t>(line.left_out));
  }
  // JSON has no NaN, so metrics without a finite value are omitted.
  for (const auto& [name, value] : line.metrics) {
    if (std::isfinite(value)) (*report.mutable_metrics())[name] = value;
  }
  return report;
}

// "val_loss 0.1234  val_accuracy 0.9120", for a line without steps, or
// "Epoch 2/5  step 340/900  loss 0.1234  accuracy 0.912  lr 0.001  8.2 ms/step".
std::string TextOf(const train::LogLine& line) {
  std::vector<std::string> parts;
  if (line.steps > 0) {
    parts = {absl::StrCat("Epoch ", line.epoch, "/", line.epochs),
             absl::StrCat("step ", line.step, "/", line.steps),
             absl::StrFormat("loss %.4f", line.loss)};
  }
  for (const auto& [name, value] : line.metrics) {
    parts.push_back(absl::StrFormat("%s %.4f", name, value));
  }
  if (line.steps == 0) return absl::StrJoin(parts, "  ");
  parts.push_back(absl::StrFormat("lr %.3g", line.rate));
  if (line.loss_scale.has_value()) parts.push_back(absl::StrFormat("scale %g", *line.loss_scale));
  parts.push_back(absl::StrCat(FormatMs(line.step_ms), "/step"));
  return absl::StrJoin(parts, "  ");
}

}  // namespace

TrainingLog::TrainingLog(std::FILE* file, std::string path, const Context& context)
    : file_(file),
      path_(std::move(path)),
      context_(context),
      is_live_(isatty(STDERR_FILENO) != 0 && !context.options().quiet && !context.wants_json()) {}

TrainingLog::~TrainingLog() {
  if (file_ != nullptr) std::fclose(file_);
}

absl::StatusOr<std::unique_ptr<TrainingLog>> TrainingLog::Open(const std::string& path,
                                                               const Context& context,
                                                               bool appends) {
  std::FILE* file = nullptr;
  if (!path.empty()) {
    file = std::fopen(path.c_str(), appends ? "a" : "w");
    if (file == nullptr) {
      return absl::UnavailableError(
          absl::StrCat(path, ": cannot be written: ", std::strerror(errno)));
    }
  }
  return std::unique_ptr<TrainingLog>(new TrainingLog(file, path, context));
}

absl::Status TrainingLog::WriteLine(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok())
    return absl::InternalError("a line of the log cannot be written as JSON");
  json.push_back('\n');
  if (file_ != nullptr &&
      (std::fwrite(json.data(), 1, json.size(), file_) != json.size() || std::fflush(file_) != 0)) {
    return At(Stage::kFile, absl::UnavailableError(absl::StrCat(
                                path_, ": cannot be written: ", std::strerror(errno))));
  }
  return context_.wants_json() ? WriteDocument(json) : absl::OkStatus();
}

absl::Status TrainingLog::Add(const train::LogLine& line) {
  lines_.push_back(line);
  if (first_step_ < 0) first_step_ = line.step;
  proto::TrainStepReport report = ReportOf(line);
  if (memory_.has_value()) *report.mutable_memory() = MemoryReport(*memory_);
  memory_.reset();
  TARTAN_RETURN_IF_ERROR(WriteLine(report));
  if (context_.wants_json()) return absl::OkStatus();
  const std::string text = TextOf(line);
  if (is_live_) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const auto done = static_cast<double>(line.step - first_step_);
    const double left = done > 0 ? seconds / done * static_cast<double>(line.steps - line.step) : 0;
    // Clears the rest of a longer previous line.
    std::fprintf(stderr, "\r\x1b[K%s  %s left", text.c_str(), FormatSeconds(left).c_str());
    if (!line.is_epoch_end) return absl::OkStatus();
    std::fprintf(stderr, "\r\x1b[K");
  }
  return line.is_epoch_end ? WriteOutput(absl::StrCat(text, "\n")) : absl::OkStatus();
}

absl::Status TrainingLog::Finish(const proto::TrainReport& report, const std::string& page,
                                 const std::string& plot) {
  if (is_live_) std::fprintf(stderr, "\r\x1b[K");
  TARTAN_RETURN_IF_ERROR(WriteLine(report));
  if (!page.empty()) TARTAN_RETURN_IF_ERROR(WriteFile(page, TrainingPage(lines_, report)));
  if (plot.empty()) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const std::string picture, LossPlot(lines_));
  return WriteFile(plot, picture);
}

}  // namespace tartan::cli
