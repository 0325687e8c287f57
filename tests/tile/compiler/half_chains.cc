// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/tile/compiler/half_programs.h"

namespace tartan {
namespace {

using Dims = std::vector<int64_t>;

// Writes the Tile text of a chain. Every value has `rows_` x `columns_` elements.
class ChainWriter {
 public:
  explicit ChainWriter(uint64_t seed)
      : random_(seed), rows_(Pick({1, 2, 3, 7, 18})), columns_(Pick({1, 2, 5, 16, 33})) {}

  HalfChain Write(uint64_t seed) {
    const DataType types[] = {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32};
    for (int i = 0; i < 3; ++i) {
      AddInput(absl::StrCat("A", i), {types[i == 2 ? Below(3) : Below(2)], {rows_, columns_}});
    }
    AddInput("W", {types[Below(3)], {columns_, columns_}});
    AddInput("ROW", {DataType::kInt32, {rows_, columns_}}, rows_);
    AddInput("COLUMN", {DataType::kInt64, {rows_, columns_}}, columns_);
    AddInput("ROWS", {DataType::kInt32, {rows_, 1}}, rows_);
    const int64_t count = 3 + Below(8);
    for (int64_t i = 0; i < count; ++i) AddOperation();
    std::vector<std::string> outputs = {values_.back().name};
    for (const Value& value : values_) {
      if (value.is_computed && value.name != outputs[0] && Below(5) == 0) {
        outputs.push_back(value.name);
      }
    }
    chain_.program.name = absl::StrCat("Chain", seed);
    chain_.program.code = absl::StrCat("function (", absl::StrJoin(names_, ", "), ") -> (",
                                       absl::StrJoin(outputs, ", "), ") {\n  ",
                                       absl::StrJoin(statements_, "\n  "), "\n}");
    return std::move(chain_);
  }

 private:
  struct Value {
    std::string name;
    DataType type;
    bool is_computed = true;
  };

  int64_t Below(int64_t limit) { return static_cast<int64_t>(random_() % limit); }
  int64_t Pick(const Dims& choices) { return choices[Below(choices.size())]; }

  // Floats are multiples of 1/4. Integers are indices below `places`; some count from the end.
  void AddInput(const std::string& name, const TensorShape& shape, int64_t places = 0) {
    std::vector<uint8_t> bytes(shape.byte_size());
    for (int64_t i = 0; i < shape.element_count(); ++i) {
      if (places > 0) {
        StoreElement(shape.type, Below(2 * places) - places, i, bytes.data());
      } else {
        StoreElement(shape.type, static_cast<double>(Below(65) - 32) / 4, i, bytes.data());
      }
    }
    names_.push_back(name);
    chain_.program.inputs.push_back(shape);
    chain_.inputs.emplace_back(shape, bytes);
    if (places == 0 && name != "W") values_.push_back({name, shape.type, false});
  }

  const Value& Any() {
    return values_[values_.size() - 1 - Below(std::min<size_t>(4, values_.size()))];
  }

  // Returns an expression that casts a value to a type.
  std::string As(const Value& value, DataType type) {
    if (value.type == type) return value.name;
    return absl::StrCat(type == DataType::kBFloat16 ? "as_bfloat" : "as_float", "(", value.name,
                        type == DataType::kBFloat16  ? ")"
                        : type == DataType::kFloat16 ? ", 16)"
                                                     : ", 32)");
  }

  static DataType Common(DataType a, DataType b) { return a == b ? a : DataType::kFloat32; }

  void Add(std::string statement) { statements_.push_back(absl::StrCat(statement, ";")); }
  std::string New() { return absl::StrCat("V", next_++); }

  void AddValue(const std::string& expression, DataType type) {
    const std::string name = New();
    Add(absl::StrCat(name, " = ", expression));
    values_.push_back({name, type});
  }

  // Adds an expression whose values may be too large or too fine, and bounds them.
  void AddBounded(const std::string& expression, DataType type) {
    const std::string name = New();
    Add(absl::StrCat(name, " = ", expression));
    AddValue(absl::StrCat("max(min(round(", name, " * 4) / 4, 8), -8)"), type);
  }

  // Contracts into a new name; the aggregation is "=" unless given.
  std::string Contract(const std::string& indices, const std::string& from,
                       const std::string& otherwise = "") {
    const std::string name = New();
    Add(absl::StrCat(name, "[", indices, "] = ", from,
                     otherwise.empty() ? "" : absl::StrCat(" default ", otherwise)));
    return name;
  }

  std::string Sizes() const { return absl::StrCat(" : ", rows_, ", ", columns_); }

  void AddOperation() {
    const Value a = Any();
    const Value b = Any();
    switch (Below(9)) {
      case 0:
        return AddUnary(a);
      case 1:
        return AddBinary(a, b);
      case 2:
        return AddContraction(a, b);
      case 3:
        return AddMove(a, b);
      case 4:
      case 5:
        return AddScatter(a, b);
      case 6:
        return AddGather(a);
      case 7:
        return AddOrder(a);
      default:
        return AddCast(a);
    }
  }

  void AddUnary(const Value& a) {
    const char* functions[] = {"relu", "-", "abs", "sign", "floor"};
    AddValue(absl::StrCat(functions[Below(5)], "(", a.name, ")"), a.type);
  }

