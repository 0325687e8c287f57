// SPDX-License-Identifier: Apache-2.0
// Formats the memory use of training as text and as JSON.
#pragma once

#include <string>

#include "frontend/train/trainer.h"
#include "proto/report.pb.h"

namespace tartan::cli {

// "13.8 MiB: parameters 308 KiB, optimizer 617 KiB, kept 9 MiB, …".
std::string MemoryText(const train::Trainer::Memory& memory);
void FillMemory(const train::Trainer::Memory& memory, proto::TrainReport* report);
proto::TrainStepReport::Memory MemoryReport(const train::Trainer::Memory& memory);

}  // namespace tartan::cli
