// The Tile compiler, from text or program to kernels. The pipeline is the body of Compile().
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "tile/base/hardware_settings.h"
#include "tile/compiler/kernel_list.h"
#include "tile/ir/program.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/winograd_choice.h"

namespace tartan::compiler {

struct CompileOptions {
  HardwareSettings settings;
  // Called with the name of each stage ("program", "groups", "flat", "plan", "sem" …) and its
  // readable result; null: no dumps are made.
  std::function<void(absl::string_view stage, absl::string_view text)> dump;
  // Plans a kernel instead of the cost model (tuning); null: the model does.
  std::function<plan::PlannedKernel(const poly::FlatContraction& flat,
                                    const std::vector<bool>& is_constant)>
      planner;
  bool force_64bit_indices = false;
  // Computes what ir::InFloat64 makes of the program: floats go in and come out as float64.
  bool in_float64 = false;
  bool fuse = true;
  bool chain_rows = true;  // one launch for kernels that follow each other on the same rows
  bool pad_inputs = true;
  bool channels_last = true;
  bool pack_products = true;  // products of narrow integers several at a time
  // Winograd's algorithm for 3x3 convolutions with unit stride, on CPU devices.
  plan::Winograd winograd = plan::Winograd::kSmallTiles;
};

absl::StatusOr<KernelList> Compile(const ir::Program& program, const CompileOptions& options);

}  // namespace tartan::compiler
