#include "tile/lang/binder.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/lang/contraction_binder.h"
#include "tile/lang/expression_binder.h"
#include "tile/lang/scope.h"

namespace tartan::lang {
namespace {

Position DimPosition(const Parameter& input, size_t i) {
  return i < input.dim_positions.size() ? input.dim_positions[i] : input.position;
}

class FunctionBinder {
 public:
  FunctionBinder(const Function& function, const BindOptions& options)
      : function_(function), options_(options), scope_(SourceText{options.file, options.text}) {}

  absl::StatusOr<ir::Program> Bind(absl::Span<const TensorShape> shapes) &&;

 private:
  // Where a size got its value.
  struct SizeOrigin {
    const Parameter* input;
    size_t dim;
    int64_t size;
  };

  absl::Status BindInput(size_t i, const TensorShape& shape);
  absl::Status BindSizes(const Parameter& input, const TensorShape& shape);
  absl::Status BindSymbol(const Parameter& input, size_t dim, int64_t size);
  absl::Status BindStatement(const Statement& statement);
  absl::Status BindOutput(size_t i);

  const Function& function_;
  const BindOptions& options_;
  Scope scope_;
  absl::flat_hash_map<std::string, SizeOrigin> sizes_;
};

absl::StatusOr<ir::Program> FunctionBinder::Bind(absl::Span<const TensorShape> shapes) && {
  if (shapes.size() != function_.inputs.size()) {
    return scope_.Error({}, absl::StrCat("the function takes ", function_.inputs.size(),
                                         " inputs, but shapes are given for ", shapes.size()));
  }
  if (!options_.inputs.empty() && options_.inputs.size() != shapes.size()) {
    return scope_.Error({}, absl::StrCat("flags are given for ", options_.inputs.size(), " of ",
                                         shapes.size(), " inputs"));
  }
  if (function_.outputs.empty()) {
    return scope_.Error(function_.inputs.empty() ? Position{} : function_.inputs[0].position,
                        "the function has no output: name one after '->'");
  }
  for (const Parameter& input : function_.inputs) scope_.Reserve(PlainName(input.name));
  for (const Statement& statement : function_.statements) {
    Match(
        statement.node, [&](const Assignment& x) { scope_.Reserve(PlainName(x.target)); },
        [&](const Contraction& x) { scope_.Reserve(PlainName(x.output.tensor)); });
  }
  for (size_t i = 0; i < shapes.size(); ++i) TARTAN_RETURN_IF_ERROR(BindInput(i, shapes[i]));
  for (const Statement& statement : function_.statements) {
    TARTAN_RETURN_IF_ERROR(BindStatement(statement));
  }
  for (size_t i = 0; i < function_.outputs.size(); ++i) TARTAN_RETURN_IF_ERROR(BindOutput(i));
  return std::move(scope_).Build();
}

absl::Status FunctionBinder::BindInput(size_t i, const TensorShape& shape) {
  const Parameter& input = function_.inputs[i];
  const ir::Input flags = options_.inputs.empty() ? ir::Input{} : options_.inputs[i];
  absl::StatusOr<ir::ValueId> value =
      scope_.builder().AddInput(std::string(PlainName(input.name)), shape, flags);
  if (!value.ok()) return scope_.At(input.position, value.status());
  TARTAN_RETURN_IF_ERROR(scope_.Define(input.name, {Bound{*value}, input.position}));
  if (!input.has_dims) return absl::OkStatus();
  if (static_cast<int64_t>(input.dims.size()) != shape.rank()) {
    return scope_.Error(input.position,
                        absl::StrCat("'", input.name, "' has ", input.dims.size(),
                                     input.dims.size() == 1 ? " dimension" : " dimensions",
                                     " here but the tensor given is ", shape.ToString()));
  }
  return BindSizes(input, shape);
}

absl::Status FunctionBinder::BindSizes(const Parameter& input, const TensorShape& shape) {
  for (size_t dim = 0; dim < input.dims.size(); ++dim) {
    int64_t wanted = 0;
    if (!absl::SimpleAtoi(input.dims[dim], &wanted)) {
      TARTAN_RETURN_IF_ERROR(BindSymbol(input, dim, shape.dims[dim]));
    } else if (wanted != shape.dims[dim]) {
      return scope_.Error(DimPosition(input, dim),
                          absl::StrCat("dimension ", dim, " of '", input.name, "' must be ", wanted,
                                       " but the tensor given is ", shape.ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status FunctionBinder::BindSymbol(const Parameter& input, size_t dim, int64_t size) {
  const std::string& symbol = input.dims[dim];
  const auto [it, inserted] = sizes_.emplace(symbol, SizeOrigin{&input, dim, size});
  if (inserted) {
    return scope_.Define(symbol, {Bound{CompileTimeScalar{size}}, DimPosition(input, dim), true});
  }
  const SizeOrigin& first = it->second;
  if (first.size == size) return absl::OkStatus();
  return scope_.Error(DimPosition(input, dim),
                      absl::StrCat("the size '", symbol, "' is ", first.size, " in dimension ",
                                   first.dim, " of '", first.input->name, "' but ", size,
                                   " in dimension ", dim, " of '", input.name, "'"));
}

absl::Status FunctionBinder::BindStatement(const Statement& statement) {
  return Match(
      statement.node,
      [&](const Assignment& x) -> absl::Status {
        TARTAN_ASSIGN_OR_RETURN(Bound bound, BindExpression(*x.value, x.target, scope_));
        return scope_.Define(x.target, {std::move(bound), statement.position});
      },
      [&](const Contraction& x) -> absl::Status {
        TARTAN_ASSIGN_OR_RETURN(const ir::ValueId value,
                                BindContraction(x, statement.position, scope_));
        return scope_.Define(x.output.tensor, {Bound{value}, statement.position});
      });
}

absl::Status FunctionBinder::BindOutput(size_t i) {
  const std::string& name = function_.outputs[i];
  const Position position =
      i < function_.output_positions.size() ? function_.output_positions[i] : Position{};
  const Definition* definition = scope_.Find(name);
  if (definition == nullptr) {
    return scope_.Error(position, absl::StrCat("the output '", name, "' is never assigned"));
  }
  TARTAN_ASSIGN_OR_RETURN(const ir::ValueId value, scope_.Tensor(definition->bound, position));
  scope_.builder().AddOutput(value, std::string(PlainName(name)));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ir::Program> Bind(const Function& function, absl::Span<const TensorShape> shapes,
                                 const BindOptions& options) {
  return FunctionBinder(function, options).Bind(shapes);
}

}  // namespace tartan::lang
