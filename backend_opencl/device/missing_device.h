// SPDX-License-Identifier: Apache-2.0
// Which drivers are installed, and why the OpenCL loader shows no device although some are.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tartan::opencl {

// The drivers' libraries, by path or name, as the loader looks for them: in a folder of .icd files,
// or in one of these.
std::vector<std::string> InstalledDrivers();

// ResourceExhausted where drivers are installed and there is no memory to load one, which makes
// PoCL abort; Aborted where too few files may be opened. Ok again once drivers are loaded.
absl::Status CheckRoomForDrivers();

// Ok where nothing is known. ResourceExhausted where there is no memory to load or start a driver,
// Unavailable where a driver cannot be loaded for another reason, or finds no device; `folder`, why
// PoCL has no folder to compile in, if that is what is missing.
absl::Status WhyNoDevice(const absl::Status& folder);

}  // namespace tartan::opencl
