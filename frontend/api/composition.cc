// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/composition.h"

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/api/loop.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/status_macros.h"
#include "tile/lang/parser.h"

namespace tartan::api {
namespace {

lang::ExprPtr MakeExpr(decltype(lang::Expr::node) node) {
  return std::make_shared<const lang::Expr>(lang::Expr{{}, std::move(node)});
}

lang::ExprPtr MakeCall(std::string function, std::vector<lang::ExprPtr> arguments) {
  return MakeExpr(lang::Call{std::move(function), std::move(arguments)});
}

lang::ExprPtr FloatExpr(double value) {
  if (value < 0 || (value == 0 && 1 / value < 0)) return MakeCall("neg", {FloatExpr(-value)});
  return MakeExpr(lang::FloatLiteral{value});
}

// The value of a scalar as an expression of its type; null if no Tile constant can express it.
lang::ExprPtr ScalarExpr(const HostTensor& scalar) {
  const DataType type = scalar.type();
  auto bits = [type] { return MakeExpr(lang::IntLiteral{8 * ByteWidth(type)}); };
  if (type == DataType::kBFloat16) return MakeCall("as_bfloat", {FloatExpr(scalar.GetDouble(0))});
  if (IsFloat(type)) return MakeCall("as_float", {FloatExpr(scalar.GetDouble(0)), bits()});
  const int64_t value = scalar.GetInt(0);
  if (type == DataType::kUInt64 && value < 0) return nullptr;
  if (value == INT64_MIN) return nullptr;
  lang::ExprPtr literal = MakeExpr(lang::IntLiteral{value < 0 ? -value : value});
  if (value < 0) literal = MakeCall("neg", {literal});
  if (type == DataType::kBool) return MakeCall("as_bool", {literal});
  return MakeCall(IsSignedInteger(type) ? "as_int" : "as_uint", {literal, bits()});
}

}  // namespace

void Composition::AddPlaceholders(absl::Span<const Tensor> placeholders) {
  for (const Tensor& placeholder : placeholders) AddInput(placeholder);
}

void Composition::SetGiven(absl::Span<const Tensor> given) {
  for (const Tensor& tensor : given) given_.emplace(tensor.node().get(), tensor.result());
}

void Composition::AddOutputs(absl::Span<const Tensor> outputs) {
  for (const Tensor& output : outputs) Visit(output);
  for (const Tensor& output : outputs) {
    // Each output gets its own statement, because it may also be an input or another output.
    const std::string name = scope_.Unique(absl::StrCat("Out_", output.node()->name));
    result_.function.statements.push_back(
        {{}, {}, lang::Assignment{name, MakeExpr(lang::Name{NameOf(output)})}});
    result_.function.outputs.push_back(name);
  }
}

void Composition::AddInput(const Tensor& tensor) {
  if (IsNamed(tensor)) return;
  const std::string& wanted = tensor.node()->name;
  SetName(tensor, scope_.Unique(wanted.empty() ? "Constant" : wanted));
  lang::Parameter parameter;
  parameter.name = NameOf(tensor);
  result_.function.inputs.push_back(std::move(parameter));
  result_.inputs.push_back(tensor);
}

// Inlines everything that `root` depends on, operands first, without recursion.
void Composition::Visit(const Tensor& root) {
  std::vector<std::pair<Tensor, bool>> stack = {{root, false}};
  while (!stack.empty()) {
    const auto [tensor, operands_done] = std::move(stack.back());
    stack.pop_back();
    if (IsNamed(tensor)) continue;
    if (AddKnown(tensor)) continue;
    if (tensor.is_placeholder() || given_.count({tensor.node().get(), tensor.result()}) > 0) {
      AddInput(tensor);
    } else if (operands_done) {
      AddApplication(tensor);
    } else {
      stack.push_back({tensor, true});
      for (const NodeResult& input : InputsOf(*tensor.node())) stack.push_back({input, false});
    }
  }
}

bool Composition::IsNamed(const Tensor& tensor) const {
  const auto it = names_.find(tensor.node().get());
  return it != names_.end() && !it->second[tensor.result()].empty();
}

// Adds a known value as a constant in the text, or as an input.
bool Composition::AddKnown(const Tensor& tensor) {
  const std::optional<HostTensor> value = KnownValue(tensor);
  if (!value.has_value()) return false;
  const lang::ExprPtr literal = value->shape().rank() == 0 ? ScalarExpr(*value) : nullptr;
  if (literal != nullptr) {
    const std::string name = scope_.Unique("Scalar");
    result_.function.statements.push_back({{}, {}, lang::Assignment{name, literal}});
    SetName(tensor, name);
    return true;
  }
  if (tensor.constant() != nullptr) {
    AddInput(tensor);
    return true;
  }
  const Tensor constant = Tensor::Constant(*value, tensor.node()->name);
  AddInput(constant);
  SetName(tensor, NameOf(constant));
  return true;
}

void Composition::SetName(const Tensor& tensor, const std::string& name) {
  auto& names = names_[tensor.node().get()];
  names.resize(tensor.node()->shapes.size());
  names[tensor.result()] = name;
}

void Composition::AddApplication(const Tensor& tensor) {
  const TensorNode& node = *tensor.node();
  const auto& application = std::get<ApplicationNode>(node.kind);
  std::vector<std::string> arguments;
  std::vector<TensorShape> shapes;
  for (const Tensor input : application.inputs) {
    arguments.push_back(NameOf(input));
    shapes.push_back(input.shape());
  }
  names_[&node] = InlineFunction(*application.function, arguments, shapes, node.name, &scope_,
                                 &result_.function.statements);
}

namespace {

using NodePtr = std::shared_ptr<const TensorNode>;

// Pieces alternate with loops: loop `k` comes between the pieces `k` and `k + 1`.
class PartsComposer {
 public:
  PartsComposer(absl::Span<const NodePtr> loops, absl::Span<const Tensor> placeholders,
                absl::Span<const Tensor> outputs)
      : loops_(loops), placeholders_(placeholders), outputs_(outputs), exports_(loops.size() + 1) {}

