// SPDX-License-Identifier: Apache-2.0
// Constants and variables of the kernel's index type, for the classes that emit index arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "tile/loop/build.h"

namespace tartan::lower {

class IndexBuilder {
 public:
  explicit IndexBuilder(DataType index_type) : index_type_(index_type) {}

  DataType index_type() const { return index_type_; }
  loop::Type IndexType() const { return {index_type_, 1}; }
  loop::ExprPtr Number(int64_t value) const { return loop::Int(value, index_type_); }
  loop::ExprPtr Var(const std::string& name) const { return loop::Var(name, IndexType()); }
  loop::StmtPtr Declare(const std::string& name, loop::ExprPtr value,
                        bool is_mutable = false) const {
    return loop::MakeDeclare(IndexType(), name, std::move(value), is_mutable);
  }

 protected:
  const DataType index_type_;
};

}  // namespace tartan::lower
