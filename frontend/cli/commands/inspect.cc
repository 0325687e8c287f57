// SPDX-License-Identifier: Apache-2.0
// tartan inspect: shows the contents of a model and how Tartan compiles it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/composer.h"
#include "frontend/api/explain/program_report.h"
#include "frontend/api/session.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/pages/model_page.h"
#include "frontend/cli/terminal.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::cli {
namespace {

struct InspectOptions {
  std::string model;
  std::string html;  // path of an HTML page; empty: none
  InputOptions inputs;
};

void FillDeclaration(const api::TensorSpec& spec, proto::TensorDeclaration* declaration) {
  declaration->set_name(spec.name);
  const bool is_plain = spec.element == api::Element::kPlain;
  declaration->set_type(std::string(spec.map_keys ? "map"
                                    : is_plain    ? Name(spec.type)
                                                  : api::Name(spec.element)));
  for (const int64_t dim : spec.dims) declaration->add_shape(dim);
  for (const std::string& name : spec.dim_names) declaration->add_dim_names(name);
  declaration->set_optional(spec.is_optional);
}

void FillModel(const onnx::OnnxModel& model, proto::InspectReport* report) {
  report->set_producer(model.producer());
  report->set_ir_version(model.ir_version());
  for (const auto& [domain, version] : model.opsets())
    (*report->mutable_opsets())[domain] = version;
  for (const api::TensorSpec& spec : model.inputs()) FillDeclaration(spec, report->add_inputs());
  for (const api::TensorSpec& spec : model.outputs()) FillDeclaration(spec, report->add_outputs());
  report->set_parameters(model.parameter_count());
  for (const onnx::OperatorCount& row : model.operators()) {
    proto::InspectReport::Operator* entry = report->add_operators();
    entry->set_domain(row.domain.empty() ? "ai.onnx" : row.domain);
    entry->set_name(row.name);
    entry->set_version(row.since_version);
    entry->set_count(row.count);
    entry->set_supported(row.supported);
  }
}

using InputValues = std::map<std::string, api::HostValue>;

// Binds the model to the shapes of `values`; sets `asks` to whether it depends on their elements.
absl::StatusOr<api::BoundGraph> Bind(const onnx::OnnxModel& model, const InputValues& values,
                                     bool* asks) {
  *asks = false;
  std::vector<api::InputBinding> bindings;
  for (const api::TensorSpec& spec : model.inputs()) {
    const auto value = values.find(spec.name);
    api::InputBinding& binding = bindings.emplace_back();
    binding.given = value != values.end();
    if (!binding.given) continue;
    binding.shape = value->second.tensor().shape();
    if (!spec.is_tensor() || spec.element != api::Element::kPlain) binding.value = &value->second;
  }
  while (true) {
    TARTAN_ASSIGN_OR_RETURN(api::BoundGraph graph, model.Bind(bindings));
    if (graph.needed_values.empty()) return graph;
    *asks = true;
    for (const int input : graph.needed_values) {
      const auto value = values.find(model.inputs()[input].name);
      if (bindings[input].value != nullptr || value == values.end()) {
        return absl::InternalError("the model requests values that it already has");
      }
      bindings[input].value = &value->second;
    }
  }
}

void FillCost(const evaluator::CompiledProgram& program, proto::InspectReport* report) {
  double flops = 0;
  for (const compiler::Step& step : program.list().steps) {
    if (const auto* launch = std::get_if<compiler::LaunchStep>(&step)) flops += launch->flops;
  }
  report->set_flops(flops);
  report->set_kernels(program.launches_per_run());
  report->set_peak_bytes(program.resident_bytes() + program.frame().plan.total_bytes());
}

// Fills in the cost of a run that consists of several programs because values decide how it
// continues.
absl::Status FillCostOfARun(std::shared_ptr<const onnx::OnnxModel> model,
                            std::shared_ptr<api::Device> device, const InputValues& values,
                            api::SessionOptions options, proto::InspectReport* report) {
  options.unchecked = true;  // the values are arbitrary
  TARTAN_ASSIGN_OR_RETURN(const auto session,
                          api::Session::Create(std::move(model), device, options));
  // The first run finds the programs; its profile covers only the last of them.
  TARTAN_RETURN_IF_ERROR(session->RunValues(values).status());
  std::vector<api::KernelProfile> profile;
  TARTAN_RETURN_IF_ERROR(session->RunValues(values, nullptr, &profile).status());
  double flops = 0;
  for (const api::KernelProfile& kernel : profile) flops += kernel.flops;
  report->set_flops(flops);
  report->set_kernels(static_cast<int>(profile.size()));
  report->set_peak_bytes(device->hal()->statistics().peak_allocated_bytes);
  return absl::OkStatus();
}

// Compiles the program that computes the outputs once the deciding values are known. Returns
// nullopt if the outputs need no kernel.
absl::StatusOr<std::optional<api::ProgramReport>> Compile(
    const std::shared_ptr<const onnx::OnnxModel>& model, const InspectOptions& options,
    const Context& context, proto::InspectReport* report) {
  TARTAN_ASSIGN_OR_RETURN(const InputValues values,
                          MakeModelInputs(model->inputs(), options.inputs, context));
  bool asks = false;
  TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph graph, Bind(*model, values, &asks));
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice());
  report->set_device(Describe(device->info()));
  std::vector<api::Tensor> placeholders;
  for (const api::Tensor& tensor : graph.placeholders) {
    if (tensor.defined()) placeholders.push_back(tensor);
  }
  std::vector<api::Tensor> outputs;
  for (const api::Value& value : graph.outputs) AppendTensors(value, &outputs);
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                               [](const api::Tensor& t) { return t.constant() != nullptr; }),
                outputs.end());
  api::SessionOptions running = context.session_options();
  if (running.tier == api::Tier::kAuto) running.tier = api::Tier::kExact;
  if (asks) TARTAN_RETURN_IF_ERROR(FillCostOfARun(model, device, values, running, report));
  if (outputs.empty()) return std::nullopt;
  TARTAN_ASSIGN_OR_RETURN(const api::ComposedProgram composed,
                          api::Compose(placeholders, outputs, model->name()));
  TARTAN_ASSIGN_OR_RETURN(const evaluator::PlannedProgram planned, device->Plan(composed.program));
  if (!asks) FillCost(*planned.program, report);
  return api::ReportOf(*planned.program, device->info(), planned.sources);
}

