// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/context/build_program.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backend_opencl/context/build_log.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

std::string BuildLog(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  if (size == 0 || clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(),
                                         nullptr) != CL_SUCCESS) {
    return "(the driver wrote no log)";
  }
  log.resize(std::min(log.size(), log.find('\0')));
  return log;
}

}  // namespace

absl::StatusOr<ProgramHandle> BuildFromSource(const OpenClContext& device, absl::string_view source,
                                              const std::string& options) {
  const char* begin = source.data();
  const size_t size = source.size();
  cl_int error = CL_SUCCESS;
  ProgramHandle program(
      CreateCl(&error, clCreateProgramWithSource, device.context(), 1, &begin, &size));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateProgramWithSource"));
  const cl_device_id id = device.id();
  error = CallCl(clBuildProgram, program.get(), 1, &id, options.c_str(), nullptr, nullptr);
  if (error == CL_SUCCESS) return program;
  if (IsOutOfMemory(error)) return ExplainByShortage(ToStatus(error, "clBuildProgram"));
  return ExplainByShortage(absl::InternalError(
      absl::StrCat("clBuildProgram on ", device.info().name, ": ", ErrorName(error), "\n",
                   ExplainBuildLog(BuildLog(program.get(), id), source))));
}

absl::StatusOr<ProgramHandle> BuildFromBinary(const OpenClContext& device, absl::string_view binary,
                                              const std::string& options) {
  const auto* begin = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  const cl_device_id id = device.id();
  cl_int binary_error = CL_SUCCESS;
  cl_int error = CL_SUCCESS;
  ProgramHandle program(CreateCl(&error, clCreateProgramWithBinary, device.context(), 1, &id, &size,
                                 &begin, &binary_error));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateProgramWithBinary"));
  TARTAN_RETURN_IF_ERROR(ToStatus(binary_error, "clCreateProgramWithBinary"));
  TARTAN_CL_CALL(clBuildProgram, program.get(), 1, &id, options.c_str(), nullptr, nullptr);
  return program;
}

absl::StatusOr<std::string> BinaryOf(cl_program program) {
  // The program belongs to a context with one device, so there is one size and one binary.
  size_t size = 0;
  TARTAN_CL_CALL(clGetProgramInfo, program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr);
  std::string binary(size, '\0');
  char* begin = binary.data();
  TARTAN_CL_CALL(clGetProgramInfo, program, CL_PROGRAM_BINARIES, sizeof(begin), &begin, nullptr);
  return binary;
}

}  // namespace tartan::opencl
