// SPDX-License-Identifier: Apache-2.0
// Finds the installed drivers and the reason why the OpenCL loader shows no device despite them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tartan::opencl {

// Returns the drivers' libraries, by path or name, from the .icd files that the loader reads: those
// in $OCL_ICD_VENDORS (a folder or one file), or else in /etc/OpenCL/vendors.
std::vector<std::string> InstalledDrivers();

// Returns ResourceExhausted if drivers are installed but memory is too small to load one (PoCL
// would abort). Returns Aborted if the limit on open files is too low. Ok once drivers are loaded.
absl::Status CheckRoomForDrivers();

// Returns the reason for the lack of devices; Ok if it is unknown. ResourceExhausted: too little
// memory to load or start a driver. Unavailable: a driver cannot be loaded for another reason, or
// finds no device. `folder` is the error that left PoCL without a folder to compile in, if there
// was one.
absl::Status WhyNoDevice(const absl::Status& folder);

}  // namespace tartan::opencl
