// SPDX-License-Identifier: Apache-2.0
// Opens a dataset by the name that a user gives.
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

// The extension decides:
// - .npz: the arrays are the columns;
// - .npy: one column, "x";
// - "x=images.npy,y=mnist.npz:y_train": several arrays as named columns;
// - .csv: a file of numbers (csv.h) with the columns "x" and "y";
// - a folder of pictures (picture_folder.h) with the columns "x" and "y".
//
// Errors name the file. NotFound or Unavailable if it cannot be read, InvalidArgument if it is
// damaged or its extension is unknown.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(const std::string& name,
                                                           const OpenOptions& options = {});

}  // namespace tartan::data
