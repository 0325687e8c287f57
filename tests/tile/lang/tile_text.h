// SPDX-License-Identifier: Apache-2.0
// Tile text, written in a test or in a file, through the parser, the binder and the naive
// evaluator.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/base/shape.h"
#include "tile/ir/program.h"

namespace tartan::lang {

std::string ReadFile(const std::string& path);

// The paths of the *.tile files of a folder under the source tree, sorted.
std::vector<std::string> TileFiles(const std::string& folder);

// The rest of the line "// key: …" in a text; "" where there is none.
std::string Header(const std::string& text, const std::string& key);

// Those of the line "// shapes: 2x3; 3x4" (an empty item is a scalar), all float32.
std::vector<TensorShape> HeaderShapes(const std::string& text);

absl::StatusOr<ir::Program> ParseAndBind(const std::string& text,
                                         const std::vector<TensorShape>& shapes,
                                         const std::string& file = "test.tile");

}  // namespace tartan::lang
