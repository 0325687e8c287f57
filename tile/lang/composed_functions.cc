// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/composed_functions.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"
#include "tile/lang/parser.h"

namespace tartan::lang {
namespace {

// The signature of a function: tensors first, then sizes.
struct ComposedRow {
  absl::string_view name;
  size_t tensors;
  int sizes;  // kAny: any number
  absl::string_view usage;
  absl::string_view text;  // empty: depends on the ranks (TextOf)
};

constexpr int kAny = -1;

constexpr ComposedRow kRows[] = {
    {"builtin_softmax", 1, 2, "builtin_softmax(X, rows, columns)",
     R"(function (X[R, C]) -> (O) {
          M[i, 0 : R, 1] = >(X[i, j]);
          E = exp(X - stop_gradient(M));
          S[i, 0 : R, 1] = +(E[i, j]);
          O = E / S;
        })"},
    {"builtin_logsoftmax", 1, 2, "builtin_logsoftmax(X, rows, columns)",
     R"(function (X[R, C]) -> (O) {
          M[i, 0 : R, 1] = >(X[i, j]);
          D = X - stop_gradient(M);
          E = exp(D);
          S[i, 0 : R, 1] = +(E[i, j]);
          O = D - log(S);
        })"},
    {"builtin_binary_crossentropy", 3, 0, "builtin_binary_crossentropy(output, target, scale)",
     R"(function (O, T, S) -> (R) { R = -T * log(O) - (1 - T) * log(1 - O); })"},
    {"reverse_grad", 2, 0, "reverse_grad(X, scale)",
     R"(function (X, S) -> (O) { O = custom_gradient(X, reverse, X, S); }
        function reverse (X, S, Y, DY) -> (DX, DS) { DX = -S * DY; DS = 0 * S; })"},
    {"prng_step", 1, kAny, "prng_step(state, size, ...)", ""},
    {"prng_state", 1, 0, "prng_state(step)", ""},
    {"prng_value", 1, 0, "prng_value(step)", ""}};

const ComposedRow* FindRow(absl::string_view function) {
  for (const ComposedRow& row : kRows) {
    if (row.name == function) return &row;
  }
  return nullptr;
}

// A state of random numbers is a counter in the first column. A step is a uint32 tensor of the
// requested sizes plus 3 elements: random bits, and the two words of its state.
std::string StepText(absl::Span<const int64_t> sizes) {
  std::string text = R"(function (S[R, C]) -> (P) {
    Seed[i : 2] = =(S[i, 0]);
    Low[] = =(S[0, 0]);
    High[] = =(S[1, 0]);
    U = prng(Seed, )";
  for (const int64_t size : sizes) absl::StrAppend(&text, size, ", ");
  absl::StrAppend(&text, R"(1);
    Part[i : 3] = =(Low[]);
    K = index(Part, 0);
    Bits = as_uint(U * 16777216.0, 32);
    P = K == 0 ? Bits : K == 1 ? Low : High;
  })");
  return text;
}

std::string StateText(int64_t rank) {
  std::string zeros;
  for (int64_t d = 1; d < rank; ++d) absl::StrAppend(&zeros, "0, ");
  return absl::StrCat(
      "function (P) -> (O) { Low[] = =(P[", zeros, "1]); High[] = =(P[", zeros,
      "2]); Rows[i, j : 3, 2048] = =(Low[]); O = index(Rows, 0) == 1 ? High : ", "Rows + 1; }");
}

std::string ValueText(int64_t rank) {
  std::vector<std::string> indices, sizes, all_sizes;
  for (int64_t d = 0; d < rank; ++d) all_sizes.push_back(absl::StrCat("D", d));
  for (int64_t d = 0; d + 1 < rank; ++d) indices.push_back(absl::StrCat("i", d));
  sizes.assign(all_sizes.begin(), all_sizes.end() - 1);
  std::string read = absl::StrJoin(indices, ", ");
  const std::string output =
      indices.empty() ? "" : absl::StrCat(read, " : ", absl::StrJoin(sizes, ", "));
  if (!indices.empty()) read += ", ";
  return absl::StrCat("function (P[", absl::StrJoin(all_sizes, ", "), "]) -> (O) { Bits[", output,
                      "] = =(P[", read, "0]); O = as_float(Bits, 32) / 16777216.0; }");
}

