// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/pull_back.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "tile/autodiff/dependence.h"
#include "tile/base/process_cache.h"
#include "tile/base/status_macros.h"
#include "tile/ir/program_builder.h"
#include "tile/lang/binder.h"
#include "tile/lang/custom_gradient.h"

namespace tartan::api {
namespace {

// A tensor passed to a derivative: an input or a result of the application, or the gradient of a
// result.
struct Argument {
  enum class Kind { kInput, kResult, kGradient } kind;
  int number;
};

// A program and the tensors passed as its inputs.
struct AppliedCall {
  ir::Program program;
  std::vector<Argument> arguments;
};

struct Derivative {
  Function function;
  std::vector<Argument> arguments;
};

// Everything that decides the derivative of an application.
struct Request {
  std::shared_ptr<const lang::Function> function;
  std::vector<TensorShape> shapes;
  std::vector<int> wrt;               // inputs
  autodiff::GradientOptions options;  // seeded, with the outputs that have gradients

  // Bytes of the function's address and of everything else.
  std::string Key() const {
    std::string key;
    const auto append = [&](int64_t number) {
      key.append(reinterpret_cast<const char*>(&number), sizeof(number));
    };
    const auto append_all = [&](const auto& numbers) {
      append(static_cast<int64_t>(numbers.size()));
      for (const int64_t number : numbers) append(number);
    };
    append(static_cast<int64_t>(reinterpret_cast<intptr_t>(function.get())));
    for (const TensorShape& shape : shapes) {
      append(static_cast<int64_t>(shape.type));
      append_all(shape.dims);
    }
    append_all(wrt);
    append_all(options.outputs);
    append_all(options.stops);
    append(static_cast<int64_t>(options.ties));
    append(static_cast<int64_t>(options.straight_through));
    return key;
  }
};

// Derivatives that were made, because layers repeat. The cache is emptied when full.
class DerivativeCache : public ProcessCache<DerivativeCache> {
 public:
  // Returns null if the cache does not have it.
  std::shared_ptr<const Derivative> Find(const std::string& key) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = derivatives_.find(key);
    return found == derivatives_.end() ? nullptr : found->second.derivative;
  }

  void Add(std::string key, const Request& request, std::shared_ptr<const Derivative> derivative) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (derivatives_.size() >= kCapacity) derivatives_.clear();
    derivatives_.emplace(std::move(key), Entry{request.function, std::move(derivative)});
  }

 private:
  struct Entry {
    std::shared_ptr<const lang::Function> function;  // keeps the address in the key
    std::shared_ptr<const Derivative> derivative;
  };
  std::unordered_map<std::string, Entry> derivatives_;
};

// If `id` is another value rounded to a narrower type and converted back, returns that value before
// rounding; otherwise `id`.
ir::ValueId BeforeRounding(const ir::Program& program, ir::ValueId id) {
  const DataType type = program.values[id].shape.type;
  ir::ValueId before = id;
  while (true) {
    const auto* conversion = std::get_if<ir::Elementwise>(&program.values[id].op);
    if (conversion == nullptr || conversion->op != ScalarOp::kCast) return before;
    id = conversion->operands[0];
    if (!IsFloat(program.values[id].shape.type)) return before;
    if (program.values[id].shape.type == type) before = id;
  }
}

// Turns the first `count` outputs, the results of the application, into inputs of the others.
// For a rounded result, the value before rounding is replaced by the result: derivatives use the
// rounded value, and only that is stored.
void ReadResults(size_t count, AppliedCall* call) {
  for (size_t result = 0; result < count; ++result) {
    const ir::ValueId id = BeforeRounding(call->program, call->program.outputs[result]);
    ir::Value& value = call->program.values[id];
    if (std::holds_alternative<ir::Input>(value.op)) continue;
    if (std::holds_alternative<ir::Constant>(value.op)) continue;
    value.op = ir::Input{};
    call->program.inputs.push_back(id);
    call->arguments.push_back({Argument::Kind::kResult, static_cast<int>(result)});
  }
  const auto erase_first = [count](auto& items) {
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
  };
  erase_first(call->program.outputs);
  erase_first(call->program.output_names);
}

absl::Status RemoveDeadValues(ir::Program* program) {
  TARTAN_ASSIGN_OR_RETURN(*program, ir::ProgramBuilder(std::move(*program)).Build());
  return absl::OkStatus();
}

