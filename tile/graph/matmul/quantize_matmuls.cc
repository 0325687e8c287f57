// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/quantize_matmuls.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/graph/matmul/is_matmul.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

constexpr int64_t kMaxInteger = 127;  // maximum magnitude of the integers
// Minimum K: below it, finding the maximum of a row takes longer than quantization saves.
// Empirical.
constexpr int64_t kMinTerms = 16;
// Maximum K whose sum cannot overflow int32.
constexpr int64_t kMaxTerms = std::numeric_limits<int32_t>::max() / (kMaxInteger * kMaxInteger);
// Minimum range of a row, so that 127 divided by it is finite.
constexpr double kMinRange = 0x1p-100;

// Returns true for types whose matmuls are computed in float32.
bool IsFactorType(DataType type) { return IsFloat(type) && type != DataType::kFloat64; }

// Requires that each output coordinate is a distinct index.
bool HasPlainOutput(const ir::Contraction& contraction) {
  std::set<int> indices;
  return std::all_of(contraction.output.indices.begin(), contraction.output.indices.end(),
                     [&](const Affine& coordinate) {
                       const int index = coordinate.single_variable();
                       return index >= 0 && coordinate == Affine::Variable(index) &&
                              indices.insert(index).second;
                     });
}

// Substitutes indices with a single value; the others stay variables.
std::vector<Affine> WithoutSingleValues(const poly::IndexSpace& space) {
  std::vector<Affine> indices;
  for (size_t i = 0; i < space.original.size(); ++i) {
    const bool is_single = space.original[i].is_constant();
    indices.push_back(is_single ? space.original[i] : Affine::Variable(static_cast<int>(i)));
  }
  return indices;
}

// Returns, per coordinate of a factor, whether it depends only on output indices.
std::vector<bool> OwnDims(const ir::Contraction& contraction, const ir::Access& factor) {
  const std::set<int> outputs = IndicesOf(contraction.output);
  std::vector<bool> is_own;
  for (const Affine& coordinate : factor.indices) {
    const std::set<int> indices = IndicesOf({factor.tensor, {coordinate}});
    const bool depends =
        std::includes(outputs.begin(), outputs.end(), indices.begin(), indices.end());
    is_own.push_back(depends && coordinate.is_integer());
  }
  return is_own;
}

// An integer tensor and its scale. The scale has size 1 along dimensions that are not the factor's
// own.
struct Integers {
  ValueId integers = ir::kNoValue;  // int8
  ValueId scale = ir::kNoValue;
};

class Quantizer {
 public:
  Quantizer(const ir::Program& program, const poly::ProgramSpaces& spaces,
            const std::vector<bool>& is_constant, const std::set<ValueId>& products)
      : program_(program),
        spaces_(spaces),
        is_constant_(is_constant),
        products_(products),
        rewriter_(program) {}

