// SPDX-License-Identifier: Apache-2.0
// Damaged files of each kind that Tartan reads besides models. A test reads each one and expects an
// error or the contents that the file declares.
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

// A kind of file.
struct FileKind {
  absl::string_view name;
  // Returns undamaged files of this kind.
  std::vector<std::string> (*corpus)();
  // Damages a file. Repairs the checksums of PNG chunks, so that the reader gets past them.
  void (*damage)(std::string* bytes, onnx::Dice* dice);
  // Reads such a file. `folder` is for kinds that need a path; `seed` chooses what the reader
  // expects. Returns Internal when the contents contradict themselves.
  absl::Status (*read)(const std::string& bytes, const std::string& folder, uint32_t seed);
};

// All kinds: npy, png, pb (tensors, sequences, optionals and maps), cache (entries of the disk
// cache) and program (a compiled program as a cache entry stores it).
absl::Span<const FileKind> FileKinds();

}  // namespace tartan::cli
