// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/contraction.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "tile/base/scalar_value.h"

namespace tartan::evaluator {
namespace {

using ir::NaiveTensor;
using math::Affine;
using Wide = __int128;

// Bound on the magnitude of every sum of terms, so that 64-bit arithmetic does not overflow.
constexpr Wide kGreatest = Wide{1} << 61;

Wide Magnitude(Wide value) { return value < 0 ? -value : value; }

// Adds up integer polynomials over the loops, with the magnitudes of their parts.
class Terms {
 public:
  explicit Terms(size_t loops) : coefficients_(loops) {}

  void Add(const Affine& poly, int64_t factor) {
    is_integer_ = is_integer_ && poly.is_integer() && poly.coefficients.size() <= loops();
    if (!is_integer_) return;
    constant_ += Wide{poly.constant.numerator()} * factor;
    for (size_t l = 0; l < poly.coefficients.size(); ++l) {
      coefficients_[l] += Wide{poly.coefficients[l].numerator()} * factor;
    }
    Check();
  }
  // False if the polynomial is not an integer, or if some value may be too large.
  bool IsCountable(const poly::IndexSpace& space, int64_t range) const {
    Wide greatest = Magnitude(constant_) + range;
    for (size_t l = 0; l < loops() && is_integer_ && greatest < kGreatest; ++l) {
      greatest += Magnitude(coefficients_[l]) * space.indices[l].range;
    }
    return is_integer_ && greatest < kGreatest;
  }

  size_t loops() const { return coefficients_.size(); }
  int64_t constant() const { return static_cast<int64_t>(constant_); }
  int64_t coefficient(size_t l) const { return static_cast<int64_t>(coefficients_[l]); }

 private:
  void Check() {
    for (const Wide c : coefficients_) is_integer_ = is_integer_ && Magnitude(c) < kGreatest;
    is_integer_ = is_integer_ && Magnitude(constant_) < kGreatest;
  }

  bool is_integer_ = true;
  Wide constant_ = 0;
  std::vector<Wide> coefficients_;
};

// The flat index of an element at these coordinates.
std::optional<Terms> PlaceOf(absl::Span<const Affine> coords, absl::Span<const int64_t> dims,
                             const poly::IndexSpace& space) {
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  Terms terms(space.indices.size());
  for (size_t d = 0; d < coords.size(); ++d) terms.Add(coords[d], strides[d]);
  if (!terms.IsCountable(space, 0)) return std::nullopt;
  return terms;
}

// Nothing if index arithmetic could overflow.
std::optional<HostCondition> ConditionOf(const math::RangeConstraint& constraint,
                                         const poly::IndexSpace& space) {
  Terms terms(space.indices.size());
  terms.Add(constraint.poly, 1);
  if (!terms.IsCountable(space, constraint.range)) return std::nullopt;
  HostCondition condition = {{}, terms.constant(), constraint.range};
  for (size_t l = 0; l < terms.loops(); ++l) {
    condition.coefficients.push_back(terms.coefficient(l));
  }
  return condition;
}

// Sums of fewer products are exact (float64), and starting blocks would take longer.
constexpr double kMinBlockedPoints = 1 << 18;

bool IsSumOfProducts(const ir::Contraction& contraction, DataType type) {
  return contraction.aggregation == Aggregation::kSum &&
         contraction.combination == Combination::kMultiply && IsFloat(type) &&
         ComputeType(type) == DataType::kFloat32;
}

// Wraps integers to the width of the type. Reals are rounded after the whole sum.
class Wrap {
 public:
  explicit Wrap(DataType type)
      : unused_(static_cast<int>(64 - 8 * ByteWidth(type))),
        is_signed_(IsSignedInteger(type)),
        is_bool_(type == DataType::kBool) {}
  int64_t operator()(uint64_t bits) const {
    if (is_bool_) return bits != 0;
    if (is_signed_) return static_cast<int64_t>(bits << unused_) >> unused_;
    return static_cast<int64_t>(bits << unused_ >> unused_);
  }

 private:
  int unused_;
  bool is_signed_;
  bool is_bool_;
};

double Sum(double a, double b) { return a + b; }
int64_t Sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
double Product(double a, double b) { return a * b; }
int64_t Product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
double Greater(double a, double b, bool) { return a > b || a != a ? a : b; }
double Lesser(double a, double b, bool) { return a < b || a != a ? a : b; }
bool Less(int64_t a, int64_t b, bool is_unsigned) {
  return is_unsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}
int64_t Greater(int64_t a, int64_t b, bool is_unsigned) { return Less(a, b, is_unsigned) ? b : a; }
int64_t Lesser(int64_t a, int64_t b, bool is_unsigned) { return Less(b, a, is_unsigned) ? b : a; }

// The identity element of an aggregation. For sums of reals it is the zero that keeps the sign of
// zeros.
template <class T>
T Neutral(Aggregation aggregation, DataType type) {
  if constexpr (std::is_same_v<T, double>) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (aggregation) {
      case Aggregation::kProduct:
        return 1;
      case Aggregation::kMax:
        return -kInfinity;
      case Aggregation::kMin:
        return kInfinity;
      default:
        return -0.0;
    }
  } else {
    switch (aggregation) {
      case Aggregation::kProduct:
        return 1;
      case Aggregation::kMax:
        return MinInteger(type);
      case Aggregation::kMin:
        return MaxInteger(type);
      default:
        return 0;
    }
  }
}

template <class T>
const T* ElementsOf(const NaiveTensor& tensor) {
  if constexpr (std::is_same_v<T, double>) {
    return tensor.reals.data();
  } else {
    return tensor.integers.data();
  }
}

}  // namespace

