// SPDX-License-Identifier: Apache-2.0
// Renders the curves of a training run as a self-contained HTML page.
#pragma once

#include <string>
#include <vector>

#include "frontend/train/fit.h"
#include "proto/report.pb.h"

namespace tartan::cli {

std::string TrainingPage(const std::vector<train::LogLine>& lines,
                         const proto::TrainReport& report);

}  // namespace tartan::cli
