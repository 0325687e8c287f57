// SPDX-License-Identifier: Apache-2.0
// A folder of PNG pictures with a subfolder for each class.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

struct PictureOptions {
  bool channels_last = false;
  int64_t cache_bytes = int64_t{1} << 30;  // for decoded pictures
};

// The columns "x", float32 [channels, height, width] from 0 to 1, and "y", an int64: the number of
// the picture's folder among all, which are sorted by the bytes of their names (Column::classes).
// Gray pictures are given as colour if any has colour. What begins with a dot is left out.
// Only headers are read here. InvalidArgument names two pictures of differing sizes with both, and
// files that are no PNG pictures.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenPictureFolder(
    const std::string& path, const PictureOptions& options = {});

}  // namespace tartan::data
