// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/model_case.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>
#include <set>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "frontend/api/composer.h"
#include "frontend/cli/model_inputs.h"
#include "frontend/cli/stopwatch.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/onnx/values/value_proto.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kModelFile[] = "model.onnx";
constexpr int kMaxDepth = 16;

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::vector<fs::path> SortedEntries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

void Collect(const fs::path& folder, const std::string& name, int depth,
             std::set<fs::path>* visited, std::vector<ModelCase>* cases) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error || depth > kMaxDepth || !visited->insert(real).second) return;
  if (IsFile(folder / kModelFile)) {
    cases->push_back({name, folder.string()});
    return;
  }
  for (const fs::path& entry : SortedEntries(folder)) {
    if (!fs::is_directory(entry, error)) continue;
    const std::string part = entry.filename().string();
    Collect(entry, name.empty() ? part : absl::StrCat(name, "/", part), depth + 1, visited, cases);
  }
}

// The files prefix_0.pb, prefix_1.pb … of a data set.
std::vector<std::string> NumberedFiles(const fs::path& folder, absl::string_view prefix) {
  std::vector<std::string> files;
  while (true) {
    const fs::path path = folder / absl::StrCat(prefix, "_", files.size(), ".pb");
    if (!IsFile(path)) return files;
    files.push_back(path.string());
  }
}

// Returns the index of the declaration of each file of a data set. Files are matched by name if
// every message has a distinct name, otherwise by order with optional inputs last. All message
// types have the field number of their name in common with TensorProto.
absl::StatusOr<std::vector<size_t>> Assign(const std::vector<std::string>& files,
                                           const std::vector<api::TensorSpec>& specs) {
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < specs.size(); ++i) by_name[specs[i].name] = i;
  std::vector<size_t> positions;
  std::set<size_t> used;
  for (const std::string& file : files) {
    TARTAN_ASSIGN_OR_RETURN(const std::string name, onnx::ReadValueName(file));
    const auto it = by_name.find(name);
    if (it == by_name.end() || !used.insert(it->second).second) break;
    positions.push_back(it->second);
  }
  if (positions.size() == files.size()) return positions;
  if (files.size() > specs.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the data set has ", files.size(), " values, but the model declares ", specs.size()));
  }
  std::vector<size_t> order;
  for (const bool optional : {false, true}) {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].is_optional == optional) order.push_back(i);
    }
  }
  order.resize(files.size());
  return order;
}

using NamedValues = std::map<std::string, api::HostValue>;

absl::StatusOr<NamedValues> ReadInputs(const fs::path& folder, const api::Model& model) {
  const std::vector<std::string> files = NumberedFiles(folder, "input");
  TARTAN_ASSIGN_OR_RETURN(const std::vector<size_t> positions, Assign(files, model.inputs()));
  NamedValues values;
  for (size_t i = 0; i < files.size(); ++i) {
    const api::TensorSpec& spec = model.inputs()[positions[i]];
    TARTAN_ASSIGN_OR_RETURN(values[spec.name], onnx::ReadValueFile(files[i], spec));
  }
  return values;
}

bool IsPlain(const api::HostValue& value) {
  return value.is_tensor() && value.element() == api::Element::kPlain;
}

// The state of a case while its data sets run.
class CaseRun {
 public:
  CaseRun(const ModelCase& model_case, const CaseOptions& options, CaseResult* result)
      : folder_(model_case.folder), options_(options), result_(*result) {}

  absl::Status Run() {
    onnx::LoadOptions load;
    FixShapes(options_.shapes, &load);
    TARTAN_ASSIGN_OR_RETURN(const auto model,
                            onnx::OnnxModel::Load((folder_ / kModelFile).string(), load));
    TARTAN_ASSIGN_OR_RETURN(session_,
                            api::Session::Create(model, options_.device, options_.session));
    if (options_.exact_device != nullptr) {
      TARTAN_ASSIGN_OR_RETURN(exact_session_,
                              api::Session::Create(model, options_.exact_device, options_.session));
    }
    int sets = 0;
    for (const fs::path& entry : SortedEntries(folder_)) {
      std::error_code ignored;
      if (!absl::StartsWith(entry.filename().string(), "test_data_set_") ||
          !fs::is_directory(entry, ignored)) {
        continue;
      }
      ++sets;
      TARTAN_RETURN_IF_ERROR(RunDataSet(entry));
    }
    if (sets == 0) {
      return absl::NotFoundError(absl::StrCat(folder_.string(), ": no folder test_data_set_0"));
    }
    return absl::OkStatus();
  }

 private:
  using Values = std::vector<api::HostValue>;
  using Published = std::optional<api::HostValue>;

