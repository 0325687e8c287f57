// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/function.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/composer.h"
#include "frontend/api/tensor_node.h"
#include "frontend/api/text_file.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/process_cache.h"
#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::api {
namespace {

// Functions by file and text. The cache is emptied when full; functions in use are also owned
// elsewhere.
class FunctionCache : public ProcessCache<FunctionCache> {
 public:
  // `make` returns the function if the cache does not have it.
  template <class Make>
  absl::StatusOr<Function> Get(const std::string& key, Make make) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (auto it = functions_.find(key); it != functions_.end()) return it->second;
    }
    TARTAN_ASSIGN_OR_RETURN(Function function, make());
    std::lock_guard<std::mutex> lock(mutex_);
    if (functions_.size() >= kCapacity) functions_.clear();
    return functions_.emplace(key, std::move(function)).first->second;
  }

 private:
  std::unordered_map<std::string, Function> functions_;
};

// The shapes of the outputs of functions, by function and shapes of the inputs, so that an
// operation that is applied again is not bound again. The cache is emptied when full.
class ShapeCache : public ProcessCache<ShapeCache> {
 public:
  using Shapes = std::vector<TensorShape>;

  // Returns nothing if the cache does not have them.
  Shapes Find(const lang::Function& function, const Shapes& inputs) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = outputs_.find(KeyOf(function, inputs));
    return found == outputs_.end() ? Shapes() : found->second.outputs;
  }

  void Add(const std::shared_ptr<const lang::Function>& function, const Shapes& inputs,
           const Shapes& outputs) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (outputs_.size() >= kCapacity) outputs_.clear();
    outputs_.emplace(KeyOf(*function, inputs), Entry{function, outputs});
  }

 private:
  struct Entry {
    std::shared_ptr<const lang::Function> function;  // keeps the address in the key
    Shapes outputs;
  };

  // The bytes of the address, and of type, rank and sizes of each input.
  static std::string KeyOf(const lang::Function& function, const Shapes& inputs) {
    std::string key;
    const auto append = [&](int64_t number) {
      key.append(reinterpret_cast<const char*>(&number), sizeof(number));
    };
    append(static_cast<int64_t>(reinterpret_cast<intptr_t>(&function)));
    for (const TensorShape& shape : inputs) {
      append(static_cast<int64_t>(shape.type));
      append(static_cast<int64_t>(shape.dims.size()));
      for (const int64_t dim : shape.dims) append(dim);
    }
    return key;
  }

  std::unordered_map<std::string, Entry> outputs_;
};

// The value of a scalar integer tensor; nullopt for other tensors and for unknown values.
std::optional<int64_t> NumberOf(const Tensor& tensor) {
  if (tensor.rank() != 0 || !IsInteger(tensor.type())) return std::nullopt;
  if (const HostTensor* leaf = tensor.leaf_value(); leaf != nullptr) return leaf->GetInt(0);
  const absl::StatusOr<HostTensor> value = EvaluateOnHost(tensor);
  return value.ok() ? std::optional<int64_t>(value->GetInt(0)) : std::nullopt;
}

lang::ExprPtr LiteralExpr(decltype(lang::Expr::node) node) {
  return std::make_shared<const lang::Expr>(lang::Expr{{}, std::move(node)});
}

// Returns the function with known scalar integer inputs replaced by constants in the text, because
// they may be sizes. `left` receives the other inputs.
lang::Function WithNumbers(const lang::Function& function, absl::Span<const Tensor> inputs,
                           std::vector<Tensor>* left) {
  lang::Function changed = function;
  changed.inputs.clear();
  std::vector<lang::Statement> numbers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const lang::Parameter& parameter = function.inputs[i];
    const std::optional<int64_t> number = NumberOf(inputs[i]);
    if (!number.has_value()) {
      changed.inputs.push_back(parameter);
      left->push_back(inputs[i]);
      continue;
    }
    const DataType type = inputs[i].type();
    lang::Call cast{IsSignedInteger(type) ? "as_int" : "as_uint",
                    {LiteralExpr(lang::IntLiteral{*number}),
                     LiteralExpr(lang::IntLiteral{static_cast<int64_t>(8 * ByteWidth(type))})}};
    numbers.push_back(
        {parameter.position, {}, lang::Assignment{parameter.name, LiteralExpr(std::move(cast))}});
  }
  changed.statements.insert(changed.statements.begin(), numbers.begin(), numbers.end());
  return changed;
}

// Applies `function`, which fails with `failure`, with numbers for known scalar integer inputs.
// Returns `failure` if that fails, too.
absl::StatusOr<std::vector<Tensor>> ApplyWithNumbers(const Function& function,
                                                     absl::Span<const Tensor> inputs,
                                                     absl::string_view name,
                                                     const absl::Status& failure) {
  std::vector<Tensor> left;
  lang::Function numbered = WithNumbers(function.ast(), inputs, &left);
  if (left.size() == inputs.size()) return failure;
  TARTAN_ASSIGN_OR_RETURN(
      const Function changed,
      Function::FromTree(std::move(numbered), function.text(), function.file()));
  auto applied = changed.Apply(left, name);
  return applied.ok() ? std::move(applied) : failure;
}

}  // namespace

Function::Function(lang::Function ast, absl::string_view text, absl::string_view file)
    : ast_(std::make_shared<const lang::Function>(std::move(ast))),
      text_(std::make_shared<const std::string>(text)),
      file_(std::make_shared<const std::string>(file)) {}

