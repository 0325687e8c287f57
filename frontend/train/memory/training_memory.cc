// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/memory/training_memory.h"

#include "absl/strings/str_cat.h"

namespace tartan::train {

std::string Composition(const TrainingMemory& memory) {
  return absl::StrCat("parameters ", memory.parameters, ", optimizer ", memory.state,
                      ", kept values ", memory.kept, ", scratch ", memory.scratch, ", batch ",
                      memory.batch, ", constants ", memory.constants);
}

}  // namespace tartan::train
