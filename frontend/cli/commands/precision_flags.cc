// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/precision_flags.h"

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {

void AddPrecisionFlags(CLI::App* command, PrecisionFlags* flags) {
  command
      ->add_option(
          "--precision", flags->precision,
          "float32; tf32: matmuls of float32 values on matrix units; bfloat16 or float16: a\n"
          "step stores and multiplies values in this format. Parameters and the optimizer's\n"
          "averages stay float32")
      ->type_name("TYPE")
      ->capture_default_str();
  command
      ->add_option("--loss-scale", flags->loss_scale,
                   "Loss scale for float16: dynamic (the default), or a constant factor")
      ->type_name("dynamic|X");
}

absl::Status SetPrecision(PrecisionFlags* flags, train::TrainerOptions* trainer) {
  if (flags->precision == Name(MatrixFormat::kTf32)) {
    flags->matmuls = Precision::kTf32;
  } else {
    const auto stored = train::PrecisionNamed(flags->precision);
    if (!stored.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(stored.status().message(), ", or tf32"));
    }
    trainer->precision = *stored;
  }
  if (flags->loss_scale.empty()) return absl::OkStatus();
  if (trainer->precision != train::Precision::kFloat16) {
    return absl::InvalidArgumentError(
        absl::StrCat("--loss-scale belongs to --precision float16, not to ", flags->precision,
                     ", whose small gradients do not become 0"));
  }
  TARTAN_ASSIGN_OR_RETURN(trainer->loss_scale, train::ParseLossScale(flags->loss_scale));
  return absl::OkStatus();
}

}  // namespace tartan::cli