std::string TextOf(const ComposedRow& row, const TensorShape& shape,
                   absl::Span<const int64_t> sizes) {
  if (row.name == "prng_step") return StepText(sizes);
  if (row.name == "prng_state") return StateText(shape.rank());
  if (row.name == "prng_value") return ValueText(shape.rank());
  return std::string(row.text);
}

// "" if the function accepts such a tensor and sizes, else the error.
std::string Mismatch(const ComposedRow& row, const TensorShape& shape,
                     absl::Span<const int64_t> sizes) {
  if (row.sizes == 2) {
    if (shape.dims == std::vector<int64_t>(sizes.begin(), sizes.end())) return "";
    return absl::StrCat(" takes a matrix and its sizes, not ", shape.ToString(), " and ",
                        DimsToString(sizes));
  }
  const bool is_random = row.text.empty();
  if (is_random && shape.type != DataType::kUInt32) {
    return absl::StrCat(" takes uint32, not ", tartan::Name(shape.type));
  }
  if (row.sizes == kAny) {
    if (shape.rank() == 2 && shape.dims[0] >= 2 && shape.dims[1] >= 1) return "";
    return absl::StrCat(" takes a state, uint32[3, 2048], not ", shape.ToString());
  }
  if (!is_random || (shape.rank() > 0 && shape.dims.back() == 3)) return "";
  return absl::StrCat(" takes the result of prng_step, not ", shape.ToString());
}

}  // namespace

bool IsComposed(absl::string_view function) { return FindRow(function) != nullptr; }

absl::StatusOr<Bound> BindComposed(const BoundCall& call, Scope& scope) {
  const ComposedRow& row = *FindRow(call.function);
  const size_t count = call.arguments.size();
  if (count < row.tensors || (row.sizes != kAny && count != row.tensors + row.sizes)) {
    return scope.Error(call.position, absl::StrCat(call.function, " is called as ", row.usage));
  }
  std::vector<ir::ValueId> tensors;
  std::vector<TensorShape> shapes;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < count; ++i) {
    if (i < row.tensors) {
      TARTAN_ASSIGN_OR_RETURN(tensors.emplace_back(),
                              scope.Tensor(call.arguments[i], call.argument_positions[i]));
      shapes.push_back(scope.builder().shape(tensors.back()));
      continue;
    }
    const std::optional<CompileTimeScalar> number = scope.Number(call.arguments[i]);
    const std::optional<int64_t> size = number ? number->AsInteger() : std::nullopt;
    if (!size.has_value()) {
      return scope.Error(call.argument_positions[i],
                         absl::StrCat("argument ", i + 1, " of ", call.function,
                                      " must be a size known at compile time"));
    }
    sizes.push_back(*size);
  }
  const std::string mismatch = Mismatch(row, shapes[0], sizes);
  if (!mismatch.empty()) {
    return scope.Error(call.position, absl::StrCat(call.function, mismatch));
  }
  TARTAN_ASSIGN_OR_RETURN(const Function function, Parse(TextOf(row, shapes[0], sizes), row.name));
  const absl::StatusOr<ir::Program> program = scope.functions()(function, shapes);
  if (!program.ok()) return scope.At(call.position, program.status());
  absl::StatusOr<std::vector<ir::ValueId>> results = scope.builder().AddProgram(*program, tensors);
  if (!results.ok()) return scope.At(call.position, results.status());
  return Bound{results->front()};
}

}  // namespace tartan::lang
