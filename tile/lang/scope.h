// The names of a function while it is bound and what they stand for; private to the binder.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/ir/program_builder.h"
#include "tile/lang/ast.h"
#include "tile/lang/compile_time.h"
#include "tile/lang/diagnostics.h"

namespace tartan::lang {

// A tensor, a number known at compile time, or a tuple of those.
struct Bound {
  std::variant<ir::ValueId, CompileTimeScalar, std::vector<Bound>> value;

  const CompileTimeScalar* scalar() const { return std::get_if<CompileTimeScalar>(&value); }
  const ir::ValueId* tensor() const { return std::get_if<ir::ValueId>(&value); }
  const std::vector<Bound>* tuple() const { return std::get_if<std::vector<Bound>>(&value); }
};

struct Definition {
  Bound bound;
  Position position;
  bool is_size = false;  // a size symbol of an input
};

class Scope {
 public:
  explicit Scope(SourceText source) : source_(source) {}

  ir::ProgramBuilder& builder() { return builder_; }

  absl::Status Error(Position position, absl::string_view message) const {
    return ErrorAt(source_, position, message);
  }
  // An error of the builder, at a place of the text.
  absl::Status At(Position position, const absl::Status& status) const;

  // Fails where the name is taken.
  absl::Status Define(const std::string& name, Definition definition);
  const Definition* Find(absl::string_view name) const;
  // InvalidArgument that suggests a name where there is none.
  absl::StatusOr<const Definition*> Resolve(absl::string_view name, Position position) const;

  // The tensor; a number becomes a scalar tensor, a tuple is an error.
  absl::StatusOr<ir::ValueId> Tensor(const Bound& bound, Position position);

  // A name for an intermediate value, "O_1", "O_2" …; never one that the text uses.
  void Reserve(absl::string_view name) { reserved_.emplace(name); }
  std::string IntermediateName(absl::string_view target);

  // Ends the use of the scope.
  absl::StatusOr<ir::Program> Build() && { return std::move(builder_).Build(); }

 private:
  SourceText source_;
  ir::ProgramBuilder builder_;
  absl::flat_hash_map<std::string, Definition> definitions_;
  absl::flat_hash_set<std::string> reserved_;
  absl::flat_hash_map<std::string, int> counters_;
};

}  // namespace tartan::lang
