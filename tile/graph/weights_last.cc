#include "tile/graph/weights_last.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/graph/convolution.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// The dimensions of the weights, output channels last and input channels before them.
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
  explicit WeightMover(const ir::Program& program) : program_(program) {}

  MovedWeights Run() {
    for (const ir::Value& original : program_.values) {
      is_constant_.push_back(IsConstant(original.op));
      ir::Value value = original;
      ir::RenumberOperands(value.op, numbers_);
      if (const auto convolution = AsConvolution(original)) Move(*convolution, &value);
      numbers_.push_back(Append(std::move(value)));
    }
    result_.program.name = program_.name;
    result_.program.output_names = program_.output_names;
    for (ValueId input : program_.inputs) result_.program.inputs.push_back(numbers_[input]);
    for (ValueId output : program_.outputs) result_.program.outputs.push_back(numbers_[output]);
    return std::move(result_);
  }

 private:
  bool IsConstant(const ir::Op& op) const {
    if (const auto* input = std::get_if<ir::Input>(&op)) return input->is_constant;
    const std::vector<ValueId> operands = ir::Operands(op);
    return std::all_of(operands.begin(), operands.end(),
                       [&](ValueId v) { return is_constant_[v]; });
  }

  ValueId Append(ir::Value value) {
    result_.program.values.push_back(std::move(value));
    return static_cast<ValueId>(result_.program.values.size()) - 1;
  }

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

  // The copy of a value with its dimensions in another order, made once.
  ValueId Copy(ValueId original, const std::vector<int>& order) {
    const auto [it, is_new] = copies_.try_emplace({original, order}, ir::kNoValue);
    if (!is_new) return it->second;
    const ir::Value& value = program_.values[original];
    ir::Contraction copy;
    copy.aggregation = Aggregation::kAssign;
    ir::Access input;
    input.tensor = numbers_[original];
    for (size_t d = 0; d < order.size(); ++d) {
      copy.index_names.push_back(absl::StrCat("i", d));
      input.indices.push_back(Affine::Variable(static_cast<int>(d)));
    }
    copy.output.indices = Reordered(input.indices, order);
    copy.inputs.push_back(std::move(input));
    it->second = Append({absl::StrCat(value.name, "_output_channels_last"),
                         {value.shape.type, Reordered(value.shape.dims, order)},
                         std::move(copy)});
    result_.copies.push_back(it->second);
    return it->second;
  }

  const ir::Program& program_;
  std::vector<bool> is_constant_;
  std::vector<ValueId> numbers_;  // of the original values in the result
  std::map<std::pair<ValueId, std::vector<int>>, ValueId> copies_;
  MovedWeights result_;
};

}  // namespace

MovedWeights MoveOutputChannelsLast(const ir::Program& program) {
  return WeightMover(program).Run();
}

}  // namespace tartan::graph
