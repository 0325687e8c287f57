// SPDX-License-Identifier: Apache-2.0
// Opens a folder of PNG and JPEG pictures with one subfolder per class as a dataset.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

struct PictureOptions {
  bool channels_last = false;
  int64_t cache_bytes = int64_t{1} << 30;  // limit of the cache of decoded pictures
};

// The columns are "x", float32 [channels, height, width] from 0 to 1, and "y", int64: the index of
// the picture's folder among all folders, sorted by the bytes of their names (Column::classes). If
// any picture has colour, gray ones are converted to colour. Names that begin with a dot are
// skipped.
//
// Reads only headers. InvalidArgument names two pictures of different sizes with their sizes, and
// files that are not pictures.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenPictureFolder(
    const std::string& path, const PictureOptions& options = {});

}  // namespace tartan::data
