// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/missing_device.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend_opencl/device/driver_failure.h"

namespace tartan::opencl {
namespace {

namespace fs = std::filesystem;

constexpr char kVendors[] = "/etc/OpenCL/vendors";
// PoCL with LLVM and Clang takes 300 MB of addresses, most of it mapped from files.
constexpr int64_t kDriverBytes = int64_t{300} << 20;

// Empty where it can be loaded.
std::string LoadError(const std::string& driver) {
  if (dlopen(driver.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) return "";
  const char* error = dlerror();
  return error == nullptr ? "unknown error" : error;
}

}  // namespace

std::vector<std::string> InstalledDrivers() {
  const char* own = std::getenv("OCL_ICD_VENDORS");
  const fs::path place = own == nullptr || *own == '\0' ? kVendors : own;
  std::vector<fs::path> files;
  std::error_code error;
  if (absl::EndsWith(place.native(), ".icd")) files.push_back(place);
  fs::directory_iterator it(place, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (it->path().extension() == ".icd") files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> drivers;
  for (const fs::path& file : files) {
    std::ifstream stream(file);
    std::string line;
    if (!std::getline(stream, line)) continue;
    line = std::string(absl::StripAsciiWhitespace(line));
    if (!line.empty()) drivers.push_back(line);
  }
  return drivers;
}

absl::Status CheckMemoryForDrivers() {
  static std::atomic<bool> are_loaded{false};
  const std::vector<std::string> drivers = InstalledDrivers();
  if (are_loaded || drivers.empty() || !IsMemoryShort(kDriverBytes)) {
    are_loaded = true;
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "too little memory is left to load the OpenCL driver", drivers.size() > 1 ? "s " : " ",
      absl::StrJoin(drivers, ", "), ": ", kDriverBytes >> 20, " MiB are needed"));
}

absl::Status WhyNoDevice(const absl::Status& folder) {
  const std::vector<std::string> drivers = InstalledDrivers();
  if (drivers.empty()) return absl::OkStatus();
  for (const std::string& driver : drivers) {
    const std::string error = LoadError(driver);
    if (error.empty()) continue;
    const std::string message =
        absl::StrCat("the OpenCL driver ", driver, " cannot be loaded: ", error);
    if (!IsMemoryShort(kDriverBytes)) return absl::UnavailableError(message);
    return absl::ResourceExhaustedError(absl::StrCat("too little memory is left: ", message));
  }
  const std::string found =
      absl::StrCat("no device was found by the installed OpenCL driver",
                   drivers.size() > 1 ? "s " : " ", absl::StrJoin(drivers, ", "));
  if (IsDriverLost() || IsMemoryShort(kDriverBytes)) {
    return absl::ResourceExhaustedError(absl::StrCat("too little memory is left: ", found));
  }
  if (!folder.ok()) {
    return absl::PermissionDeniedError(absl::StrCat(
        found, ": there is no folder to compile in (TMPDIR can name one): ", folder.message()));
  }
  return absl::UnavailableError(found);
}

}  // namespace tartan::opencl