  absl::StatusOr<ComposedProgram> Run(absl::string_view name) {
    AssignPieces();
    for (const Tensor& placeholder : placeholders_) AddInput(placeholder);
    for (size_t k = 0; k < loops_.size(); ++k) {
      AddPiece(k, {});
      TARTAN_RETURN_IF_ERROR(AddLoop(*loops_[k], k));
    }
    const std::vector<Tensor> last = LastResults();
    AddPiece(loops_.size(), last);
    return Finish(name, last);
  }

 private:
  struct Part {
    proto::Program::Part proto;
    std::vector<Tensor> arguments;
    std::vector<Tensor> results;
  };

  // Assigns each application to the first piece that needs it, and finds the values that a piece
  // computes for later parts.
  void AssignPieces() {
    for (size_t k = 0; k < loops_.size(); ++k) {
      std::vector<Tensor> needed;
      for (const NodeResult& input : InputsOf(*loops_[k])) needed.push_back(input);
      Assign(k, needed);
      for (const Tensor& tensor : needed) Export(tensor, k + 1);
    }
    Assign(loops_.size(), {outputs_.begin(), outputs_.end()});
    for (const Tensor& tensor : outputs_) Export(tensor, loops_.size());
  }

  void Assign(size_t piece, std::vector<Tensor> stack) {
    while (!stack.empty()) {
      const Tensor tensor = std::move(stack.back());
      stack.pop_back();
      const TensorNode& node = *tensor.node();
      if (KnownValue(tensor).has_value()) continue;
      if (!std::holds_alternative<ApplicationNode>(node.kind)) continue;
      if (!piece_.emplace(&node, piece).second) continue;
      for (const NodeResult& input : InputsOf(node)) {
        Export(input, piece);
        stack.push_back(input);
      }
    }
  }

