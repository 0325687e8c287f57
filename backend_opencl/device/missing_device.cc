// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/missing_device.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend_opencl/api/driver_failure.h"
#include "tile/base/process_limits.h"

namespace tartan::opencl {
namespace {

namespace fs = std::filesystem;

constexpr char kVendors[] = "/etc/OpenCL/vendors";
// bytes of address space for PoCL with LLVM and Clang; most of it is mapped from files. Measured.
constexpr int64_t kDriverBytes = int64_t{300} << 20;
// bytes of it that are written and thus count towards a limit on data (ulimit -d). Measured.
constexpr int64_t kDriverDataBytes = int64_t{100} << 20;

bool IsRoomForDriversShort() {
  void* const addresses =
      mmap(nullptr, kDriverBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (addresses == MAP_FAILED) return true;
  munmap(addresses, kDriverBytes);
  return IsMemoryShort(kDriverDataBytes);
}

// Returns the error of loading a driver; empty if it can be loaded.
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

absl::Status CheckRoomForDrivers() {
  static std::atomic<bool> are_loaded{false};
  const std::vector<std::string> drivers = InstalledDrivers();
  if (are_loaded || drivers.empty()) return absl::OkStatus();
  const std::string load =
      absl::StrCat("to load the OpenCL driver", drivers.size() > 1 ? "s " : " ",
                   absl::StrJoin(drivers, ", "), ": ");
  if (IsRoomForDriversShort()) {
    const std::optional<MemoryLimit> limit = FindMemoryLimit();
    return absl::ResourceExhaustedError(absl::StrCat(
        "too little memory is left ", load, kDriverBytes >> 20, " MiB of address space and ",
        kDriverDataBytes >> 20, " MiB of data are needed",
        limit.has_value() ? absl::StrCat("; ", limit->text) : ""));
  }
  if (const int free = FreeFileDescriptors(kDriverFiles); free < kDriverFiles) {
    return absl::AbortedError(absl::StrCat("the process may open too few files ", load,
                                           OpenFileLimit(),
                                           " may be open at once (ulimit -n), which leaves ", free,
                                           " of the ", kDriverFiles, " that are needed"));
  }
  are_loaded = true;
  return absl::OkStatus();
}

absl::Status WhyNoDevice(const absl::Status& folder) {
  const std::vector<std::string> drivers = InstalledDrivers();
  if (drivers.empty()) return absl::OkStatus();
  for (const std::string& driver : drivers) {
    const std::string error = LoadError(driver);
    if (error.empty()) continue;
    const std::string message =
        absl::StrCat("the OpenCL driver ", driver, " cannot be loaded: ", error);
    if (!IsRoomForDriversShort()) return absl::UnavailableError(message);
    return absl::ResourceExhaustedError(absl::StrCat("too little memory is left: ", message));
  }
  const std::string found =
      absl::StrCat("no device was found by the installed OpenCL driver",
                   drivers.size() > 1 ? "s " : " ", absl::StrJoin(drivers, ", "));
  if (IsDriverLost() || IsRoomForDriversShort()) {
    return absl::ResourceExhaustedError(absl::StrCat("too little memory is left: ", found));
  }
  if (!folder.ok()) {
    return absl::PermissionDeniedError(absl::StrCat(
        found, ": no folder can be used for compilation (set TMPDIR to one): ", folder.message()));
  }
  return absl::UnavailableError(found);
}

}  // namespace tartan::opencl
