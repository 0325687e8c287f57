// SPDX-License-Identifier: Apache-2.0
// A rank without others, whose steps do all that a rank's do but communicate.
#pragma once

#include <memory>

#include "frontend/train/ranks/gradient_exchange.h"

namespace tartan::cli {

std::shared_ptr<train::GradientExchange> MakeLoneRank();

}  // namespace tartan::cli
