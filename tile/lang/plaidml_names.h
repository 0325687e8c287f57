// SPDX-License-Identifier: Apache-2.0
// Suggests replacements for functions of other languages, such as PlaidML's Tile.
#pragma once

#include "absl/strings/string_view.h"

namespace tartan::lang {

// "write …" for a function known from other languages, "" otherwise.
absl::string_view AdviceOnFunction(absl::string_view name);

}  // namespace tartan::lang
