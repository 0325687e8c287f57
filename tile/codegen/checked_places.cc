// SPDX-License-Identifier: Apache-2.0
#include "tile/codegen/checked_places.h"

#include "absl/strings/str_cat.h"

namespace tartan::codegen {

void CheckedPlaces::Begin(const loop::Kernel& kernel) {
  is_on_ = kernel.checks_bounds;
  for (size_t p = 0; p < kernel.parameters.size(); ++p) numbers_[kernel.parameters[p].name] = p;
}

void CheckedPlaces::Add(const loop::DeclareArray& array) { sizes_[array.name] = array.size; }

void CheckedPlaces::Check(const std::string& lanes, const loop::Type& type, Place* place) const {
  if (!is_on_ || place->space == MemorySpace::kPrivate) return;
  const bool is_global = place->space == MemorySpace::kGlobal;
  std::string limit;
  int number = -1;
  if (is_global) {
    const auto found = numbers_.find(place->buffer);
    if (found == numbers_.end()) return;
    number = static_cast<int>(found->second);
    limit = absl::StrCat("tt_limit_", place->buffer);
  } else {
    const auto found = sizes_.find(place->buffer);
    if (found == sizes_.end()) return;
    limit = absl::StrCat(found->second);
  }
  // The index of an array of vectors counts whole vectors.
  const std::string count = place->lanes > 1 ? "1" : lanes;
  place->index =
      Code{absl::StrCat("tt_checked_", dialect_.type_name(type), "(", place->index.text, ", ",
                        count, ", ", limit, ", ", number, ", tt_launch, tt_report)")};
}

std::string ArrayText(const loop::DeclareArray& array, const Dialect& dialect) {
  const bool is_local = array.space == loop::Space::kLocal;
  const MemorySpace space = is_local ? MemorySpace::kLocal : MemorySpace::kPrivate;
  // Private arrays from this size (elements) on are in memory, smaller ones in registers
  // (empirical).
  constexpr int64_t kInMemory = 256;
  const bool is_aligned = array.type.lanes == 1 && (is_local || array.size >= kInMemory);
  if (!array.over.empty()) {
    const std::string pointer =
        absl::StrCat(dialect.local_space, dialect.stored_type_name(array.type, space), "*");
    return absl::StrCat(pointer, " ", array.name, " = (", pointer, ")", array.over, ";");
  }
  return absl::StrCat(is_local ? dialect.local_space : "",
                      dialect.stored_type_name(array.type, space), " ", array.name, "[", array.size,
                      "]",
                      array.alignment > 0 ? dialect.aligned_to(array.alignment)
                      : is_aligned        ? dialect.aligned_array
                                          : "",
                      ";");
}

}  // namespace tartan::codegen
