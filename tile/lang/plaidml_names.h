// SPDX-License-Identifier: Apache-2.0
// Functions that other languages have, PlaidML's Tile among them, and what to write here instead.
#pragma once

#include "absl/strings/string_view.h"

namespace tartan::lang {

// "write …" for a function that is known elsewhere, "" for others.
absl::string_view AdviceOnFunction(absl::string_view name);

}  // namespace tartan::lang