  absl::Status RunDataSet(const fs::path& folder) {
    const std::vector<std::string> files = NumberedFiles(folder, "output");
    if (files.empty() && exact_session_ == nullptr) {
      return absl::NotFoundError(absl::StrCat(folder.string(), ": no output_0.pb"));
    }
    TARTAN_ASSIGN_OR_RETURN(const NamedValues inputs, ReadInputs(folder, session_->model()));
    api::RunStatistics statistics;
    TARTAN_ASSIGN_OR_RETURN(const Values outputs, session_->RunValues(inputs, &statistics));
    result_.cache_hits += statistics.cache_hits;
    result_.cache_misses += statistics.cache_misses;
    result_.exact_programs += statistics.exact_programs;
    result_.ready_programs += statistics.ready_programs;
    result_.host_programs += statistics.host_programs;
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Published> published, ReadOutputs(files));
    if (exact_session_ == nullptr) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (!published[i].has_value()) continue;
        const std::string& name = specs()[i].name;
        Note(name, Compare(outputs[i], *published[i], ToleranceOf(name, *published[i])));
      }
      return absl::OkStatus();
    }
    TARTAN_ASSIGN_OR_RETURN(const Values exact, exact_session_->RunValues(inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      MeasureOutput(specs()[i].name, outputs[i], exact[i], published[i]);
    }
    return absl::OkStatus();
  }

  const std::vector<api::TensorSpec>& specs() const { return session_->model().outputs(); }

  // One entry per output; some have no file.
  absl::StatusOr<std::vector<Published>> ReadOutputs(const std::vector<std::string>& files) const {
    std::vector<Published> published(specs().size());
    TARTAN_ASSIGN_OR_RETURN(const std::vector<size_t> positions, Assign(files, specs()));
    for (size_t i = 0; i < files.size(); ++i) {
      const size_t position = positions[i];
      TARTAN_ASSIGN_OR_RETURN(published[position],
                              onnx::ReadValueFile(files[i], specs()[position]));
    }
    return published;
  }

  // Measures tensors of numbers, individually within sequences; other values must be equal.
  void MeasureOutput(const std::string& name, const api::HostValue& actual,
                     const api::HostValue& exact, const Published& published) {
    if (actual.is_sequence() && exact.is_sequence() &&
        actual.elements().size() == exact.elements().size()) {
      for (size_t i = 0; i < actual.elements().size(); ++i) {
        MeasureOutput(absl::StrCat(name, "[", i, "]"), actual.elements()[i], exact.elements()[i],
                      std::nullopt);
      }
      return;
    }
    const bool are_alike = IsPlain(actual) && IsPlain(exact) &&
                           actual.tensor().shape().dims == exact.tensor().shape().dims;
    if (!are_alike) return Note(name, Compare(actual, exact, options_.tolerance));
    const Tolerance tolerance = ToleranceOf(name, actual);
    const HostTensor& wanted = exact.tensor();
    OutputAccuracy& row = result_.accuracy.emplace_back();
    row.output = name;
    row.actual = MeasureAccuracy(actual.tensor(), wanted, tolerance);
    if (published.has_value() && IsPlain(*published) &&
        published->tensor().shape() == actual.tensor().shape()) {
      row.published = MeasureAccuracy(published->tensor(), wanted, tolerance);
    }
    Comparison comparison;
    comparison.equal = row.actual.beyond == 0;
    comparison.max_abs_error = row.actual.max_abs_error;
    comparison.message = absl::StrCat("differs from float64: ", ToString(row.actual));
    Note(name, comparison);
  }

  Tolerance ToleranceOf(const std::string& name, const api::HostValue& value) {
    if (!IsPlain(value) || !options_.tolerance_by_type) return options_.tolerance;
    const DataType type = value.tensor().type();
    const Tolerance tolerance = ToleranceFor(type, ScaleOf(value.tensor()), options_.tolerance);
    if (tolerance.relative != options_.tolerance.relative && result_.note.empty()) {
      result_.note = absl::StrFormat("%s is %s: compared with rtol %.2g, atol %.2g", name,
                                     tartan::Name(type), tolerance.relative, tolerance.absolute);
    }
    return tolerance;
  }

  void Note(const std::string& output, const Comparison& comparison) {
    result_.max_abs_error = std::max(result_.max_abs_error, comparison.max_abs_error);
    result_.max_rel_error = std::max(result_.max_rel_error, comparison.max_rel_error);
    if (comparison.equal || result_.status == CaseStatus::kFail) return;
    result_.status = CaseStatus::kFail;
    result_.message = absl::StrCat(output, ": ", comparison.message);
  }

  const fs::path folder_;
  const CaseOptions& options_;
  CaseResult& result_;
  std::unique_ptr<api::Session> session_;
  std::unique_ptr<api::Session> exact_session_;  // null without a float64 reference
};

