// SPDX-License-Identifier: Apache-2.0
// Opens a folder of PNG and JPEG pictures as a dataset: with one subfolder per class, or with
// masks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

struct PictureOptions {
  bool channels_last = false;
  int64_t cache_bytes = int64_t{1} << 30;  // limit of the cache of decoded pictures
  // The samples that masks have for the classes 0, 1 …; empty: the samples are the classes.
  std::vector<uint8_t> mask_values = {};
};

// The columns are "x", float32 [channels, height, width] from 0 to 1, and "y", int64. If any
// picture has colour, gray ones are converted to colour. Names that begin with a dot are skipped.
// - Classes: each picture is in the subfolder of its class. "y" is the index of the picture's
// folder
//   among all folders, sorted by the bytes of their names (Column::classes).
// - Masks: the only subfolders are "images" and "masks". "y" is [height, width], the class of each
//   pixel: the PNG file of the same name, apart from the extension, in "masks" (DecodeMask).
//
// Reads only headers. InvalidArgument names two pictures of different sizes with their sizes, files
// that are not pictures, and pictures without a mask or masks without a picture.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenPictureFolder(
    const std::string& path, const PictureOptions& options = {});

}  // namespace tartan::data
