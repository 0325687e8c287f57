// SPDX-License-Identifier: Apache-2.0
// A dataset from what a user names.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/data/csv.h"
#include "frontend/data/dataset.h"
#include "frontend/data/picture_folder.h"

namespace tartan::data {

struct OpenOptions {
  CsvOptions csv = {};
  PictureOptions pictures = {};
};

// By the extension: an .npz file, whose arrays are the columns; an .npy file, whose column is "x";
// several arrays as columns with names: "x=images.npy,y=mnist.npz:y_train"; a .csv file of numbers
// (csv.h), or a folder of pictures (picture_folder.h), both with the columns "x" and "y".
// Errors name the file. NotFound or Unavailable where it cannot be read, InvalidArgument where it
// is damaged or its extension unknown.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(const std::string& name,
                                                           const OpenOptions& options = {});

}  // namespace tartan::data