// The model's outputs as lazy tensors without placeholders.
absl::StatusOr<std::vector<api::Value>> BindByValue(const api::Model& model,
                                                    const NamedValues& values) {
  std::vector<api::InputBinding> bindings;
  for (const api::TensorSpec& spec : model.inputs()) {
    const auto value = values.find(spec.name);
    api::InputBinding& binding = bindings.emplace_back();
    binding.given = value != values.end();
    if (!binding.given) continue;
    binding.shape = value->second.tensor().shape();
    binding.value = &value->second;
  }
  TARTAN_ASSIGN_OR_RETURN(api::BoundGraph bound, model.Bind(bindings));
  return std::move(bound.outputs);
}

// Evaluates with the naive evaluator. Operands are stored, so that each is computed once.
absl::StatusOr<api::HostValue> EvaluateNaively(const api::Value& value) {
  std::vector<api::Tensor> tensors;
  AppendTensors(value, &tensors);
  std::vector<HostTensor> results;
  for (const api::Tensor& tensor : tensors) {
    TARTAN_ASSIGN_OR_RETURN(results.emplace_back(), api::EvaluateOnHost(tensor));
  }
  absl::Span<const HostTensor> rest = results;
  return Replace(value, &rest);
}

}  // namespace

absl::StatusOr<std::string> FindDeparture(const ModelCase& model_case, const CaseOptions& options) {
  const fs::path folder = model_case.folder;
  onnx::LoadOptions load;
  load.all_values = true;
  FixShapes(options.shapes, &load);
  TARTAN_ASSIGN_OR_RETURN(const auto model,
                          onnx::OnnxModel::Load((folder / kModelFile).string(), load));
  TARTAN_ASSIGN_OR_RETURN(const NamedValues inputs, ReadInputs(folder / "test_data_set_0", *model));
  TARTAN_ASSIGN_OR_RETURN(const auto session,
                          api::Session::Create(model, options.device, options.session));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::HostValue> actual, session->RunValues(inputs));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::Value> lazy, BindByValue(*model, inputs));
  // Sorts the values by node order; the model's own outputs come first in `lazy`.
  std::vector<size_t> order;
  for (size_t i = 0; i < lazy.size(); ++i) order.push_back(i);
  std::map<std::string, size_t> node_order;
  for (const std::string& value : model->ValuesInOrder())
    node_order.emplace(value, node_order.size());
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return node_order[model->outputs()[a].name] < node_order[model->outputs()[b].name];
  });
  for (size_t i : order) {
    const std::string& name = model->outputs()[i].name;
    const std::string producer = model->ProducerOf(name);
    const absl::StatusOr<api::HostValue> expected = EvaluateNaively(lazy[i]);
    if (absl::IsResourceExhausted(expected.status())) {
      return absl::StrCat("no node before ", producer,
                          " departs from the naive evaluator, for which its result '", name,
                          "' is too much work");
    }
    TARTAN_RETURN_IF_ERROR(expected.status());
    const Comparison comparison = Compare(actual[i], *expected, options.tolerance);
    if (comparison.equal) continue;
    return absl::StrCat("the first node that departs from the naive evaluator is ", producer, ": '",
                        name, "' ", comparison.message);
  }
  return "no node departs from the naive evaluator where every value is kept";
}

absl::StatusOr<std::vector<ModelCase>> FindCases(const std::string& path) {
  std::vector<ModelCase> cases;
  if (IsFile(fs::path(path) / kModelFile)) {
    fs::path name = fs::path(path).lexically_normal();
    if (name.filename().empty()) name = name.parent_path();
    cases.push_back({name.filename().string(), path});
    return cases;
  }
  std::set<fs::path> visited;
  Collect(path, "", 0, &visited, &cases);
  if (cases.empty()) {
    return absl::NotFoundError(
        absl::StrCat(path, ": neither this folder nor a folder below it has a model.onnx"));
  }
  return cases;
}

absl::string_view Name(CaseStatus status) {
  switch (status) {
    case CaseStatus::kPass:
      return "pass";
    case CaseStatus::kFail:
      return "fail";
    case CaseStatus::kUnsupported:
      return "unsupported";
    case CaseStatus::kError:
      return "error";
  }
  return "";
}

absl::StatusOr<std::map<std::string, api::HostValue>> ReadDataSet(const std::string& folder,
                                                                  const api::Model& model) {
  return ReadInputs(folder, model);
}

CaseResult RunCase(const ModelCase& model_case, const CaseOptions& options) {
  CaseResult result;
  const Stopwatch stopwatch;
  absl::Status status;
  try {
    status = CaseRun(model_case, options, &result).Run();
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("out of memory");
  }
  result.ms = stopwatch.Milliseconds();
  if (status.ok()) return result;
  result.status = status.code() == absl::StatusCode::kUnimplemented ? CaseStatus::kUnsupported
                                                                    : CaseStatus::kError;
  result.message = absl::StrReplaceAll(status.message(), {{model_case.folder + "/", ""}});
  return result;
}

}  // namespace tartan::cli
