// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/layouts/channels_last.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/graph/layouts/convolution.h"
#include "tile/graph/matmul/flattened_rows.h"
#include "tile/graph/moves/moves_elements.h"
#include "tile/graph/rewriter.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Minimum number of channels; fewer do not fill a vector. Empirical.
constexpr int64_t kMinChannels = 8;

template <class T>
std::vector<T> ChannelsLast(std::vector<T> dims) {
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

// Returns true if dimensions 0 and 1 of the output are also dimensions 0 and 1 of the input.
bool KeepsChannels(const ir::Access& output, const ir::Access& input) {
  return input.indices.size() == output.indices.size() &&
         ShareVariable(output.indices[0], input.indices[0]) &&
         ShareVariable(output.indices[1], input.indices[1]);
}

bool IsConvolution(const ir::Value& value) {
  const std::optional<Convolution> convolution = AsConvolution(value);
  return convolution.has_value() && convolution->channels == 1;
}

// Returns true for a copy of images whose channels are the last dimension of the operand, and
// dimension 1 of the result. Keras' layers store images with channels last.
bool MovesChannelsToFront(const ir::Value& value) {
  const auto* contraction = std::get_if<ir::Contraction>(&value.op);
  if (contraction == nullptr || !MovesElements(*contraction) || value.shape.rank() < 4)
    return false;
  const std::vector<Affine>& read = contraction->inputs[0].indices;
  const std::vector<Affine>& written = contraction->output.indices;
  return read.size() == written.size() && ShareVariable(written[0], read[0]) &&
         ShareVariable(written[1], read.back());
}

// Returns a gather along one dimension with a list of indices; null for other values.
const ir::Special* AsListGather(const ir::Program& program, const ir::Value& value) {
  const auto* special = std::get_if<ir::Special>(&value.op);
  const bool is_list = special != nullptr && special->kind == ir::SpecialKind::kGather &&
                       program.values[special->operands[1]].shape.rank() == 1;
  return is_list ? special : nullptr;
}

class Mover {
 public:
  explicit Mover(const ir::Program& program)
      : program_(program),
        rewriter_(program),
        flattened_(program),
        is_last_(program.values.size(), false),
        original_copy_(program.values.size(), ir::kNoValue) {}

  ir::Program Run() {
    Choose();
    if (std::find(is_last_.begin(), is_last_.end(), true) == is_last_.end()) return program_;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      rewriter_.Replace(Rewritten(static_cast<ValueId>(v)));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  const ir::Value& value(ValueId v) const { return program_.values[v]; }
  const std::vector<int64_t>& dims(ValueId v) const { return value(v).shape.dims; }
  ValueId Number(ValueId v) const { return rewriter_.numbers()[v]; }

  void Choose() {
    const size_t size = program_.values.size();
    std::vector<bool> is_output(size, false);
    for (ValueId output : program_.outputs) is_output[output] = true;
    for (size_t v = 0; v < size; ++v) {
      is_last_[v] = !is_output[v] && HasChannels(program_.values[v].shape) &&
                    (IsConvolution(program_.values[v]) || Follows(program_.values[v]) ||
                     MovesChannelsToFront(program_.values[v]));
    }
    // Marks values with a reader that accepts both orders.
    std::vector<bool> is_wanted(size, false);
    for (size_t v = size; v-- > 0;) {
      if (!is_wanted[v]) is_last_[v] = false;
      const ir::Op& op = program_.values[v].op;
      const bool takes_either = std::holds_alternative<ir::Contraction>(op) || is_last_[v] ||
                                flattened_.IsFlattened(static_cast<ValueId>(v));
      if (!takes_either) continue;
      for (ValueId operand : ir::Operands(op)) is_wanted[operand] = true;
    }
  }

  static bool HasChannels(const TensorShape& shape) {
    return shape.rank() >= 3 && shape.dims[1] >= kMinChannels && shape.dims[0] > 0 &&
           shape.element_count() > shape.dims[0] * shape.dims[1];
  }

  // Returns true if the operation preserves channels and an operand is channels-last.
  bool Follows(const ir::Value& value) const {
    return Match(
        value.op,
        [&](const ir::Elementwise& elementwise) {
          return std::any_of(elementwise.operands.begin(), elementwise.operands.end(),
                             [&](ValueId v) { return is_last_[v] && dims(v) == value.shape.dims; });
        },
        [&](const ir::Contraction& contraction) {
          return std::any_of(
              contraction.inputs.begin(), contraction.inputs.end(), [&](const ir::Access& input) {
                return is_last_[input.tensor] && KeepsChannels(contraction.output, input);
              });
        },
        [&](const ir::Special& special) {
          return AsListGather(program_, value) != nullptr && is_last_[special.operands[0]];
        },
        [](const auto&) { return false; });
  }

  ir::Value Rewritten(ValueId v) {
    ir::Value rewritten = value(v);
    if (is_last_[v]) rewritten.shape.dims = ChannelsLast(std::move(rewritten.shape.dims));
    Match(
        rewritten.op,
        [&](ir::Elementwise& elementwise) {
          const size_t rank = dims(v).size();
          for (ValueId& operand : elementwise.operands) {
            operand = is_last_[v] ? Last(operand, rank) : Original(operand);
          }
        },
        [&](ir::Contraction& contraction) {
          const std::optional<ReadMatrix> matrix = MatrixOfLast(contraction);
          for (ir::Access& input : contraction.inputs) {
            if (is_last_[input.tensor]) input.indices = ChannelsLast(std::move(input.indices));
            input.tensor = Number(input.tensor);
          }
          if (matrix.has_value()) contraction.inputs[matrix->input].tensor = matrix->tensor;
          ValueId& fallback = contraction.default_value;
          if (is_last_[v]) {
            contraction.output.indices = ChannelsLast(std::move(contraction.output.indices));
            if (fallback != ir::kNoValue) fallback = Last(fallback, dims(v).size());
          } else if (fallback != ir::kNoValue) {
            fallback = Original(fallback);
          }
        },
        [&](ir::Special& special) {
          if (!is_last_[v]) {
            const bool takes_either = flattened_.IsFlattened(v);
            for (ValueId& operand : special.operands) {
              operand = takes_either ? Number(operand) : Original(operand);
            }
            return;
          }
          const auto rank = static_cast<int64_t>(dims(v).size());
          int64_t& axis = special.params[0];
          axis = axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
          special.operands = {Last(special.operands[0], dims(v).size()),
                              Original(special.operands[1])};
        },
        [](auto&) {});
    return rewritten;
  }

  struct ReadMatrix {
    int input = 0;  // of a contraction
    ValueId tensor = ir::kNoValue;
  };

  // If the contraction multiplies rows that were flattened from channels-last images, returns its
  // matrix in the same element order.
  std::optional<ReadMatrix> MatrixOfLast(const ir::Contraction& contraction) {
    const std::optional<FlattenedMatmul> product = flattened_.AsMatmul(contraction);
    if (!product.has_value()) return std::nullopt;
    const ValueId rows = contraction.inputs[product->rows].tensor;
    const ValueId image = std::get<ir::Special>(value(rows).op).operands[0];
    if (!is_last_[image]) return std::nullopt;
    const int input = 1 - product->rows;
    const ValueId matrix = contraction.inputs[input].tensor;
    return ReadMatrix{input, InOrderOf(image, matrix, product->summed_dim)};
  }

  // Reorders dimension `dim` of the matrix to match an image with channels last.
  ValueId InOrderOf(ValueId image, ValueId matrix, int dim) {
    const std::string name = absl::StrCat(value(matrix).name, "_channels_last");
    const DataType type = value(matrix).shape.type;
    std::vector<int64_t> split = dims(matrix);
    split.erase(split.begin() + dim);
    split.insert(split.begin() + dim, dims(image).begin() + 1, dims(image).end());
    const auto end = static_cast<int64_t>(dims(image).size()) - 1;
    const ValueId of_elements = rewriter_.Append(
        {name, {type, split}, ir::Special{ir::SpecialKind::kReshape, {Number(matrix)}, {}}});
    ir::Contraction copy = IdentityCopy(of_elements, split.size());
    std::vector<Affine>& places = copy.output.indices;
    std::rotate(places.begin() + dim, places.begin() + dim + 1, places.begin() + dim + end);
    std::rotate(split.begin() + dim, split.begin() + dim + 1, split.begin() + dim + end);
    const ValueId moved = rewriter_.Append({name, {type, split}, std::move(copy)});
    return rewriter_.Append(
        {name, value(matrix).shape, ir::Special{ir::SpecialKind::kReshape, {moved}, {}}});
  }

  // Returns the value in the program's original order, copied if necessary.
  ValueId Original(ValueId v) {
    if (!is_last_[v]) return Number(v);
    if (original_copy_[v] != ir::kNoValue) return original_copy_[v];
    ir::Contraction copy = IdentityCopy(Number(v), dims(v).size());
    copy.inputs[0].indices = ChannelsLast(copy.output.indices);
    original_copy_[v] = rewriter_.Append(
        {absl::StrCat(value(v).name, "_channels_first"), value(v).shape, std::move(copy)});
    return original_copy_[v];
  }

  // Returns `v` in the form that broadcasts to a channels-last value of `rank` dimensions.
  ValueId Last(ValueId v, size_t rank) {
    if (is_last_[v] && dims(v).size() == rank) return Number(v);
    if (value(v).shape.element_count() == 1) return Original(v);
    const size_t missing = rank - dims(v).size();
    ir::Contraction copy = IdentityCopy(Original(v), rank);
    TensorShape shape = value(v).shape;
    shape.dims.insert(shape.dims.begin(), missing, 1);
    std::vector<Affine>& read = copy.inputs[0].indices;
    read.erase(read.begin(), read.begin() + static_cast<int64_t>(missing));
    copy.output.indices = ChannelsLast(std::move(copy.output.indices));
    shape.dims = ChannelsLast(std::move(shape.dims));
    return rewriter_.Append(
        {absl::StrCat(value(v).name, "_channels_last"), shape, std::move(copy)});
  }

  const ir::Program& program_;
  Rewriter rewriter_;
  const FlattenedRows flattened_;
  std::vector<bool> is_last_;
  std::vector<ValueId> original_copy_;  // copies in channels-first order, created on demand
};

}  // namespace

ir::Program MoveChannelsLast(const ir::Program& program) { return Mover(program).Run(); }

}  // namespace tartan::graph
