// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/feeds.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/data/check_data.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr const char* kTargetNames[] = {"y", "label", "labels", "target", "t"};

int64_t Count(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

class Matcher {
 public:
  Matcher(const onnx::OnnxModel& model, const data::Dataset& dataset,
          const std::map<std::string, std::string>& columns)
      : model_(model), dataset_(dataset), columns_(columns) {}

  absl::Status AddTarget(const Loss& loss, const std::string& wanted) {
    Feed feed;
    feed.column = wanted;
    for (const char* name : kTargetNames) {
      if (feed.column.empty() && dataset_.Find(name).ok()) feed.column = name;
    }
    if (feed.column.empty()) return Which("the target");
    TARTAN_ASSIGN_OR_RETURN(const data::Column column, Find(feed.column));
    // Classes are integers, everything else is floats.
    const bool is_class = TakesClassIndices(loss.kind) && IsInteger(column.example.type);
    feed.type = is_class ? DataType::kInt64 : DataType::kFloat32;
    feed.dims = column.example.dims;
    made_.feeds.push_back(std::move(feed));
    return loss.lengths.empty() ? absl::OkStatus() : AddLengths(loss.lengths);
  }

  // The numbers of frames become the first column of the target.
  absl::Status AddLengths(const std::string& name) {
    TARTAN_ASSIGN_OR_RETURN(const data::Column column, Find(name));
    const Feed& target = made_.feeds[0];
    if (!IsInteger(column.example.type) || Count(column.example.dims) != 1 ||
        target.dims.size() != 1 || target.type != DataType::kInt64) {
      return absl::InvalidArgumentError(absl::StrCat(
          dataset_.name(), ": the lengths '", name, "' are ", column.example.ToString(),
          " per example, and the labels '", target.column, "' have ", target.dims.size(),
          " dimensions; expected one integer, and a row of integers"));
    }
    Feed feed;
    feed.column = name;
    feed.type = DataType::kInt64;
    feed.dims = {1};
    made_.feeds.push_back(std::move(feed));
    return absl::OkStatus();
  }

  absl::Status AddInput(const api::TensorSpec& spec) {
    Feed feed;
    feed.input = spec.name;
    feed.column = ColumnFor(spec);
    if (feed.column.empty()) {
      return spec.is_optional ? absl::OkStatus()
                              : Which(absl::StrCat("the input '", spec.ToString(), "'"));
    }
    TARTAN_ASSIGN_OR_RETURN(const data::Column column, Find(feed.column));
    feed.type = spec.type;
    if (IsFloat(spec.type) && column.example.type == DataType::kUInt8) feed.scale = 1.0 / 255;
    feed.dims = column.example.dims;
    if (spec.has_rank) TARTAN_RETURN_IF_ERROR(Fit(spec, column, &feed));
    made_.feeds.push_back(std::move(feed));
    return absl::OkStatus();
  }

  Feeds Finish() && { return std::move(made_); }

 private:
  std::string ListColumns() const {
    return absl::StrJoin(dataset_.columns(), ", ", [](std::string* out, const data::Column& c) {
      absl::StrAppend(out, c.name, " ", c.example.ToString());
    });
  }

  absl::Status Which(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(dataset_.name(), ": no column is chosen for ",
                                                   what, "; the columns are ", ListColumns()));
  }

  absl::StatusOr<data::Column> Find(const std::string& name) const {
    TARTAN_ASSIGN_OR_RETURN(const int index, dataset_.Find(name));
    return dataset_.columns()[static_cast<size_t>(index)];
  }

  std::string ColumnFor(const api::TensorSpec& spec) const {
    const auto given = columns_.find(spec.name);
    if (given != columns_.end()) return given->second;
    if (dataset_.Find(spec.name).ok()) return spec.name;
    std::vector<std::string> others;
    for (const data::Column& column : dataset_.columns()) {
      const bool is_target = std::any_of(
          made_.feeds.begin(), made_.feeds.end(),
          [&](const Feed& feed) { return feed.input.empty() && feed.column == column.name; });
      if (!is_target) others.push_back(column.name);
    }
    return model_.own_input_count() == 1 && others.size() == 1 ? others[0] : "";
  }

  // Takes the batch size from the input's first dimension, and the example's shape from the others.
  absl::Status Fit(const api::TensorSpec& spec, const data::Column& column, Feed* feed) {
    const auto fail = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat(
          dataset_.name(), ": examples of column '", feed->column, "' are ",
          column.example.ToString(), ", but the model's input is ", spec.ToString(), ": ", why));
    };
    if (spec.dims.empty()) return fail("it has no dimension for the batch");
    if (spec.dims[0] >= 0) {
      if (made_.batch != 0 && made_.batch != spec.dims[0])
        return fail("other inputs have another batch size");
      made_.batch = spec.dims[0];
    }
    const std::vector<int64_t> wanted(spec.dims.begin() + 1, spec.dims.end());
    bool fits = wanted.size() == feed->dims.size();
    for (size_t d = 0; fits && d < wanted.size(); ++d) {
      fits = wanted[d] < 0 || wanted[d] == feed->dims[d];
    }
    if (fits) return absl::OkStatus();
    // Reshapes, for example a picture without a channel dimension.
    const bool is_fixed =
        std::all_of(wanted.begin(), wanted.end(), [](int64_t d) { return d >= 0; });
    if (!is_fixed || Count(wanted) != Count(feed->dims)) return fail("the shapes do not match");
    feed->dims = wanted;
    return absl::OkStatus();
  }

  const onnx::OnnxModel& model_;
  const data::Dataset& dataset_;
  const std::map<std::string, std::string>& columns_;
  Feeds made_;
};

}  // namespace

