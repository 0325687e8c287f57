// SPDX-License-Identifier: Apache-2.0
// The device that tests of this folder run on.
#pragma once

#include "hal/hal.h"
#include "proto/tile.pb.h"
#include "tests/tile/compiler/programs.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::evaluator {

// The first OpenCL device, opened once; null where there is none.
hal::DevicePtr TestDevice();

// What programs are compiled for it with.
HardwareSettings TestSettings();

// Programs compiled for it.
ProgramCache& TestProgramCache();

proto::Program ToProto(const TestProgram& program);

}  // namespace tartan::evaluator