  // Notes that piece `reader`, or the loop before it, reads a tensor.
  void Export(const Tensor& tensor, size_t reader) {
    const auto found = piece_.find(tensor.node().get());
    if (found == piece_.end() || found->second >= reader || KnownValue(tensor).has_value()) return;
    if (exported_.insert(ResultKeyOf(tensor)).second) exports_[found->second].push_back(tensor);
  }

  void AddInput(const Tensor& tensor) {
    if (!number_.emplace(ResultKeyOf(tensor), static_cast<int>(inputs_.size())).second) return;
    inputs_.push_back(tensor);
  }

  static void SetInputs(const ComposedFunction& composed, proto::Program* program) {
    for (size_t i = 0; i < composed.inputs.size(); ++i) {
      const Tensor& tensor = composed.inputs[i];
      proto::Program::Input* input = program->add_inputs();
      input->set_name(composed.function.inputs[i].name);
      input->mutable_shape()->set_type(static_cast<proto::DataType>(tensor.type()));
      for (int64_t dim : tensor.dims()) input->mutable_shape()->add_dims(dim);
    }
  }

  // Adds a part. `arguments` replace the first inputs of the function.
  Part& AddPart(ComposedFunction composed, absl::Span<const Tensor> arguments) {
    Part& part = parts_.emplace_back();
    part.proto.mutable_program()->set_code(lang::Print(composed.function));
    SetInputs(composed, part.proto.mutable_program());
    part.arguments = std::move(composed.inputs);
    std::copy(arguments.begin(), arguments.end(), part.arguments.begin());
    for (const Tensor& argument : part.arguments) {
      if (argument.constant() != nullptr) AddInput(argument);
    }
    return part;
  }

  void AddPiece(size_t piece, absl::Span<const Tensor> last) {
    const bool is_last = piece == loops_.size();
    std::vector<Tensor> results = exports_[piece];
    results.insert(results.end(), last.begin(), last.end());
    if (results.empty() && !is_last) return;
    Composition composition;
    if (is_last) composition.AddPlaceholders(placeholders_);
    composition.SetGiven(given_);
    composition.AddOutputs(results);
    Part& part = AddPart(std::move(composition).Finish(), {});
    part.proto.set_results(static_cast<int>(results.size()));
    given_.insert(given_.end(), exports_[piece].begin(), exports_[piece].end());
    part.results = std::move(results);
  }

  absl::Status AddLoop(const TensorNode& node, size_t number) {
    const auto& loop = std::get<LoopNode>(node.kind);
    const RepeatBody& body = *loop.body;
    std::vector<Tensor> placeholders = body.states;
    placeholders.insert(placeholders.end(), body.slices.begin(), body.slices.end());
    placeholders.insert(placeholders.end(), body.invariants.begin(), body.invariants.end());
    std::vector<Tensor> results = body.next_states;
    results.insert(results.end(), body.rows.begin(), body.rows.end());
    Composition composition;
    composition.AddPlaceholders(placeholders);
    composition.AddOutputs(results);
    ComposedFunction composed = std::move(composition).Finish();
    for (size_t i = placeholders.size(); i < composed.inputs.size(); ++i) {
      if (composed.inputs[i].constant() != nullptr) continue;
      return absl::InvalidArgumentError(absl::StrCat("the body of the loop '", node.name,
                                                     "' depends on '",
                                                     composed.inputs[i].node()->name, "'"));
    }
    std::vector<Tensor> arguments(loop.inputs.begin(), loop.inputs.end());
    for (Tensor& argument : arguments) {
      const std::optional<HostTensor> known = KnownValue(argument);
      if (known.has_value() && argument.constant() == nullptr) {
        argument = Tensor::Constant(*known, argument.node()->name);
      }
    }
    Part& part = AddPart(std::move(composed), arguments);
    part.proto.set_iterations(body.iterations);
    part.proto.set_states(static_cast<int>(body.states.size()));
    part.proto.set_slices(static_cast<int>(body.slices.size()));
    part.proto.set_reversed(loop.reversed);
    for (const Tensor& row : body.rows) part.proto.add_row_elements(RowElements(row.shape()));
    for (size_t r = 0; r < results.size(); ++r) {
      part.results.push_back(Tensor(loops_[number], static_cast<int>(r)));
      given_.push_back(part.results.back());
      if (loop.shorter == nullptr || r >= loop.shorter->shapes.size()) continue;
      const Tensor same(loop.shorter, static_cast<int>(r));
      given_.push_back(same);
      same_.push_back({same, part.results.back()});
    }
    return absl::OkStatus();
  }

