// SPDX-License-Identifier: Apache-2.0
// Damaged files of the kinds that Tartan reads beside models, to see that each ends in one error or
// is read as what it says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan::onnx {
class Dice;
}

namespace tartan::cli {

// One kind of file.
struct FileKind {
  absl::string_view name;
  // Files of this kind with nothing wrong.
  std::vector<std::string> (*corpus)();
  // Changes one of them, so that the change is not noticed by a checksum alone.
  void (*damage)(std::string* bytes, onnx::Dice* dice);
  // Reads such a file; `folder` is for those that need a path, `seed` chooses what is expected of
  // it. Internal where what was read contradicts itself.
  absl::Status (*read)(const std::string& bytes, const std::string& folder, uint32_t seed);
};

// npy, png, pb (tensors, sequences, optionals and maps), cache (entries of the disk cache) and
// program (a compiled program as an entry holds it).
absl::Span<const FileKind> FileKinds();

}  // namespace tartan::cli