  void AddBinary(const Value& a, const Value& b) {
    const DataType type = Common(a.type, b.type);
    switch (Below(4)) {
      case 0:
        return AddBounded(absl::StrCat(a.name, " + ", b.name), type);
      case 1:
        return AddBounded(absl::StrCat(a.name, " * ", b.name), type);
      case 2:
        return AddValue(absl::StrCat("max(", a.name, ", ", b.name, ")"), type);
      default:
        return AddValue(absl::StrCat(a.name, " < ", b.name, " ? ", a.name, " : ", b.name), type);
    }
  }

  void AddContraction(const Value& a, const Value& b) {
    if (Below(2) == 0) {
      const DataType type = Common(a.type, chain_.program.inputs[3].type);
      return AddBounded(Contract("i, j" + Sizes(), absl::StrCat("+(", a.name, "[i, k] * W[k, j])")),
                        type);
    }
    const std::string rows = New();
    Add(absl::StrCat(rows, "[i, 0 : ", rows_, ", 1] = >(", a.name, "[i, j])"));
    AddBounded(absl::StrCat(b.name, " - ", rows), Common(a.type, b.type));
  }

  void AddMove(const Value& a, const Value& b) {
    const std::string otherwise = As(b, a.type);
    std::string named = otherwise;
    if (named != b.name) {
      named = New();
      Add(absl::StrCat(named, " = ", otherwise));
    }
    switch (Below(6)) {
      case 0:
        return AddValue(
            Contract("i, j" + Sizes(), absl::StrCat("=(", a.name, "[i, j - 1])"), named), a.type);
      case 5:
        return AddValue(Contract("i, i" + Sizes(), absl::StrCat("=(", a.name, "[i, 0])"), named),
                        a.type);
      case 1:
        return AddValue(
            Contract("i, 2 * j" + Sizes(), absl::StrCat("=(", a.name, "[i, j])"), named), a.type);
      case 2:
        return AddBounded(
            Contract("2 * i + k, j" + Sizes(), absl::StrCat("+(", a.name, "[i, j + k])"), named),
            a.type);
      case 3: {
        const std::string turned = New();
        Add(absl::StrCat(turned, " = reshape(", a.name, ", ", columns_, ", ", rows_, ")"));
        return AddValue(Contract("i, j" + Sizes(), absl::StrCat("=(", turned, "[j, i])")), a.type);
      }
      default: {
        const std::string flat = New();
        Add(absl::StrCat(flat, " = sort(reshape(", a.name, ", ", rows_ * columns_, "), 0)"));
        return AddValue(absl::StrCat("reshape(", flat, ", ", rows_, ", ", columns_, ")"), a.type);
      }
    }
  }

  // Factors of -1, 0 and 1 and bounded sums keep the results exact.
  void AddScatter(const Value& a, const Value& b) {
    const int64_t mode = Below(5);
    const std::string updates =
        mode == 2 ? absl::StrCat("sign(", As(b, a.type), ")") : As(b, a.type);
    std::string expression;
    switch (Below(4)) {
      case 0:
        expression = absl::StrCat("scatter_nd(", a.name, ", ROWS, ", updates, ", ", mode, ")");
        break;
      case 1:
        expression =
            absl::StrCat("scatter_elements(", a.name, ", COLUMN, ", updates, ", 1, ", mode, ")");
        break;
      case 2:
        expression =
            absl::StrCat("scatter_elements(", a.name, ", ROW, ", updates, ", 0, ", mode, ")");
        break;
      default:
        return AddBounded(
            absl::StrCat("scatter(", b.name, ", reshape(ROWS, ", rows_, "), ", a.name, ")"),
            b.type);
    }
    mode == 1 ? AddBounded(expression, a.type) : AddValue(expression, a.type);
  }

  void AddGather(const Value& a) {
    switch (Below(3)) {
      case 0:
        return AddValue(absl::StrCat("gather(", a.name, ", reshape(ROWS, ", rows_, "))"), a.type);
      case 1:
        return AddValue(absl::StrCat("gather_elements(", a.name, ", COLUMN, 1)"), a.type);
      default:
        return AddValue(absl::StrCat("gather_nd(", a.name, ", ROWS)"), a.type);
    }
  }

  void AddOrder(const Value& a) {
    const int64_t axis = Below(2);
    const int64_t flag = Below(2);  // descending order, or an exclusive scan
    const int64_t reverse = Below(2);
    switch (Below(4)) {
      case 0:
        return AddValue(absl::StrCat("sort(", a.name, ", ", axis, ", ", flag, ")"), a.type);
      case 1:
        return AddBounded(absl::StrCat("as_float(argsort(", a.name, ", ", axis, "), 32)"),
                          DataType::kFloat32);
      case 2:
        return AddBounded(
            absl::StrCat("cumsum(", a.name, ", ", axis, ", ", flag, ", ", reverse, ")"), a.type);
      default:
        return AddValue(absl::StrCat("cumprod(sign(", a.name, "), ", axis, ")"), a.type);
    }
  }

  void AddCast(const Value& a) {
    const DataType types[] = {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32};
    const DataType type = types[Below(3)];
    AddValue(As(a, type), type);
  }

  std::mt19937_64 random_;
  const int64_t rows_;
  const int64_t columns_;
  HalfChain chain_;
  std::vector<std::string> names_;
  std::vector<std::string> statements_;
  std::vector<Value> values_;
  int next_ = 0;
};

}  // namespace

HalfChain RandomHalfChain(uint64_t seed) { return ChainWriter(seed).Write(seed); }

}  // namespace tartan
