// SPDX-License-Identifier: Apache-2.0
// tartan train: trains a model and writes the result.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/profile.h"
#include "frontend/cli/commands/train_flags.h"
#include "frontend/cli/commands/training_log.h"
#include "frontend/cli/commands/training_memory.h"
#include "frontend/cli/commands/training_ranks.h"
#include "frontend/cli/crash_reporter.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/model_inputs.h"
#include "frontend/cli/terminal.h"
#include "frontend/data/open_dataset.h"
#include "frontend/onnx/model/model_writer.h"
#include "frontend/train/fit.h"
#include "frontend/train/log/event_file.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

volatile sig_atomic_t interrupted = 0;

// The first signal ends training properly. A later Ctrl-C ends the process immediately; schedulers
// that send SIGTERM repeatedly do not.
void OnInterrupt(int number) {
  if (interrupted != 0 && number == SIGINT) _exit(static_cast<int>(ExitCode::kInterrupted));
  interrupted = 1;
}

// SIGHUP stays ignored under nohup.
void HandleInterrupts() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (signal(number, OnInterrupt) == SIG_IGN && number == SIGHUP) signal(number, SIG_IGN);
  }
}

int64_t PeakHostBytes() {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? int64_t{usage.ru_maxrss} * 1024 : 0;
}

void FillReport(const train::Trainer& trainer, const train::FitResult& result,
                proto::TrainReport* report) {
  report->set_done(!result.was_stopped);
  report->set_interrupted(result.was_stopped);
  report->set_steps(static_cast<int32_t>(result.steps));
  report->set_median_step_ms(result.median_step_ms);
  report->set_compile_ms(trainer.compile_ms());
  FillMemory(trainer.memory(), report);
  report->set_peak_host_bytes(static_cast<double>(PeakHostBytes()));
  report->set_kernels(static_cast<int32_t>(trainer.kernels()));
  for (const auto& [name, value] : result.metrics) {
    if (std::isfinite(value)) (*report->mutable_metrics())[name] = value;
  }
  if (result.loss_scale.has_value()) {
    report->set_loss_scale(*result.loss_scale);
    report->set_left_out(static_cast<int32_t>(result.left_out));
  }
}

std::string ToText(const proto::TrainReport& report) {
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  table.AddRow({"steps", absl::StrCat(report.steps(), ", ", FormatMs(report.median_step_ms()),
                                      " each (median), ", report.kernels(),
                                      " kernels; compiled in ", FormatMs(report.compile_ms()))});
  if (report.has_loss_scale()) {
    table.AddRow({"scale", absl::StrFormat(
                               "%g at the end; %d steps left out because gradients were not finite",
                               report.loss_scale(), report.left_out())});
  }
  if (report.ranks() > 0) {
    table.AddRow({"ranks", absl::StrCat(report.ranks(), "; ", FormatMs(report.lost_ms()),
                                        " of a step are lost to communication")});
  }
  for (int rank = 0; rank < report.rank_memory_size(); ++rank) {
    const proto::RankMemory& memory = report.rank_memory(rank);
    table.AddRow(
        {absl::StrCat("rank ", rank),
         absl::StrCat("peak memory ", FormatBytes(memory.peak_device_bytes()), " of the device, ",
                      FormatBytes(memory.peak_host_bytes()), " of the process")});
  }
  if (!report.export_().empty()) table.AddRow({"wrote", report.export_()});
  if (report.profile().empty()) return table.ToString();
  return absl::StrCat(table.ToString(), "\n", ProfileText(report.profile()));
}

absl::Status CheckFiles(const TrainFlags& flags) {
  for (const std::string* path : {&flags.export_path, &flags.log, &flags.page, &flags.plot}) {
    if (path->empty()) continue;
    TARTAN_RETURN_IF_ERROR(At(Stage::kFile, CheckWritable(*path)));
  }
  return absl::OkStatus();
}

// Adds the memory of all ranks, each of which has its own in the report.
absl::Status AddMemoryOfRanks(train::GradientExchange& ranks, proto::TrainReport* report) {
  std::vector<double> bytes(static_cast<size_t>(2 * ranks.ranks()));
  const auto own = static_cast<size_t>(2 * ranks.rank());
  bytes[own] = report->peak_device_bytes();
  bytes[own + 1] = report->peak_host_bytes();
  TARTAN_RETURN_IF_ERROR(ranks.SumNumbers(absl::MakeSpan(bytes)));
  for (size_t i = 0; i < bytes.size(); i += 2) {
    proto::RankMemory* const memory = report->add_rank_memory();
    memory->set_peak_device_bytes(bytes[i]);
    memory->set_peak_host_bytes(bytes[i + 1]);
  }
  return absl::OkStatus();
}