  QuantizedProgram Run() {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      ir::Value value = program_.values[v];
      ir::RenumberOperands(value.op, rewriter_.numbers());
      if (products_.count(static_cast<ValueId>(v)) > 0) {
        value = Quantize(static_cast<ValueId>(v), std::move(value));
      }
      rewriter_.Replace(std::move(value));
    }
    QuantizedProgram quantized;
    quantized.numbers = rewriter_.numbers();
    quantized.inlined = std::move(inlined_);
    quantized.program = std::move(rewriter_).Finish();
    return quantized;
  }

 private:
  using Dims = std::vector<int64_t>;

  const std::string& NameOf(ValueId v) const { return rewriter_.value(v).name; }
  const Dims& DimsOf(ValueId v) const { return rewriter_.value(v).shape.dims; }

  ValueId Number(double value) {
    return rewriter_.Append({"", {DataType::kFloat32, {}}, ir::Constant{value, /*weak=*/false}});
  }

  ValueId Apply(ScalarOp op, std::vector<ValueId> operands, std::string name, DataType type,
                Dims dims) {
    return rewriter_.Append(
        {std::move(name), {type, std::move(dims)}, ir::Elementwise{op, std::move(operands)}});
  }

  // Returns the replacement of a matmul of the original program. The operands in `value` are
  // numbered for the new program.
  ir::Value Quantize(ValueId original, ir::Value value) {
    auto& sum = std::get<ir::Contraction>(value.op);
    // Weights must be the second factor: packing adds up one factor (packed_matmul.h), and the
    // sums of constant weights are known at load.
    const ValueId first = ir::Operands(program_.values[original].op).front();
    if (is_constant_[first]) std::swap(sum.inputs[0], sum.inputs[1]);
    std::vector<ValueId> scales;
    for (ir::Access& factor : sum.inputs) {
      ir::Access places = factor;
      for (Affine& coordinate : places.indices) {
        coordinate = coordinate.Substitute(WithoutSingleValues(*spaces_[original]));
      }
      const std::vector<bool> is_own = OwnDims(sum, places);
      const Integers integers = IntegersOf(factor.tensor, is_own);
      for (size_t d = 0; d < is_own.size(); ++d) {
        if (!is_own[d]) places.indices[d] = Affine::Constant(0);
      }
      places.tensor = integers.scale;
      scales.push_back(AtResults(std::move(places), sum, value.shape.dims));
      factor.tensor = Apply(ScalarOp::kCast, {integers.integers},
                            absl::StrCat(NameOf(integers.integers), "_wide"), DataType::kInt32,
                            DimsOf(integers.integers));
    }
    const auto per_result = [&](ScalarOp op, std::vector<ValueId> operands, const char* what) {
      return Apply(op, std::move(operands), absl::StrCat(value.name, what), DataType::kFloat32,
                   value.shape.dims);
    };
    const ValueId integer = rewriter_.Append(
        {absl::StrCat(value.name, "_sum"), {DataType::kInt32, value.shape.dims}, std::move(sum)});
    const ValueId real = per_result(ScalarOp::kCast, {integer}, "_real");
    // The weights' scale comes first, because it is rarely extreme enough to leave the range of
    // float32.
    const ValueId weighted = per_result(ScalarOp::kMul, {real, scales[1]}, "_weighted");
    value.op = ir::Elementwise{ScalarOp::kMul, {weighted, scales[0]}};
    return value;
  }

  // Returns the quantized tensor, shared by all matmuls that read it with the same own dimensions.
  Integers IntegersOf(ValueId tensor, const std::vector<bool>& is_own) {
    const auto made = integers_.find({tensor, is_own});
    if (made != integers_.end()) return made->second;
    const std::string name = NameOf(tensor);
    const Dims dims = DimsOf(tensor);
    const ValueId max_magnitude = MaxMagnitude(tensor, is_own);
    const Dims rows = DimsOf(max_magnitude);
    const auto per_row = [&](ScalarOp op, std::vector<ValueId> operands, const char* what) {
      return Apply(op, std::move(operands), absl::StrCat(name, what), DataType::kFloat32, rows);
    };
    // If the maximum is infinite, `steps` is 0 and all integers are 0. Zero times the infinite
    // scale is NaN.
    const ValueId range = per_row(ScalarOp::kMax, {max_magnitude, Number(kMinRange)}, "_range");
    const ValueId steps = per_row(ScalarOp::kDiv, {Number(kMaxInteger), range}, "_steps");
    const ValueId scaled = Apply(ScalarOp::kMul, {tensor, steps}, absl::StrCat(name, "_scaled"),
                                 DataType::kFloat32, dims);
    const ValueId rounded =
        Apply(ScalarOp::kRound, {scaled}, absl::StrCat(name, "_rounded"), DataType::kFloat32, dims);
    const ValueId integers =
        Apply(ScalarOp::kCast, {rounded}, absl::StrCat(name, "_integers"), DataType::kInt8, dims);
    const ValueId scale = per_row(ScalarOp::kMul, {range, Number(1.0 / kMaxInteger)}, "_scale");
    return integers_[{tensor, is_own}] = {integers, scale};
  }

  // Maximum magnitude along the dimensions that are not `is_own`, which get size 1.
  ValueId MaxMagnitude(ValueId tensor, const std::vector<bool>& is_own) {
    const std::string name = NameOf(tensor);
    Dims dims = DimsOf(tensor);
    const ValueId size =
        Apply(ScalarOp::kAbs, {tensor}, absl::StrCat(name, "_size"), DataType::kFloat32, dims);
    inlined_.push_back(size);
    ir::Contraction max_magnitude = IdentityCopy(size, dims.size());
    max_magnitude.aggregation = Aggregation::kMax;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (is_own[d]) continue;
      max_magnitude.output.indices[d] = Affine::Constant(0);
      dims[d] = 1;
    }
    return rewriter_.Append({absl::StrCat(name, "_greatest"),
                             {DataType::kFloat32, std::move(dims)},
                             std::move(max_magnitude)});
  }

  // Spreads the values of `read` over the results of `product`; size 1 along dimensions that they
  // do not depend on.
  ValueId AtResults(ir::Access read, const ir::Contraction& product, const Dims& results) {
    const std::set<int> used = IndicesOf(read);
    const std::string name = absl::StrCat(NameOf(read.tensor), "_spread");
    ir::Contraction spread;
    spread.aggregation = Aggregation::kAssign;
    Dims dims;
    std::vector<Affine> place(product.index_names.size());
    for (size_t d = 0; d < results.size(); ++d) {
      const int index = product.output.indices[d].single_variable();
      const bool is_used = used.count(index) > 0;
      if (is_used) {
        place[index] = Affine::Variable(static_cast<int>(spread.index_names.size()));
        spread.index_names.push_back(product.index_names[index]);
      }
      spread.output.indices.push_back(is_used ? place[index] : Affine::Constant(0));
      dims.push_back(is_used ? results[d] : 1);
    }
    for (Affine& coordinate : read.indices) coordinate = coordinate.Substitute(place);
    spread.inputs = {std::move(read)};
    return rewriter_.Append({name, {DataType::kFloat32, std::move(dims)}, std::move(spread)});
  }

  const ir::Program& program_;
  const poly::ProgramSpaces& spaces_;
  const std::vector<bool>& is_constant_;
  const std::set<ValueId>& products_;
  Rewriter rewriter_;
  std::map<std::pair<ValueId, std::vector<bool>>, Integers> integers_;  // values of the new program
  std::vector<ValueId> inlined_;
};

}  // namespace

