// SPDX-License-Identifier: Apache-2.0
// Curves of a run of training as a page of HTML that needs nothing else.
#pragma once

#include <string>
#include <vector>

#include "frontend/train/fit.h"
#include "proto/report.pb.h"

namespace tartan::cli {

std::string TrainingPage(const std::vector<train::LogLine>& lines,
                         const proto::TrainReport& report);

}  // namespace tartan::cli
