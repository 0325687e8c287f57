// SPDX-License-Identifier: Apache-2.0
// Reads Tile text from tests and files, and parses, binds and evaluates it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/base/shape.h"
#include "tile/ir/program.h"

namespace tartan::lang {

std::string ReadFile(const std::string& path);

// Returns the sorted paths of the *.tile files of a folder in the source tree.
std::vector<std::string> TileFiles(const std::string& folder);

// Returns the rest of the line "// key: …" in a text, or "" if there is none.
std::string Header(const std::string& text, const std::string& key);

// Returns the shapes of the line "// shapes: 2x3; 3x4", all float32; an empty item is a scalar.
std::vector<TensorShape> HeaderShapes(const std::string& text);

absl::StatusOr<ir::Program> ParseAndBind(const std::string& text,
                                         const std::vector<TensorShape>& shapes,
                                         const std::string& file = "test.tile");

}  // namespace tartan::lang