std::string OperatorTable(const proto::InspectReport& report) {
  Table table({Table::Align::kRight, Table::Align::kLeft, Table::Align::kLeft});
  for (const auto& row : report.operators()) {
    const std::string name =
        row.domain() == "ai.onnx" ? row.name() : absl::StrCat(row.domain(), ".", row.name());
    table.AddRow({absl::StrCat(row.count()), name, row.supported() ? "" : "not supported"});
  }
  return table.ToString("  ");
}

std::string ToText(const onnx::OnnxModel& model, const proto::InspectReport& report) {
  std::string text;
  for (const api::TensorSpec& spec : model.inputs()) {
    absl::StrAppend(&text, "input   ", spec.ToString(), spec.is_optional ? " (optional)" : "",
                    "\n");
  }
  for (const api::TensorSpec& spec : model.outputs()) {
    absl::StrAppend(&text, "output  ", spec.ToString(), "\n");
  }
  Table facts({Table::Align::kLeft, Table::Align::kLeft});
  if (!report.producer().empty()) facts.AddRow({"producer", report.producer()});
  facts.AddRow({"opsets", absl::StrJoin(model.opsets(), ", ", absl::PairFormatter(" "))});
  facts.AddRow({"parameters", FormatCount(report.parameters())});
  if (report.problem().empty()) {
    facts.AddRow({"kernels", absl::StrCat(report.kernels())});
    facts.AddRow({"work", absl::StrCat(FormatCount(report.flops()), "FLOP per run")});
    facts.AddRow({"device memory", FormatBytes(report.peak_bytes())});
  }
  return absl::StrCat(text, facts.ToString(), "operators\n", OperatorTable(report));
}

absl::StatusOr<ExitCode> Run(InspectOptions options, const Context& context) {
  options.inputs.random = true;
  options.inputs.open_is_one = true;
  TARTAN_ASSIGN_OR_RETURN(const auto model, context.LoadModel(options.model));
  if (!options.html.empty()) {
    TARTAN_RETURN_IF_ERROR(At(Stage::kFile, CheckWritable(options.html)));
  }
  proto::InspectReport report;
  report.set_model(options.model);
  FillModel(*model, &report);
  const absl::StatusOr<std::optional<api::ProgramReport>> compiled =
      Compile(model, options, context, &report);
  if (!compiled.ok()) {
    if (ExitCodeFor(compiled.status()) == ExitCode::kUsage) return compiled.status();
    report.set_problem(std::string(compiled.status().message()));
    context.Note(
        absl::StrCat("tartan: the model cannot be compiled: ", compiled.status().message()));
  }
  if (!options.html.empty()) {
    const bool has_program = compiled.ok() && compiled->has_value();
    const std::string page = ModelPage(*model, report, has_program ? &**compiled : nullptr);
    TARTAN_RETURN_IF_ERROR(At(Stage::kFile, WriteFile(options.html, page)));
  }
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(*model, report)));
  return ExitCode::kDone;
}

}  // namespace

Command AddInspect(CLI::App& app) {
  CLI::App* command = app.add_subcommand("inspect", "Show the contents of a model");
  auto options = std::make_shared<InspectOptions>();
  command->add_option("model", options->model, "ONNX model")->required()->type_name("MODEL");
  command
      ->add_option("--html", options->html,
                   "Write a page of HTML with the graph, the kernels and their memory")
      ->type_name("FILE");
  AddInputFlags(command, &options->inputs);
  command->footer(
      "Kernels, work and memory are for the given shapes; open sizes count as 1. If values decide\n"
      "the path through the model, they are for one run, with random values for inputs that are\n"
      "not given.\n\n"
      "Example:\n"
      "  tartan inspect examples/digits/digits.onnx --shape x=8x1x28x28");
  return {command, [options](const Context& context) { return Run(*options, context); }};
}

}  // namespace tartan::cli
