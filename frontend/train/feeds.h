// SPDX-License-Identifier: Apache-2.0
// Matches the columns of a dataset with the inputs of a model. Internal to this folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/function.h"
#include "frontend/data/batch_loader.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/augment.h"
#include "frontend/train/fit_options.h"
#include "frontend/train/graph/loss.h"

namespace tartan::train {

// A column and the model input, or the target, that receives it.
struct Feed {
  std::string column;
  std::string input;  // empty: the target
  DataType type = DataType::kInvalid;
  double scale = 1;
  std::vector<int64_t> dims;  // shape of one example, as the model expects
};

struct Feeds {
  std::vector<Feed> feeds;  // the target first, if there is one, and its lengths second
  int64_t batch = 0;        // batch size that the model fixes; 0: any

  std::vector<std::string> Columns() const;
  // The columns as a batch loader returns them.
  std::vector<data::BatchColumn> BatchColumns() const;
  // The input values of a batch; `target` receives the target.
  api::NamedTensors InputsOf(const data::Batch& batch, HostTensor* target) const;
};

// `columns` maps inputs to columns with another name. `target` is the target's column; empty: a
// usual name (FitOptions). InvalidArgument, listing the columns, if one is missing or does not fit.
absl::StatusOr<Feeds> MatchColumns(const onnx::OnnxModel& model, const data::Dataset& dataset,
                                   const Loss& loss,
                                   const std::map<std::string, std::string>& columns,
                                   const std::string& target);

// Augmentations change inputs only. Unimplemented if they move pixels and the target has a value
// per pixel.
absl::Status CheckAugmentations(const Feeds& feeds, const Augmentations& augment);

// The batch of all ranks together: `wanted`, or what the model fixes for each rank; 0: 32.
// InvalidArgument if the model fixes another size, or if a rank would have no example.
absl::StatusOr<int64_t> BatchSize(const Feeds& feeds, int64_t wanted, int64_t examples,
                                  int64_t ranks);

// Checks the columns of the training and the validation data for NaN, unless the options say no.
absl::Status CheckRunData(const data::Dataset& dataset, const FitOptions& options,
                          const Feeds& feeds);
// Checks labels once the number of classes is known from binding the model.
absl::Status CheckRunLabels(const data::Dataset& dataset, const FitOptions& options,
                            const Feeds& feeds, const Loss& loss, int64_t classes);

}  // namespace tartan::train
