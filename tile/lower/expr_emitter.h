// Scalar expressions of a kernel body as semantic-tree expressions, with shared parts computed
// once into variables.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tile/poly/flat_contraction.h"
#include "tile/sem/build.h"

namespace tartan::lower {

// Index arithmetic of one kernel: polynomials over index variables as expressions.
class IndexEmitter {
 public:
  IndexEmitter(const poly::FlatContraction& flat, DataType index_type)
      : flat_(flat), index_type_(index_type), values_(flat.indices.size()) {}

  DataType type() const { return index_type_; }
  sem::ExprPtr Number(int64_t value) const { return sem::Int(value, index_type_); }
  // The expression that holds the current value of an index.
  void Set(int index, sem::ExprPtr value) { values_[index] = std::move(value); }
  const sem::ExprPtr& value(int index) const { return values_[index]; }

  sem::ExprPtr Emit(const math::Affine& poly) const;
  sem::ExprPtr Emit(const poly::FlatAccess& access) const;
  // 0 <= poly < range, without the sides the index ranges imply; null where both are.
  sem::ExprPtr Condition(const math::RangeConstraint& constraint) const;

 private:
  const poly::FlatContraction& flat_;
  const DataType index_type_;
  std::vector<sem::ExprPtr> values_;
};

// Emits into one block of straight-line code: declarations of shared values are appended to it.
class ExprEmitter {
 public:
  // `prefix` begins the names of variables. Tensor t is the parameter "in<t>".
  ExprEmitter(const poly::FlatContraction& flat, const IndexEmitter& indices, std::string prefix,
              std::vector<sem::StmtPtr>* block)
      : flat_(flat), indices_(indices), prefix_(std::move(prefix)), block_(block) {}

  void SetAccumulator(sem::ExprPtr value) { accumulator_ = std::move(value); }
  // Counts uses, so that what is used more than once gets a variable. Call for every root first.
  void Count(const poly::ExprPtr& expr);
  sem::ExprPtr Emit(const poly::ExprPtr& expr);

 private:
  sem::ExprPtr EmitNew(const poly::Expr& expr);
  sem::ExprPtr EmitRead(const poly::TensorAccess& access);
  sem::ExprPtr EmitReadAt(const poly::ReadAt& read);
  sem::ExprPtr Load(int tensor, sem::ExprPtr index,
                    const std::vector<math::RangeConstraint>& guard);
  sem::ExprPtr EmitConditions(const std::vector<math::RangeConstraint>& constraints);
  sem::ExprPtr Name(sem::ExprPtr value);

  const poly::FlatContraction& flat_;
  const IndexEmitter& indices_;
  const std::string prefix_;
  std::vector<sem::StmtPtr>* block_;
  sem::ExprPtr accumulator_;
  std::unordered_map<const poly::Expr*, int> uses_;
  std::unordered_map<const poly::Expr*, sem::ExprPtr> emitted_;
  std::map<std::string, sem::ExprPtr> conditions_;
  int next_name_ = 0;
};

}  // namespace tartan::lower
