// SPDX-License-Identifier: Apache-2.0
// Variables and arrays of a work-group that the interpreter executes. Internal to interpret.cc.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "tile/base/data_type.h"
#include "tile/base/scalar_value.h"

namespace tartan::loop {

using LaneValues = absl::InlinedVector<Scalar, 1>;  // one scalar per lane

struct InterpretedMemory {
  DataType stored = DataType::kInvalid;
  int lanes = 1;  // lanes per array element; an index counts elements
  bool is_private = false;
  // One span of bytes; for private arrays one per work-item.
  std::vector<absl::Span<uint8_t>> bytes;
  std::vector<uint8_t> storage;
};

// Values by name. Each place of a kernel's tree looks its name up once, because strings are slow
// keys. The names must outlive the map.
template <class T>
class ByName {
 public:
  T& Of(const std::string& name) {
    T*& value = by_place_[&name];
    if (value == nullptr) value = &by_name_[name];
    return *value;
  }

 private:
  std::unordered_map<std::string, T> by_name_;
  std::unordered_map<const std::string*, T*> by_place_;
};

}  // namespace tartan::loop