std::optional<HostContraction> HostContraction::Create(const ir::Program& program, ir::ValueId id,
                                                       const poly::IndexSpace& space) {
  const auto& contraction = std::get<ir::Contraction>(program.values[id].op);
  const TensorShape& shape = program.values[id].shape;
  const ir::ContractionTypes types = ir::TypesOf(program, contraction);
  std::vector<HostLoop> loops;
  for (const poly::Index& index : space.indices) {
    loops.push_back({index.range, {}});
    // If there are no points, the coordinates may be arbitrary.
    if (index.range <= 0) {
      return HostContraction(contraction, shape, types, LoopNest({}, {{0, {}}}), {}, true);
    }
  }
  Places start = {};
  const auto add = [&](size_t place, absl::Span<const Affine> coords,
                       absl::Span<const int64_t> dims) {
    const std::optional<Terms> terms = PlaceOf(coords, dims, space);
    if (!terms.has_value()) return false;
    start[place] = terms->constant();
    for (size_t l = 0; l < loops.size(); ++l) loops[l].steps[place] = terms->coefficient(l);
    return true;
  };
  if (!add(0, space.output_coords, shape.dims)) return std::nullopt;
  for (size_t i = 0; i < contraction.inputs.size(); ++i) {
    std::vector<Affine> coords;
    for (const Affine& index : contraction.inputs[i].indices) {
      coords.push_back(index.Substitute(space.original));
    }
    const TensorShape& input = program.values[contraction.inputs[i].tensor].shape;
    if (!add(i + 1, coords, input.dims)) return std::nullopt;
  }
  std::vector<HostCondition> conditions;
  for (const auto* constraints : {&space.store_guard, &space.constraints}) {
    for (const math::RangeConstraint& constraint : *constraints) {
      std::optional<HostCondition> condition = ConditionOf(constraint, space);
      if (!condition.has_value()) return std::nullopt;
      conditions.push_back(*std::move(condition));
    }
  }
  const auto outputs = static_cast<size_t>(space.output_index_count);
  const bool needs_hits = space.may_be_empty || !space.covers_output || !space.store_guard.empty();
  std::optional<BlockedMatmul> blocks;
  if (IsSumOfProducts(contraction, shape.type)) {
    blocks = BlockedMatmul::Create(start, loops, outputs, conditions);
  }
  const size_t outer = MoveFastestLoopInside(outputs, &loops, &conditions);
  const DivisibleLoop divisible = LongestLoop(loops, outer);
  HostContraction made(contraction, shape, types,
                       LoopNest(start, std::move(loops), std::move(conditions)), divisible,
                       needs_hits);
  if (blocks.has_value() && made.nest_.points() >= kMinBlockedPoints &&
      blocks->nanoseconds() < made.nanoseconds()) {
    made.blocks_ = std::move(blocks);
  }
  return made;
}

double HostContraction::nanoseconds() const {
  if (blocks_.has_value()) return blocks_->nanoseconds();
  return 2 * static_cast<double>(shape_.element_count()) + nest_.nanoseconds();
}

template <class T, class Body>
void HostContraction::Aggregate(const Body& body, std::vector<T>& result) const {
  const Places steps = nest_.steps();
  const int64_t step = steps[0];
  const auto run_part = [&](const auto& next, const LoopNest& part) {
    part.ForEachRun([&](const Places& at, int64_t count) {
      T* const to = result.data() + at[0];
      if (step == 0) {
        T value = *to;
        for (int64_t i = 0; i < count; ++i) value = next(value, body(at, steps, i));
        *to = value;
      } else {
        for (int64_t i = 0; i < count; ++i) {
          to[i * step] = next(to[i * step], body(at, steps, i));
        }
      }
    });
  };
  const auto run = [&](const auto& next) {
    VisitInParts(nest_, divisible_, nanoseconds(),
                 [&](const LoopNest& part) { run_part(next, part); });
  };
  const bool is_unsigned = shape_.type == DataType::kUInt64;
  switch (aggregation_) {
    case Aggregation::kSum:
      return run([](T a, T b) { return Sum(a, b); });
    case Aggregation::kProduct:
      return run([](T a, T b) { return Product(a, b); });
    case Aggregation::kMax:
      return run([=](T a, T b) { return Greater(a, b, is_unsigned); });
    case Aggregation::kMin:
      return run([=](T a, T b) { return Lesser(a, b, is_unsigned); });
    case Aggregation::kAssign:
      return run([](T, T b) { return b; });
  }
}

