#include "frontend/api/function.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::api {
namespace {

// Parsed functions by text. Bounded: emptied when full, since what is in use is held elsewhere.
class FunctionCache {
 public:
  absl::StatusOr<Function> Get(absl::string_view text,
                               absl::StatusOr<Function> (*parse)(absl::string_view)) {
    const std::string key(text);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (auto it = functions_.find(key); it != functions_.end()) return it->second;
    }
    TARTAN_ASSIGN_OR_RETURN(Function function, parse(text));
    std::lock_guard<std::mutex> lock(mutex_);
    if (functions_.size() >= kCapacity) functions_.clear();
    functions_.emplace(key, function);
    return function;
  }

 private:
  static constexpr size_t kCapacity = 4096;
  std::mutex mutex_;
  std::unordered_map<std::string, Function> functions_;
};

}  // namespace

absl::StatusOr<Function> Function::FromTile(absl::string_view text) {
  static auto* const cache = new FunctionCache();
  return cache->Get(text, [](absl::string_view source) -> absl::StatusOr<Function> {
    TARTAN_ASSIGN_OR_RETURN(lang::Function ast, lang::Parse(source));
    Function function;
    function.ast_ = std::make_shared<const lang::Function>(std::move(ast));
    function.text_ = std::make_shared<const std::string>(source);
    return function;
  });
}

absl::StatusOr<std::vector<Tensor>> Function::Apply(absl::Span<const Tensor> inputs,
                                                    absl::string_view name) const {
  if (inputs.size() != ast_->inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the function takes ", ast_->inputs.size(), " inputs, not ", inputs.size()));
  }
  std::vector<TensorShape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) {
      return absl::InvalidArgumentError(
          absl::StrCat("nothing is given for the input '", ast_->inputs[i].name, "'"));
    }
    shapes.push_back(inputs[i].shape());
  }
  lang::BindOptions options;
  options.text = *text_;
  TARTAN_ASSIGN_OR_RETURN(const ir::Program program, lang::Bind(*ast_, shapes, options));
  auto node = std::make_shared<TensorNode>();
  node->name = std::string(name);
  node->kind = ApplicationNode{ast_, {inputs.begin(), inputs.end()}};
  for (const Tensor& input : inputs) {
    if (node->placeholder == nullptr) node->placeholder = input.node()->placeholder;
  }
  for (ir::ValueId output : program.outputs) node->shapes.push_back(program.values[output].shape);
  std::vector<Tensor> results;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    results.push_back(Tensor(node, static_cast<int>(i)));
  }
  return results;
}

absl::StatusOr<Tensor> Apply(absl::string_view text, absl::Span<const Tensor> inputs,
                             absl::string_view name) {
  TARTAN_ASSIGN_OR_RETURN(const Function function, Function::FromTile(text));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, function.Apply(inputs, name));
  if (results.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the function has ", results.size(), " outputs, not one"));
  }
  return results[0];
}

}  // namespace tartan::api