// Removes values and inputs that the outputs do not need.
absl::Status RemoveUnused(AppliedCall* call) {
  TARTAN_RETURN_IF_ERROR(RemoveDeadValues(&call->program));
  const std::vector<int> uses = ir::UseCounts(call->program);
  std::vector<ir::ValueId> inputs;
  std::vector<Argument> arguments;
  for (size_t i = 0; i < call->program.inputs.size(); ++i) {
    if (uses[call->program.inputs[i]] == 0) continue;
    inputs.push_back(call->program.inputs[i]);
    arguments.push_back(call->arguments[i]);
  }
  call->program.inputs = std::move(inputs);
  call->arguments = std::move(arguments);
  return RemoveDeadValues(&call->program);
}

bool Stops(const lang::Expr& expr) {
  const auto* call = std::get_if<lang::Call>(&expr.node);
  if (call == nullptr) return false;
  const auto& arguments = call->arguments;
  return call->function == "stop_gradient" || call->function == lang::kCustomGradient ||
         std::any_of(arguments.begin(), arguments.end(),
                     [](const lang::ExprPtr& argument) { return Stops(*argument); });
}

// `name` is for messages.
absl::StatusOr<std::shared_ptr<const Derivative>> Derive(const Request& request,
                                                         const std::string& name) {
  TARTAN_ASSIGN_OR_RETURN(const ir::Program forward,
                          lang::Bind(*request.function, request.shapes, {}));
  AppliedCall call;
  for (size_t i = 0; i < request.shapes.size(); ++i) {
    call.arguments.push_back({Argument::Kind::kInput, static_cast<int>(i)});
  }
  for (const int result : request.options.outputs) {
    call.arguments.push_back({Argument::Kind::kGradient, result});
  }
  absl::StatusOr<ir::Program> program = autodiff::Gradient(forward, request.wrt, request.options);
  if (!program.ok()) {
    return absl::Status(program.status().code(), absl::StrCat(name.empty() ? "a function" : name,
                                                              ": ", program.status().message()));
  }
  call.program = *std::move(program);
  ReadResults(forward.outputs.size(), &call);
  TARTAN_RETURN_IF_ERROR(RemoveUnused(&call));
  TARTAN_ASSIGN_OR_RETURN(Function function, Function::FromTile(ir::ToTile(call.program)));
  return std::make_shared<const Derivative>(
      Derivative{std::move(function), std::move(call.arguments)});
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> PullBack(const std::shared_ptr<const TensorNode>& node,
                                             absl::Span<const Tensor> gradients,
                                             const std::vector<bool>& wanted,
                                             autodiff::GradientOptions options) {
  const auto& application = std::get<ApplicationNode>(node->kind);
  Request request = {application.function, {}, {}, std::move(options)};
  for (size_t i = 0; i < application.inputs.size(); ++i) {
    const NodeResult& input = application.inputs[i];
    request.shapes.push_back(input.node->shapes[input.result]);
    if (wanted[i]) request.wrt.push_back(static_cast<int>(i));
  }
  request.options.seeded = true;
  for (size_t result = 0; result < gradients.size(); ++result) {
    if (gradients[result].defined()) request.options.outputs.push_back(static_cast<int>(result));
  }
  std::string key = request.Key();
  std::shared_ptr<const Derivative> derivative = DerivativeCache::OfProcess().Find(key);
  if (derivative == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(derivative, Derive(request, node->name));
    DerivativeCache::OfProcess().Add(std::move(key), request, derivative);
  }
  std::vector<Tensor> arguments;
  for (const Argument& argument : derivative->arguments) {
    switch (argument.kind) {
      case Argument::Kind::kInput:
        arguments.push_back(application.inputs[argument.number]);
        break;
      case Argument::Kind::kResult:
        arguments.push_back(Tensor(node, argument.number));
        break;
      case Argument::Kind::kGradient:
        arguments.push_back(gradients[argument.number]);
        break;
    }
  }
  return derivative->function.Apply(arguments, absl::StrCat(node->name, "_grad"));
}

absl::StatusOr<NodeDerivatives> DerivativesOf(const ApplicationNode& application,
                                              const autodiff::GradientOptions& options) {
  std::vector<TensorShape> shapes;
  for (const NodeResult& input : application.inputs) {
    shapes.push_back(input.node->shapes[input.result]);
  }
  TARTAN_ASSIGN_OR_RETURN(const ir::Program program, lang::Bind(*application.function, shapes, {}));
  return autodiff::FindDerivatives(program, options);
}

bool StopsGradients(const lang::Function& function) {
  return std::any_of(function.statements.begin(), function.statements.end(),
                     [](const lang::Statement& statement) {
                       const auto* assignment = std::get_if<lang::Assignment>(&statement.node);
                       return assignment != nullptr && Stops(*assignment->value);
                     });
}

}  // namespace tartan::api
