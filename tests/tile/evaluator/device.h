// SPDX-License-Identifier: Apache-2.0
// Opens the OpenCL device that the tests of this folder run on.
#pragma once

#include "hal/hal.h"
#include "proto/tile.pb.h"
#include "tests/tile/compiler/programs.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::evaluator {

// Returns the first OpenCL device, opened once; null if there is none.
hal::DevicePtr TestDevice();

// Returns the hardware settings that the compiler uses for this device.
HardwareSettings TestSettings();

// Returns a cache of programs compiled for this device.
ProgramCache& TestProgramCache();

proto::Program ToProto(const TestProgram& program);

}  // namespace tartan::evaluator