  // The outputs that the last piece computes.
  std::vector<Tensor> LastResults() const {
    std::set<ResultKey> given;
    for (const Tensor& tensor : given_) given.insert(ResultKeyOf(tensor));
    std::vector<Tensor> results;
    for (const Tensor& output : outputs_) {
      if (given.count(ResultKeyOf(output)) == 0) results.push_back(output);
    }
    return results;
  }

  absl::StatusOr<ComposedProgram> Finish(absl::string_view name, const std::vector<Tensor>& last) {
    ComposedProgram result;
    result.program.set_name(std::string(name));
    for (const Tensor& tensor : inputs_) {
      proto::Program::Input* input = result.program.add_inputs();
      input->set_name(tensor.node()->name);
      input->mutable_shape()->set_type(static_cast<proto::DataType>(tensor.type()));
      for (int64_t dim : tensor.dims()) input->mutable_shape()->add_dims(dim);
      input->set_is_constant(tensor.constant() != nullptr);
    }
    auto next = static_cast<int>(inputs_.size());
    const int last_first = [&] {
      int first = next;
      for (const Part& part : parts_) first += static_cast<int>(part.results.size());
      return first - static_cast<int>(last.size());
    }();
    for (Part& part : parts_) {
      for (const Tensor& argument : part.arguments) {
        const auto found = number_.find(ResultKeyOf(argument));
        if (found == number_.end()) {
          return absl::InvalidArgumentError(
              absl::StrCat("a result depends on '", argument.node()->name,
                           "', which is neither an input nor a state"));
        }
        part.proto.add_arguments(found->second);
      }
      for (const Tensor& made : part.results) {
        number_.emplace(ResultKeyOf(made), next++);
      }
      for (const auto& [same, made] : same_) {
        if (const auto found = number_.find(ResultKeyOf(made)); found != number_.end()) {
          number_.emplace(ResultKeyOf(same), found->second);
        }
      }
      *result.program.add_parts() = std::move(part.proto);
    }
    // Each output that the last piece computes has a result of its own.
    int at = last_first;
    size_t met = 0;
    for (const Tensor& output : outputs_) {
      const bool is_last = met < last.size() && last[met] == output;
      result.program.add_outputs(is_last ? at++ : number_.at(ResultKeyOf(output)));
      if (is_last) ++met;
    }
    result.inputs = inputs_;
    result.outputs.assign(outputs_.begin(), outputs_.end());
    return result;
  }

  const absl::Span<const NodePtr> loops_;
  const absl::Span<const Tensor> placeholders_;
  const absl::Span<const Tensor> outputs_;
  std::unordered_map<const TensorNode*, size_t> piece_;  // of applications
  std::vector<std::vector<Tensor>> exports_;             // per piece
  std::set<ResultKey> exported_;
  std::vector<Tensor> given_;                    // values of the parts so far
  std::vector<std::pair<Tensor, Tensor>> same_;  // results of shorter loops and of those in use
  std::vector<Part> parts_;
  std::vector<Tensor> inputs_;
  std::map<ResultKey, int> number_;  // of values
};

}  // namespace

absl::StatusOr<ComposedProgram> ComposeParts(absl::Span<const NodePtr> loops,
                                             absl::Span<const Tensor> placeholders,
                                             absl::Span<const Tensor> outputs,
                                             absl::string_view name) {
  return PartsComposer(loops, placeholders, outputs).Run(name);
}

}  // namespace tartan::api
