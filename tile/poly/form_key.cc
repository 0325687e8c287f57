// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/form_key.h"

#include <cstring>
#include <map>

#include "tile/base/match.h"

namespace tartan::poly {
namespace {

// Serializes numbers, and lists with their lengths, so that different forms have different bytes.
class Writer {
 public:
  std::string Write(const FlatContraction& flat) {
    // The binding names every member, so that a new member does not compile until it is added here.
    const auto& [name, comments, indices, output_index_count, tensors, accesses, aggregation,
                 accumulator_type, body, accumulator_index, second_body, constraints, may_be_empty,
                 empty_value, output_coords, output_dims, store_guard, has_padded_rows, outputs] =
        flat;
    List(indices, [&](const Index& index) {
      const auto& [index_name, range, is_lane] = index;
      Number(range);
      Number(is_lane);
    });
    Number(output_index_count);
    List(tensors, [&](const Tensor& tensor) {
      const auto& [value, shape] = tensor;
      Shape(shape);
    });
    List(accesses, [&](const TensorAccess& access) {
      const auto& [tensor, coords, guard] = access;
      Number(tensor);
      Polys(coords);
      Constraints(guard);
    });
    Number(static_cast<int64_t>(aggregation));
    Number(static_cast<int64_t>(accumulator_type));
    Expression(body);
    Number(accumulator_index);
    Expression(second_body);
    Constraints(constraints);
    Number(may_be_empty);
    Expression(empty_value);
    Polys(output_coords);
    List(output_dims, [&](int64_t dim) { Number(dim); });
    Constraints(store_guard);
    Number(has_padded_rows);
    List(outputs, [&](const Output& output) {
      const auto& [value, shape, expr] = output;
      Shape(shape);
      Expression(expr);
    });
    return std::move(bytes_);
  }

 private:
  void Number(int64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }

  template <class T, class F>
  void List(const std::vector<T>& list, const F& write) {
    Number(static_cast<int64_t>(list.size()));
    for (const T& element : list) write(element);
  }

  void Shape(const TensorShape& shape) {
    Number(static_cast<int64_t>(shape.type));
    List(shape.dims, [&](int64_t dim) { Number(dim); });
  }

  void Fraction(const math::Rational& value) {
    Number(value.numerator());
    Number(value.denominator());
  }

  void Poly(const math::Affine& poly) {
    const auto& [coefficients, constant] = poly;
    List(coefficients, [&](const math::Rational& value) { Fraction(value); });
    Fraction(constant);
  }

  void Polys(const std::vector<math::Affine>& polys) {
    List(polys, [&](const math::Affine& poly) { Poly(poly); });
  }

  void Constraints(const std::vector<math::RangeConstraint>& constraints) {
    List(constraints, [&](const math::RangeConstraint& constraint) {
      const auto& [poly, range] = constraint;
      Poly(poly);
      Number(range);
    });
  }

  void Expressions(const std::vector<ExprPtr>& expressions) {
    List(expressions, [&](const ExprPtr& expr) { Expression(expr); });
  }

  // Writes shared expressions once, because lowering computes them once.
  void Expression(const ExprPtr& expr) {
    if (expr == nullptr) return Number(-1);
    const auto [it, is_new] = numbers_.emplace(expr.get(), numbers_.size());
    Number(static_cast<int64_t>(it->second));
    if (!is_new) return;
    const auto& [type, node] = *expr;
    Number(static_cast<int64_t>(type));
    Number(static_cast<int64_t>(node.index()));
    Match(
        node, [&](const Literal& literal) { Value(literal); },
        [&](const Read& read) { Number(read.access); },
        [&](const Accumulator& accumulator) { Number(accumulator.number); },
        [&](const Coordinate& coordinate) { Poly(coordinate.poly); },
        [&](const Apply& apply) {
          Number(static_cast<int64_t>(apply.op));
          Expressions(apply.operands);
        },
        [&](const InRange& in_range) { Constraints(in_range.constraints); },
        [&](const ReadAt& read) {
          Number(read.tensor);
          Expressions(read.coordinates);
          Constraints(read.guard);
        },
        [&](const Choice& choice) {
          Poly(choice.poly);
          Expressions(choice.values);
        });
  }

  void Value(const Literal& literal) {
    Number(static_cast<int64_t>(literal.value.index()));
    if (const auto* whole = std::get_if<int64_t>(&literal.value)) return Number(*whole);
    int64_t bits = 0;  // distinguishes signed zeros and NaN
    std::memcpy(&bits, &std::get<double>(literal.value), sizeof(bits));
    Number(bits);
  }

  std::string bytes_;
  std::map<const Expr*, size_t> numbers_;
};

}  // namespace

std::string FormKey(const FlatContraction& flat) { return Writer().Write(flat); }

}  // namespace tartan::poly
