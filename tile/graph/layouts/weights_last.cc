// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/layouts/weights_last.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/graph/constants.h"
#include "tile/graph/layouts/convolution.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Returns the order of the weights' dimensions: window, input channels, output channels.
std::vector<int> OrderOf(const Convolution& convolution) {
  const ir::Contraction& contraction = *convolution.contraction;
  const ir::Access& data = contraction.inputs[convolution.data];
  const ir::Access& weights = contraction.inputs[convolution.weights];
  const int channels = convolution.channels;
  const auto place = [&](int d) {
    const Affine& index = weights.indices[d];
    if (ShareVariable(index, contraction.output.indices[channels])) return 2;
    return ShareVariable(index, data.indices[channels]) ? 1 : 0;
  };
  std::vector<int> order(weights.indices.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return place(a) < place(b); });
  return order;
}

template <class T>
std::vector<T> Reordered(const std::vector<T>& values, const std::vector<int>& order) {
  std::vector<T> result;
  for (int from : order) result.push_back(values[from]);
  return result;
}

class WeightMover {
 public:
  explicit WeightMover(const ir::Program& program)
      : program_(program), is_constant_(FindConstants(program)), rewriter_(program) {}

  MovedWeights Run() {
    for (const ir::Value& original : program_.values) {
      ir::Value value = original;
      ir::RenumberOperands(value.op, rewriter_.numbers());
      if (const auto convolution = AsConvolution(original)) Move(*convolution, &value);
      rewriter_.Replace(std::move(value));
    }
    return {std::move(rewriter_).Finish(), std::move(held_)};
  }

 private:
  void Move(const Convolution& convolution, ir::Value* value) {
    const ValueId weights = convolution.contraction->inputs[convolution.weights].tensor;
    const ValueId data = convolution.contraction->inputs[convolution.data].tensor;
    const std::vector<int> order = OrderOf(convolution);
    if (!is_constant_[weights] || is_constant_[data] ||
        std::is_sorted(order.begin(), order.end())) {
      return;
    }
    ir::Access& access = std::get<ir::Contraction>(value->op).inputs[convolution.weights];
    access.tensor = Copy(weights, order);
    access.indices = Reordered(access.indices, order);
  }

  // Returns a copy of a value with permuted dimensions; each copy is created once.
  ValueId Copy(ValueId original, const std::vector<int>& order) {
    const auto [it, is_new] = copies_.try_emplace({original, order}, ir::kNoValue);
    if (!is_new) return it->second;
    const ir::Value& value = program_.values[original];
    ir::Contraction copy = IdentityCopy(rewriter_.numbers()[original], order.size());
    copy.output.indices = Reordered(copy.output.indices, order);
    it->second = rewriter_.Append({absl::StrCat(value.name, "_output_channels_last"),
                                   {value.shape.type, Reordered(value.shape.dims, order)},
                                   std::move(copy)});
    held_.push_back(it->second);
    return it->second;
  }

  const ir::Program& program_;
  const std::vector<bool> is_constant_;
  Rewriter rewriter_;
  std::map<std::pair<ValueId, std::vector<int>>, ValueId> copies_;
  std::vector<ValueId> held_;  // the copies, in order of creation
};

}  // namespace

MovedWeights MoveOutputChannelsLast(const ir::Program& program) {
  return WeightMover(program).Run();
}

}  // namespace tartan::graph