namespace {

// [N, 1] and [N, S] as [N, 1 + S], all int64.
HostTensor Joined(const HostTensor& lengths, const HostTensor& labels) {
  const int64_t rows = labels.shape().dims[0];
  const int64_t width = labels.shape().dims[1];
  std::vector<int64_t> joined;
  for (int64_t row = 0; row < rows; ++row) {
    joined.push_back(lengths.GetInt(row));
    for (int64_t i = 0; i < width; ++i) joined.push_back(labels.GetInt(row * width + i));
  }
  return HostTensor::FromVector({DataType::kInt64, {rows, 1 + width}}, joined);
}

}  // namespace

std::vector<std::string> Feeds::Columns() const {
  std::vector<std::string> columns;
  for (const Feed& feed : feeds) columns.push_back(feed.column);
  return columns;
}

std::vector<data::BatchColumn> Feeds::BatchColumns() const {
  std::vector<data::BatchColumn> columns;
  for (const Feed& feed : feeds) columns.push_back({feed.column, feed.type, feed.scale});
  return columns;
}

api::NamedTensors Feeds::InputsOf(const data::Batch& batch, HostTensor* target) const {
  api::NamedTensors inputs;
  for (size_t f = 0; f < feeds.size(); ++f) {
    std::vector<int64_t> dims = feeds[f].dims;
    dims.insert(dims.begin(), batch.size);
    HostTensor value = batch.columns[f].Reshaped(std::move(dims));
    if (feeds[f].input.empty()) {
      *target = f == 0 ? std::move(value) : Joined(value, *target);
    } else {
      inputs[feeds[f].input] = std::move(value);
    }
  }
  return inputs;
}

absl::StatusOr<Feeds> MatchColumns(const onnx::OnnxModel& model, const data::Dataset& dataset,
                                   const Loss& loss,
                                   const std::map<std::string, std::string>& columns,
                                   const std::string& target) {
  Matcher matcher(model, dataset, columns);
  if (NeedsTarget(loss)) TARTAN_RETURN_IF_ERROR(matcher.AddTarget(loss, target));
  for (size_t i = 0; i < model.own_input_count(); ++i) {
    TARTAN_RETURN_IF_ERROR(matcher.AddInput(model.inputs()[i]));
  }
  return std::move(matcher).Finish();
}

absl::Status CheckAugmentations(const Feeds& feeds, const Augmentations& augment) {
  if (feeds.feeds.empty() || !feeds.feeds[0].input.empty() || feeds.feeds[0].dims.size() < 2)
    return absl::OkStatus();
  for (const Augmentation& augmentation : augment.list) {
    if (augmentation.kind == AugmentationKind::kNoise) continue;
    return absl::UnimplementedError(absl::StrCat(
        "augmentations that move pixels do not change the target '", feeds.feeds[0].column,
        "', which has a value per pixel; only noise is possible"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> BatchSize(const Feeds& feeds, int64_t wanted, int64_t examples,
                                  int64_t ranks) {
  constexpr int64_t kDefault = 32;
  int64_t batch = feeds.batch * ranks;
  if (batch == 0) batch = wanted > 0 ? wanted : kDefault;
  if (wanted > 0 && batch != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model takes batches of ", batch, ", not of ", wanted));
  }
  const int64_t smallest = std::min(batch, examples);
  if (ranks == 1 || smallest >= ranks) return batch;
  return absl::InvalidArgumentError(
      absl::StrCat("a batch of ", smallest, " examples is too small for ", ranks, " ranks"));
}

namespace {

absl::Status CheckBoth(const data::Dataset& dataset, const FitOptions& options,
                       const data::CheckOptions& check) {
  TARTAN_RETURN_IF_ERROR(data::CheckData(dataset, check));
  return options.validation_data == nullptr ? absl::OkStatus()
                                            : data::CheckData(*options.validation_data, check);
}

}  // namespace

absl::Status CheckRunData(const data::Dataset& dataset, const FitOptions& options,
                          const Feeds& feeds) {
  if (!options.check_data) return absl::OkStatus();
  data::CheckOptions check;
  check.columns = feeds.Columns();
  return CheckBoth(dataset, options, check);
}

absl::Status CheckRunLabels(const data::Dataset& dataset, const FitOptions& options,
                            const Feeds& feeds, const Loss& loss, int64_t classes) {
  if (!options.check_data) return absl::OkStatus();
  data::CheckOptions check;
  check.columns = {feeds.feeds[0].column};
  check.labels = {{feeds.feeds[0].column, classes, loss.ignore_index}};
  return CheckBoth(dataset, options, check);
}

}  // namespace tartan::train
