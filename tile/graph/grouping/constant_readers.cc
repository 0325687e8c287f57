// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/grouping/constant_readers.h"

#include <algorithm>

namespace tartan::graph {

using ir::ValueId;

bool ConstantReaders::ReadRepeatedly(ValueId v) const {
  const int64_t count = program_.values[v].shape.element_count();
  return std::any_of(users_[v].begin(), users_[v].end(), [&](ValueId user) {
    if (is_constant_[user]) return kinds_[user] == Kind::kReshape && ReadRepeatedly(user);
    return program_.values[user].shape.element_count() >= 2 * count;
  });
}

bool ConstantReaders::Read(ValueId v) const {
  return std::any_of(users_[v].begin(), users_[v].end(), [&](ValueId user) {
    const bool is_read_through = kinds_[user] == Kind::kReshape || kinds_[user] == Kind::kPointwise;
    return !is_constant_[user] || (is_read_through && Read(user));
  });
}

}  // namespace tartan::graph