// Writes the trace, and adds the ranks to the report. All ranks call it; the run has succeeded
// then.
absl::Status EndOfRank(const RankFlags& flags, train::GradientExchange& ranks,
                       proto::TrainReport* report) {
  const train::ExchangeTimes times = ranks.times();
  report->set_ranks(static_cast<int32_t>(ranks.ranks()));
  report->set_lost_ms(times.lost_s * 1e3 / static_cast<double>(std::max<int64_t>(1, times.sums)));
  TARTAN_RETURN_IF_ERROR(AddMemoryOfRanks(ranks, report));
  TARTAN_ASSIGN_OR_RETURN(const std::string trace, ranks.CollectTrace());
  TARTAN_RETURN_IF_ERROR(ranks.Finish());
  return trace.empty() ? absl::OkStatus() : At(Stage::kFile, WriteFile(flags.trace, trace));
}

// The first rank alone writes files.
void KeepFilesOfFirstRank(TrainFlags* flags) {
  if (flags->trainer.exchange->rank() == 0) return;
  for (std::string* path :
       {&flags->export_path, &flags->log, &flags->page, &flags->plot, &flags->tensorboard})
    path->clear();
}

absl::StatusOr<std::shared_ptr<const data::Dataset>> OpenData(const TrainFlags& flags,
                                                              const std::string& name) {
  data::OpenOptions options;
  options.pictures.channels_last = flags.channels_last;
  options.pictures.mask_values = flags.mask_values;
  return At(Stage::kFile, data::OpenDataset(name, options));
}

double TrainedCount(const train::Trainer& trainer) {
  int64_t count = 0;
  for (const train::Parameter& parameter : trainer.parameters()) {
    if (parameter.is_trained) count += parameter.shape.element_count();
  }
  return static_cast<double>(count);
}

// Null for an empty path.
absl::StatusOr<std::unique_ptr<train::EventFile>> OpenEvents(const std::string& folder) {
  if (folder.empty()) return std::unique_ptr<train::EventFile>();
  return At(Stage::kFile, train::EventFile::Open(folder));
}

// Writes the trained model, if the flags name a file.
absl::Status Export(const TrainFlags& flags, train::Trainer& trainer, proto::TrainReport* report) {
  if (flags.export_path.empty()) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const auto values, At(Stage::kRun, trainer.Values()));
  report->set_export_(flags.export_path);
  return At(Stage::kFile, onnx::WriteModel(flags.model, flags.export_path, values));
}

// The memory of a GPU is freed with the process, except where ranks end together.
absl::StatusOr<std::shared_ptr<train::Trainer>> MakeTrainer(
    const TrainFlags& flags, const std::shared_ptr<const onnx::OnnxModel>& model,
    const std::shared_ptr<api::Device>& device) {
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<train::Trainer> trainer,
                          At(Stage::kUsage, train::Trainer::Create(model, device, flags.trainer)));
  if (flags.trainer.exchange == nullptr && device->info().type == hal::DeviceType::kGpu) {
    KeepUntilEnd(device);
    KeepUntilEnd(trainer);
  }
  return trainer;
}