absl::StatusOr<Function> Function::FromTile(absl::string_view text, absl::string_view file) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Function> {
    return FunctionCache::OfProcess().Get(
        absl::StrCat(file, "\n", text), [&]() -> absl::StatusOr<Function> {
          TARTAN_ASSIGN_OR_RETURN(lang::Function ast, lang::Parse(text, file));
          return Function(std::move(ast), text, file);
        });
  });
}

absl::StatusOr<Function> Function::FromTree(lang::Function tree, absl::string_view text,
                                            absl::string_view file) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Function> {
    return FunctionCache::OfProcess().Get(
        absl::StrCat(file, "\n", text, "\ntree\n", lang::Print(tree)),
        [&]() -> absl::StatusOr<Function> { return Function(std::move(tree), text, file); });
  });
}

absl::StatusOr<Function> Function::FromFile(const std::string& path) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Function> {
    TARTAN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
    return FromTile(text, path);
  });
}

std::vector<std::string> Function::input_names() const {
  std::vector<std::string> names;
  for (const lang::Parameter& input : ast_->inputs) names.emplace_back(lang::PlainName(input.name));
  return names;
}

std::vector<std::string> Function::output_names() const {
  std::vector<std::string> names;
  for (const std::string& output : ast_->outputs) names.emplace_back(lang::PlainName(output));
  return names;
}

absl::StatusOr<std::vector<Tensor>> Function::Apply(absl::Span<const Tensor> inputs,
                                                    absl::string_view name) const {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<Tensor>> {
    if (inputs.size() != ast_->inputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          *file_, ": the function takes ", ast_->inputs.size(), " inputs, not ", inputs.size()));
    }
    std::vector<TensorShape> shapes;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined()) {
        return absl::InvalidArgumentError(
            absl::StrCat("no value is given for the input '", ast_->inputs[i].name, "'"));
      }
      shapes.push_back(inputs[i].shape());
    }
    std::vector<TensorShape> outputs = ShapeCache::OfProcess().Find(*ast_, shapes);
    if (outputs.empty()) {
      lang::BindOptions options;
      options.file = *file_;
      options.text = *text_;
      const absl::StatusOr<ir::Program> bound = lang::Bind(*ast_, shapes, options);
      if (!bound.ok()) return ApplyWithNumbers(*this, inputs, name, bound.status());
      for (ir::ValueId output : bound->outputs) outputs.push_back(bound->values[output].shape);
      ShapeCache::OfProcess().Add(ast_, shapes, outputs);
    }
    auto node = std::make_shared<TensorNode>();
    node->name = std::string(name);
    ApplicationNode application{ast_, {}};
    for (const Tensor& input : inputs) {
      application.inputs.push_back({input.node(), input.result()});
      node->TakePlaceholderOf(*input.node());
    }
    node->kind = std::move(application);
    node->shapes = std::move(outputs);
    std::vector<Tensor> results;
    for (size_t i = 0; i < node->shapes.size(); ++i) {
      results.push_back(Tensor(node, static_cast<int>(i)));
    }
    return results;
  });
}

absl::StatusOr<std::vector<Tensor>> Function::Placeholders(const NamedShapes& shapes) const {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<Tensor>> {
    const std::vector<std::string> names = input_names();
    for (const auto& [name, shape] : shapes) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      return absl::InvalidArgumentError(absl::StrCat("the function has no input '", name,
                                                     "'; it has ", absl::StrJoin(names, ", ")));
    }
    std::vector<Tensor> placeholders;
    for (const std::string& name : names) {
      const auto shape = shapes.find(name);
      if (shape == shapes.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("no value is given for the input '", name, "'"));
      }
      TARTAN_RETURN_IF_ERROR(CheckShape(shape->second));
      placeholders.push_back(Tensor::Placeholder(name, shape->second));
    }
    return placeholders;
  });
}

absl::StatusOr<Tensor> Apply(absl::string_view text, absl::Span<const Tensor> inputs,
                             absl::string_view name) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Tensor> {
    TARTAN_ASSIGN_OR_RETURN(const Function function, Function::FromTile(text));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, function.Apply(inputs, name));
    if (results.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the function has ", results.size(), " outputs, not one"));
    }
    return results[0];
  });
}

absl::StatusOr<Tensor> Filled(const TensorShape& shape, double value) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Tensor> {
    if (!IsFloat(shape.type)) {
      return absl::InvalidArgumentError(absl::StrCat(shape.ToString(), " is not a float"));
    }
    TARTAN_RETURN_IF_ERROR(CheckShape(shape));
    std::vector<uint8_t> bytes(static_cast<size_t>(ByteWidth(shape.type)));
    StoreElement(shape.type, value, 0, bytes.data());
    const Tensor scalar = Tensor::Constant(HostTensor({shape.type, {}}, bytes), "filled");
    if (shape.rank() == 0) return scalar;
    std::vector<std::string> indices;
    for (int64_t d = 0; d < shape.rank(); ++d) indices.push_back(absl::StrCat("i", d));
    return Apply(absl::StrCat("function (S) -> (O) { O[", absl::StrJoin(indices, ", "), " : ",
                              absl::StrJoin(shape.dims, ", "), "] = +(S[]); }"),
                 {scalar}, "filled");
  });
}

}  // namespace tartan::api
