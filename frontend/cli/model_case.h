// SPDX-License-Identifier: Apache-2.0
// Runs models with test data in ONNX's published layout: a folder with model.onnx and folders
// test_data_set_N with input_K.pb and output_K.pb.
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
  std::string name;  // relative to the search path, with '/'
  std::string folder;
};

// Finds the case at `path`, or all cases below it, sorted by name. Links to folders are followed,
// each target once. NotFound if there are none.
absl::StatusOr<std::vector<ModelCase>> FindCases(const std::string& path);

enum class CaseStatus { kPass, kFail, kUnsupported, kError };
// "pass", "fail", "unsupported", "error".
absl::string_view Name(CaseStatus status);

struct OutputAccuracy {
  std::string output;
  Accuracy actual;
  std::optional<Accuracy> published;  // accuracy of the data set's own outputs, if it has them
};

struct CaseResult {
  CaseStatus status = CaseStatus::kPass;
  std::string message;
  std::string note;  // information also about a case that passed
  double max_abs_error = 0;
  double max_rel_error = 0;
  double ms = 0;
  int64_t cache_hits = 0;
  int64_t cache_misses = 0;
  int64_t exact_programs = 0;  // counts of programs over all runs
  int64_t ready_programs = 0;
  int64_t host_programs = 0;
  std::vector<OutputAccuracy> accuracy;  // set if there is a float64 reference
};

struct CaseOptions {
  std::shared_ptr<api::Device> device;
  // If set, outputs are compared with a float64 run on this device (Device::InFloat64) instead of
  // the data set's outputs.
  std::shared_ptr<api::Device> exact_device;
  api::SessionOptions session;
  std::vector<std::string> shapes;  // sizes that the data sets must have (InputOptions::shapes)
  Tolerance tolerance;
  // If set, 16-bit outputs use their own tolerance (ToleranceFor), and the message reports it.
  bool tolerance_by_type = true;
};

// Reads the inputs of a data set (a folder of input_K.pb) by name.
absl::StatusOr<std::map<std::string, api::HostValue>> ReadDataSet(const std::string& folder,
                                                                  const api::Model& model);

// Runs the model on each of its data sets. kUnsupported: an operator, type or kind of value that
// Tartan does not support. kError: any other failure to run, including exhausted memory.
CaseResult RunCase(const ModelCase& model_case, const CaseOptions& options);

// Finds the first node whose result on the device differs from the naive evaluator's, for the first
// data set; returns a sentence for people. Every value of the model is an output, so fewer nodes
// are fused than in an ordinary run.
absl::StatusOr<std::string> FindDeparture(const ModelCase& model_case, const CaseOptions& options);

}  // namespace tartan::cli