// Trains as the only process, or as the rank of `flags.trainer.exchange`.
absl::StatusOr<ExitCode> TrainHere(TrainFlags flags, const Context& context) {
  TARTAN_RETURN_IF_ERROR(CheckFiles(flags));
  onnx::LoadOptions load;
  load.parameters_as_inputs = true;
  FixShapes(flags.shapes, &load);
  TARTAN_ASSIGN_OR_RETURN(const auto model,
                          At(Stage::kModel, onnx::OnnxModel::Load(flags.model, load)));
  TARTAN_ASSIGN_OR_RETURN(const auto dataset, OpenData(flags, flags.data));
  if (!flags.validation_data.empty()) {
    TARTAN_ASSIGN_OR_RETURN(flags.fit.validation_data, OpenData(flags, flags.validation_data));
  }
  TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, flags.fit.Check()));
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice(flags.precision.matmuls));
  TARTAN_ASSIGN_OR_RETURN(const auto trainer, MakeTrainer(flags, model, device));
  TARTAN_ASSIGN_OR_RETURN(
      const auto log, At(Stage::kFile, TrainingLog::Open(flags.log, context, flags.fit.resume)));
  TARTAN_ASSIGN_OR_RETURN(const auto events, OpenEvents(flags.tensorboard));
  HandleInterrupts();
  context.Note(absl::StrCat(flags.fit.evaluates
                                ? std::string("evaluating")
                                : absl::StrCat("training ", FormatCount(TrainedCount(*trainer)),
                                               " parameters on ", dataset->size(), " examples"),
                            "; the loss sees '", trainer->loss_output(), "'"));

  train::FitHooks hooks;
  absl::Status logged;
  hooks.log = [&](const train::LogLine& line) {
    if (flags.trainer.exchange != nullptr && flags.trainer.exchange->rank() > 0) return;
    logged.Update(log->Add(line));
    if (events != nullptr) logged.Update(At(Stage::kFile, events->Add(line)));
  };
  hooks.should_stop = [&] { return interrupted != 0 || !logged.ok(); };
  hooks.compiled = [&] {
    context.Note(absl::StrCat("memory ", MemoryText(trainer->memory())));
    log->SetMemory(trainer->memory());
  };
  hooks.note = [&](const std::string& message) { context.Note(message); };
  hooks.file_error = [](absl::Status status) { return At(Stage::kFile, std::move(status)); };
  TARTAN_ASSIGN_OR_RETURN(
      const train::FitResult result,
      At(Stage::kRun, train::Fit(*trainer, *model, dataset, flags.trainer, flags.fit, hooks)));
  TARTAN_RETURN_IF_ERROR(logged);

  proto::TrainReport report;
  FillReport(*trainer, result, &report);
  if (flags.trainer.exchange != nullptr) {
    TARTAN_RETURN_IF_ERROR(EndOfRank(flags.ranks, *flags.trainer.exchange, &report));
    if (flags.trainer.exchange->rank() > 0)
      return result.was_stopped ? ExitCode::kInterrupted : ExitCode::kDone;
  }
  if (flags.trainer.profile) {
    TARTAN_RETURN_IF_ERROR(AddKernels(*device, trainer->Profile(), report.mutable_profile()));
  }
  if (!result.was_stopped) TARTAN_RETURN_IF_ERROR(Export(flags, *trainer, &report));
  TARTAN_RETURN_IF_ERROR(At(Stage::kFile, log->Finish(report, flags.page, flags.plot)));
  if (!context.wants_json() && !flags.fit.evaluates)
    TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report)));
  return result.was_stopped ? ExitCode::kInterrupted : ExitCode::kDone;
}

absl::StatusOr<ExitCode> Train(TrainFlags flags, const Context& context) {
  TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, Interpret(&flags)));
  flags.trainer.bucket_bytes = flags.ranks.bucket_bytes;
  flags.ranks.on_transport = [&context](const std::string& line) { context.Detail(line); };
  TARTAN_ASSIGN_OR_RETURN(flags.trainer.exchange, JoinTraining(flags.ranks));
  if (flags.trainer.exchange == nullptr) return TrainHere(std::move(flags), context);
  if (flags.ranks.gradient_type == "bfloat16") flags.trainer.gradient_type = DataType::kBFloat16;
  const std::shared_ptr<train::GradientExchange> ranks = flags.trainer.exchange;
  const auto run = [&]() -> absl::StatusOr<ExitCode> {
    KeepFilesOfFirstRank(&flags);
    TARTAN_ASSIGN_OR_RETURN(GlobalOptions options, OptionsOfRank(context, *ranks));
    return TrainHere(flags, Context(std::move(options)));
  };
  absl::StatusOr<ExitCode> code = run();
  if (!code.ok()) ranks->Fail(code.status());
  return code;
}

}  // namespace

Command AddTrain(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "Train a model and write it as ONNX");
  auto flags = std::make_shared<TrainFlags>();
  AddTrainFlags(command, flags.get());
  command->footer(
      "Example:\n  tartan train model.onnx --data train.npz --val 0.1 --epochs 5 --lr 1e-3 \\\n"
      "    --checkpoint run --export tuned.onnx");
  return {command, [flags](const Context& context) { return Train(*flags, context); }};
}

}  // namespace tartan::cli