template <class T>
void HostContraction::Combine(absl::Span<const NaiveTensor* const> inputs,
                              std::vector<T>& result) const {
  const Wrap wrap(shape_.type);
  const auto in_type = [&](T value) {
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return wrap(static_cast<uint64_t>(value));
    }
  };
  // Calls body(…) with the elements of both operands, as reals or as integers.
  const auto compared = [&](const auto& body) {
    if (inputs[0]->is_real())
      return body(ElementsOf<double>(*inputs[0]), ElementsOf<double>(*inputs[1]));
    return body(ElementsOf<int64_t>(*inputs[0]), ElementsOf<int64_t>(*inputs[1]));
  };
  const T* const a = ElementsOf<T>(*inputs[0]);
  const T* const b = inputs.size() > 1 ? ElementsOf<T>(*inputs[1]) : nullptr;
  switch (combination_) {
    case Combination::kNone:
      return Aggregate<T>(
          [=](const Places& at, const Places& steps, int64_t i) { return a[at[1] + i * steps[1]]; },
          result);
    case Combination::kMultiply:
      return Aggregate<T>(
          [=](const Places& at, const Places& steps, int64_t i) {
            return in_type(Product(a[at[1] + i * steps[1]], b[at[2] + i * steps[2]]));
          },
          result);
    case Combination::kAdd:
      return Aggregate<T>(
          [=](const Places& at, const Places& steps, int64_t i) {
            return in_type(Sum(a[at[1] + i * steps[1]], b[at[2] + i * steps[2]]));
          },
          result);
    case Combination::kEqual:
      return compared([&](const auto* x, const auto* y) {
        Aggregate<T>(
            [=](const Places& at, const Places& steps, int64_t i) {
              return static_cast<T>(x[at[1] + i * steps[1]] == y[at[2] + i * steps[2]]);
            },
            result);
      });
    case Combination::kCond:
      return compared([&](const auto* x, const auto* y) {
        const T* const c = ElementsOf<T>(*inputs[2]);
        Aggregate<T>(
            [=](const Places& at, const Places& steps, int64_t i) {
              const bool equal = x[at[1] + i * steps[1]] == y[at[2] + i * steps[2]];
              return equal ? c[at[3] + i * steps[3]] : T{0};
            },
            result);
      });
  }
}

std::vector<uint8_t> HostContraction::Hits() const {
  std::vector<uint8_t> hits(static_cast<size_t>(shape_.element_count()));
  const int64_t step = nest_.steps()[0];
  nest_.ForEachRun([&](const Places& at, int64_t count) {
    for (int64_t i = 0; i < (step == 0 ? 1 : count); ++i) hits[at[0] + i * step] = 1;
  });
  return hits;
}

NaiveTensor HostContraction::Evaluate(absl::Span<const NaiveTensor* const> inputs,
                                      const NaiveTensor* otherwise) const {
  std::array<NaiveTensor, 3> storage;
  std::vector<const NaiveTensor*> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_compared = types_.compared != DataType::kInvalid && i < 2;
    operands.push_back(
        &ir::ReadAs(*inputs[i], is_compared ? types_.compared : types_.result, storage[i]));
  }
  NaiveTensor result(shape_);
  const DataType computed = ComputeType(shape_.type);
  if (result.is_real()) {
    const auto neutral = Neutral<double>(aggregation_, shape_.type);
    std::fill(result.reals.begin(), result.reals.end(), neutral);
    if (blocks_.has_value()) {
      const double* const factors[] = {operands[0]->reals.data(), operands[1]->reals.data()};
      blocks_->Add(factors, result.reals.data());
    } else {
      Combine<double>(operands, result.reals);
    }
    if (computed == DataType::kFloat32) {
      for (double& value : result.reals) value = static_cast<float>(value);
    }
  } else {
    const auto neutral = Neutral<int64_t>(aggregation_, shape_.type);
    std::fill(result.integers.begin(), result.integers.end(), neutral);
    Combine<int64_t>(operands, result.integers);
    const Wrap wrap(shape_.type);
    for (int64_t& value : result.integers) value = wrap(static_cast<uint64_t>(value));
  }
  if (!needs_hits_) return result;
  const NaiveTensor zeros = otherwise == nullptr ? NaiveTensor(shape_) : NaiveTensor();
  const NaiveTensor cast = otherwise == nullptr ? NaiveTensor() : ir::Cast(*otherwise, computed);
  const std::vector<uint8_t> hits = Hits();
  for (size_t i = 0; i < hits.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (hits[i] == 0) result.Copy(at, otherwise == nullptr ? zeros : cast, at);
  }
  return result;
}

}  // namespace tartan::evaluator
