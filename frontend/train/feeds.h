// SPDX-License-Identifier: Apache-2.0
// Which columns of a dataset a model is fed with. Internal to this folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/function.h"
#include "frontend/data/batch_loader.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/loss.h"

namespace tartan::train {

// An input of the model, or the target, and the column that it takes.
struct Feed {
  std::string column;
  std::string input;  // empty: the target
  DataType type = DataType::kInvalid;
  double scale = 1;
  std::vector<int64_t> dims;  // of one example, as the model wants it
};

struct Feeds {
  std::vector<Feed> feeds;  // the target first, where there is one
  int64_t batch = 0;        // that the model fixes; 0: any

  std::vector<std::string> Columns() const;
  // As a batch gives them.
  std::vector<data::BatchColumn> BatchColumns() const;
  // The values of a batch by input; the target is the other.
  api::NamedTensors InputsOf(const data::Batch& batch, HostTensor* target) const;
};

// `columns`: by input, those of other names; `target`: its column, empty for the usual names
// (FitOptions). InvalidArgument, listing the columns, where one is not found or does not fit.
absl::StatusOr<Feeds> MatchColumns(const onnx::OnnxModel& model, const data::Dataset& dataset,
                                   const Loss& loss,
                                   const std::map<std::string, std::string>& columns,
                                   const std::string& target);

}  // namespace tartan::train
