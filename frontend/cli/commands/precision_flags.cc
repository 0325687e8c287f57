// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/precision_flags.h"

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {

void AddPrecisionFlags(CLI::App* command, PrecisionFlags* flags) {
  command
      ->add_option(
          "--precision", flags->precision,
          "Format in which a step stores values: float32, bfloat16 or float16. Parameters and\n"
          "the optimizer's averages stay float32")
      ->type_name("TYPE")
      ->capture_default_str();
  command
      ->add_option("--loss-scale", flags->loss_scale,
                   "Loss scale for float16: dynamic (the default), or a constant factor")
      ->type_name("dynamic|X");
}

absl::Status SetPrecision(const PrecisionFlags& flags, train::TrainerOptions* trainer) {
  TARTAN_ASSIGN_OR_RETURN(trainer->precision, train::PrecisionNamed(flags.precision));
  if (flags.loss_scale.empty()) return absl::OkStatus();
  if (trainer->precision != train::Precision::kFloat16) {
    return absl::InvalidArgumentError(
        absl::StrCat("--loss-scale belongs to --precision float16, not to ", flags.precision,
                     ", whose small gradients do not become 0"));
  }
  TARTAN_ASSIGN_OR_RETURN(trainer->loss_scale, train::ParseLossScale(flags.loss_scale));
  return absl::OkStatus();
}

}  // namespace tartan::cli
