// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/fit_options.h"

#include "absl/strings/str_cat.h"

namespace tartan::train {

absl::Status FitOptions::Check() const {
  if (patience > 0 && validation == 0 && validation_data == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("early stopping after ", patience,
                     " epochs without a better validation loss needs validation data"));
  }
  if (schedule.kind == ScheduleKind::kPlateau && validation == 0 && validation_data == nullptr) {
    return absl::InvalidArgumentError(
        "a plateau schedule follows the validation loss and needs validation data");
  }
  return absl::OkStatus();
}

}  // namespace tartan::train
