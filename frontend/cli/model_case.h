// SPDX-License-Identifier: Apache-2.0
// Models with test data in the form ONNX publishes: a folder with model.onnx and folders
// test_data_set_N of input_K.pb and output_K.pb.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/session.h"
#include "frontend/cli/accuracy.h"
#include "frontend/cli/compare.h"

namespace tartan::cli {

struct ModelCase {
  std::string name;  // relative to the path it was found under, with '/'
  std::string folder;
};

// The case at `path`, or those anywhere below it, sorted by name. Folders' links are followed, but
// none twice. NotFound when there are none.
absl::StatusOr<std::vector<ModelCase>> FindCases(const std::string& path);

enum class CaseStatus { kPass, kFail, kUnsupported, kError };
// "pass", "fail", "unsupported", "error".
absl::string_view Name(CaseStatus status);

struct OutputAccuracy {
  std::string output;
  Accuracy actual;
  std::optional<Accuracy> published;  // of the data set's own outputs, where it has them
};

struct CaseResult {
  CaseStatus status = CaseStatus::kPass;
  std::string message;
  std::string note;  // what is worth knowing of a case that passed, too
  double max_abs_error = 0;
  double max_rel_error = 0;
  double ms = 0;
  int64_t cache_hits = 0;
  int64_t cache_misses = 0;
  int64_t exact_programs = 0;  // of all runs
  int64_t ready_programs = 0;
  int64_t host_programs = 0;
  std::vector<OutputAccuracy> accuracy;  // with a reference in float64
};

struct CaseOptions {
  std::shared_ptr<api::Device> device;
  // Where given, outputs are compared with those of a run in float64 (Device::InFloat64) instead of
  // those that the data set has.
  std::shared_ptr<api::Device> exact_device;
  api::SessionOptions session;
  Tolerance tolerance;
  // 16-bit outputs have a tolerance of their own (ToleranceFor), which the message then tells.
  bool tolerance_by_type = true;
};

// The inputs of a data set, a folder of input_K.pb, by name.
absl::StatusOr<std::map<std::string, api::HostValue>> ReadDataSet(const std::string& folder,
                                                                  const api::Model& model);

// Runs the model on each of its data sets. Unsupported: an operator, type or kind of value that
// Tartan does not have; error: all else that kept it from running. Memory that runs out is an error
// of the case.
CaseResult RunCase(const ModelCase& model_case, const CaseOptions& options);

// Which node is the first whose result on the device departs from the naive evaluator's, for the
// first data set: a sentence for people. Every value of the model is computed, so that fewer nodes
// are joined in a kernel than when the model runs.
absl::StatusOr<std::string> FindDeparture(const ModelCase& model_case, const CaseOptions& options);

}  // namespace tartan::cli