bool IsQuantizable(const ir::Program& program, const poly::ProgramSpaces& spaces,
                   const std::vector<bool>& is_constant, ValueId value) {
  const ir::Value& sum = program.values[value];
  const auto* contraction = std::get_if<ir::Contraction>(&sum.op);
  if (contraction == nullptr || sum.shape.type != DataType::kFloat32 || !IsMatmul(*contraction) ||
      !HasPlainOutput(*contraction)) {
    return false;
  }
  int constants = 0;
  for (const ir::Access& factor : contraction->inputs) {
    constants += is_constant[factor.tensor] ? 1 : 0;
    if (!IsFactorType(program.values[factor.tensor].shape.type)) return false;
  }
  double terms = 1;
  const std::vector<poly::Index>& indices = spaces[value]->indices;
  for (size_t i = spaces[value]->output_index_count; i < indices.size(); ++i) {
    terms *= static_cast<double>(indices[i].range);
  }
  return constants == 1 && terms >= kMinTerms && terms <= kMaxTerms;
}

QuantizedProgram QuantizeMatmuls(const ir::Program& program, const poly::ProgramSpaces& spaces,
                                 const std::vector<bool>& is_constant,
                                 const std::set<ValueId>& products) {
  return Quantizer(program, spaces, is_constant, products).Run();
}

}  // namespace tartan::graph
