// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/naive_contraction.h"

#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/scalar_value.h"
#include "tile/base/status_macros.h"
#include "tile/ir/index_scan.h"
#include "tile/ir/type_rules.h"

namespace tartan::ir {
namespace {

// Addition modulo 2^64. Partial sums of an offset may overflow although the offset does not;
// offsets outside the tensor are discarded.
int64_t WrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t WrappingProduct(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Flat offset of an access as a function of the index variables.
class AccessOffset {
 public:
  AccessOffset(const Access& access, absl::Span<const int64_t> dims, size_t variables)
      : steps_(variables) {
    const std::vector<int64_t> strides = RowMajorStrides(dims);
    for (size_t d = 0; d < dims.size(); ++d) {
      const math::Affine& poly = access.indices[d];
      if (!poly.is_integer()) {
        fractions_.push_back({poly, strides[d]});
        continue;
      }
      constant_ = WrappingSum(constant_, WrappingProduct(poly.constant.numerator(), strides[d]));
      for (size_t i = 0; i < poly.coefficients.size() && i < variables; ++i) {
        steps_[i] =
            WrappingSum(steps_[i], WrappingProduct(poly.coefficients[i].numerator(), strides[d]));
      }
    }
  }

  bool is_linear() const { return fractions_.empty(); }
  // The change of the offset per step of the last variable; requires is_linear().
  int64_t last_step() const { return steps_.back(); }
  // The offset at an index point; -1 if an index is not an integer.
  int64_t At(absl::Span<const int64_t> point) const {
    int64_t offset = constant_;
    for (size_t i = 0; i < steps_.size(); ++i) {
      offset = WrappingSum(offset, WrappingProduct(steps_[i], point[i]));
    }
    for (const Fraction& fraction : fractions_) {
      const math::Rational index = fraction.poly.Evaluate(point);
      if (!index.is_integer()) return -1;
      offset = WrappingSum(offset, WrappingProduct(index.numerator(), fraction.stride));
    }
    return offset;
  }

 private:
  struct Fraction {
    math::Affine poly;
    int64_t stride;
  };
  std::vector<int64_t> steps_;
  int64_t constant_ = 0;
  std::vector<Fraction> fractions_;
};

// Offsets of the output and of up to three inputs.
using ReadOffsets = std::array<int64_t, 4>;

double Aggregate(Aggregation aggregation, double a, double b, DataType) {
  switch (aggregation) {
    case Aggregation::kSum:
      return a + b;
    case Aggregation::kProduct:
      return a * b;
    case Aggregation::kMax:
      return ApplyReal(ScalarOp::kMax, a, b);
    default:
      return ApplyReal(ScalarOp::kMin, a, b);
  }
}

int64_t Aggregate(Aggregation aggregation, int64_t a, int64_t b, DataType type) {
  switch (aggregation) {
    case Aggregation::kSum:
      return ApplyInteger(ScalarOp::kAdd, a, b, type);
    case Aggregation::kProduct:
      return ApplyInteger(ScalarOp::kMul, a, b, type);
    case Aggregation::kMax:
      return ApplyInteger(ScalarOp::kMax, a, b, type);
    default:
      return ApplyInteger(ScalarOp::kMin, a, b, type);
  }
}

// kAdd or kMul.
double Arithmetic(ScalarOp op, double a, double b, DataType) {
  return op == ScalarOp::kAdd ? a + b : a * b;
}
int64_t Arithmetic(ScalarOp op, int64_t a, int64_t b, DataType type) {
  return ApplyInteger(op, a, b, type);
}

class Evaluation {
 public:
  Evaluation(const Contraction& contraction, const TensorShape& shape, int64_t* points)
      : contraction_(contraction),
        shape_(shape),
        points_(*points),
        names_(contraction.index_names),
        hits_(shape.element_count()) {
    // IndexScan requires a variable.
    if (names_.empty()) {
      names_.push_back("i");
      constraints_.push_back({math::Affine::Variable(0), 1});
    }
  }

  void AddAccess(const Access& access, absl::Span<const int64_t> dims) {
    accesses_.emplace_back(access, dims, names_.size());
    for (size_t d = 0; d < dims.size(); ++d) {
      constraints_.push_back({access.indices[d], dims[d]});
    }
  }

  // Aggregates `body(offsets)` over all valid points into `result`.
  template <class T, class Body>
  absl::Status Run(std::vector<T>& result, const Body& body) {
    constraints_.insert(constraints_.end(), contraction_.constraints.begin(),
                        contraction_.constraints.end());
    TARTAN_ASSIGN_OR_RETURN(const IndexScan scan, IndexScan::Create(constraints_, names_));
    bool is_linear = true;
    for (const AccessOffset& access : accesses_) is_linear = is_linear && access.is_linear();
    const int64_t max_points = points_;
    return scan.ForEachRun(max_points, [&](absl::Span<int64_t> point, int64_t begin, int64_t end) {
      points_ -= end - begin;
      return is_linear ? AddRun(result, body, point, begin, end)
                       : AddPoints(result, body, point, begin, end);
    });
  }

  const std::vector<uint8_t>& hits() const { return hits_; }

 private:
  template <class T, class Body>
  absl::Status AddRun(std::vector<T>& result, const Body& body, absl::Span<int64_t> point,
                      int64_t begin, int64_t end) {
    point.back() = begin;
    ReadOffsets offsets{};
    ReadOffsets steps{};
    for (size_t a = 0; a < accesses_.size(); ++a) {
      offsets[a] = accesses_[a].At(point);
      steps[a] = accesses_[a].last_step();
    }
    for (int64_t x = begin; x < end; ++x) {
      if (!Add(result, offsets[0], body(offsets))) return AssignedTwice(offsets[0]);
      for (size_t a = 0; a < offsets.size(); ++a) offsets[a] = WrappingSum(offsets[a], steps[a]);
    }
    return absl::OkStatus();
  }

  template <class T, class Body>
  absl::Status AddPoints(std::vector<T>& result, const Body& body, absl::Span<int64_t> point,
                         int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      point.back() = x;
      ReadOffsets offsets{};
      bool is_valid = true;
      for (size_t a = 0; a < accesses_.size() && is_valid; ++a) {
        offsets[a] = accesses_[a].At(point);
        is_valid = offsets[a] >= 0;
      }
      if (is_valid && !Add(result, offsets[0], body(offsets))) return AssignedTwice(offsets[0]);
    }
    return absl::OkStatus();
  }

  // False if kAssign assigns a second value to the element.
  template <class T>
  bool Add(std::vector<T>& result, int64_t at, T value) {
    if (hits_[at] == 0) {
      hits_[at] = 1;
      result[at] = value;
      return true;
    }
    if (contraction_.aggregation == Aggregation::kAssign) return false;
    result[at] = Aggregate(contraction_.aggregation, result[at], value, shape_.type);
    return true;
  }

  absl::Status AssignedTwice(int64_t at) const {
    return absl::InvalidArgumentError(absl::StrCat("element ", at, " (row-major) of a result ",
                                                   shape_.ToString(),
                                                   " is assigned more than once"));
  }

  const Contraction& contraction_;
  const TensorShape& shape_;
  int64_t& points_;  // points that may still be visited
  std::vector<std::string> names_;
  std::vector<AccessOffset> accesses_;  // the output's first
  std::vector<math::RangeConstraint> constraints_;
  std::vector<uint8_t> hits_;  // per element of the result: whether it has a value
};

template <class T>
const std::vector<T>& Elements(const NaiveTensor& tensor) {
  if constexpr (std::is_same_v<T, double>) {
    return tensor.reals;
  } else {
    return tensor.integers;
  }
}

// Evaluates a contraction whose result has type T.
template <class T>
absl::Status Combine(const Contraction& contraction, DataType type,
                     absl::Span<const NaiveTensor* const> inputs, Evaluation& evaluation,
                     std::vector<T>& result) {
  const auto equal = [&](const ReadOffsets& at) {
    const NaiveTensor& a = *inputs[0];
    const NaiveTensor& b = *inputs[1];
    return a.is_real() ? a.reals[at[1]] == b.reals[at[2]] : a.integers[at[1]] == b.integers[at[2]];
  };
  switch (contraction.combination) {
    case Combination::kNone: {
      const std::vector<T>& a = Elements<T>(*inputs[0]);
      return evaluation.Run(result, [&](const ReadOffsets& at) { return a[at[1]]; });
    }
    case Combination::kMultiply:
    case Combination::kAdd: {
      const ScalarOp op =
          contraction.combination == Combination::kAdd ? ScalarOp::kAdd : ScalarOp::kMul;
      const std::vector<T>& a = Elements<T>(*inputs[0]);
      const std::vector<T>& b = Elements<T>(*inputs[1]);
      return evaluation.Run(
          result, [&](const ReadOffsets& at) { return Arithmetic(op, a[at[1]], b[at[2]], type); });
    }
    case Combination::kEqual:
      return evaluation.Run(result,
                            [&](const ReadOffsets& at) { return static_cast<T>(equal(at)); });
    case Combination::kCond: {
      const std::vector<T>& c = Elements<T>(*inputs[2]);
      return evaluation.Run(result,
                            [&](const ReadOffsets& at) { return equal(at) ? c[at[3]] : T{0}; });
    }
  }
  return absl::InternalError("unknown combination");
}

}  // namespace

absl::StatusOr<NaiveTensor> EvaluateContraction(const Program& program,
                                                const Contraction& contraction,
                                                const TensorShape& shape,
                                                absl::Span<const NaiveTensor> values,
                                                int64_t* points) {
  const ContractionTypes types = TypesOf(program, contraction);
  Evaluation evaluation(contraction, shape, points);
  evaluation.AddAccess(contraction.output, shape.dims);
  std::array<NaiveTensor, 3> storage;
  std::vector<const NaiveTensor*> inputs;
  for (size_t i = 0; i < contraction.inputs.size(); ++i) {
    const NaiveTensor& input = values[contraction.inputs[i].tensor];
    const bool is_compared = types.compared != DataType::kInvalid && i < 2;
    inputs.push_back(&ReadAs(input, is_compared ? types.compared : types.result, storage[i]));
    evaluation.AddAccess(contraction.inputs[i], input.shape.dims);
  }
  NaiveTensor result(shape);
  const absl::Status status =
      result.is_real() ? Combine(contraction, shape.type, inputs, evaluation, result.reals)
                       : Combine(contraction, shape.type, inputs, evaluation, result.integers);
  if (absl::IsResourceExhausted(status)) *points = 0;
  TARTAN_RETURN_IF_ERROR(status);
  for (double& value : result.reals) value = RoundReal(value, ComputeType(shape.type));
  if (contraction.default_value == kNoValue) return result;
  const NaiveTensor otherwise = Cast(values[contraction.default_value], ComputeType(shape.type));
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    if (evaluation.hits()[i] == 0) result.Copy(i, otherwise, i);
  }
  return result;
}

}  // namespace tartan::ir
