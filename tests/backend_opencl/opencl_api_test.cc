// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/api/opencl_api.h"

#include <gtest/gtest.h>

namespace tartan::opencl {
namespace {

TEST(ToStatus, NamesTheCallAndTheError) {
  const absl::Status status = ToStatus(CL_INVALID_KERNEL, "clSetKernelArg");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "clSetKernelArg: CL_INVALID_KERNEL");
  EXPECT_EQ(ToStatus(-9999, "clFinish").message(), "clFinish: error -9999");
}

TEST(ToStatus, IsOkForSuccess) { EXPECT_TRUE(ToStatus(CL_SUCCESS, "clFinish").ok()); }

TEST(ToStatus, TellsMemoryFromMissingDevices) {
  for (const cl_int error : {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES,
                             CL_OUT_OF_HOST_MEMORY, CL_INVALID_BUFFER_SIZE}) {
    EXPECT_EQ(ToStatus(error, "f").code(), absl::StatusCode::kResourceExhausted) << error;
  }
  EXPECT_EQ(ToStatus(CL_DEVICE_NOT_AVAILABLE, "f").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ToStatus(-1001, "f").code(), absl::StatusCode::kUnavailable);
}

int released = 0;
cl_int CountRelease(int*) {
  ++released;
  return CL_SUCCESS;
}
using CountedHandle = Handle<int*, CountRelease>;

TEST(Handle, ReleasesOnceHoweverOftenMoved) {
  int object = 0;
  released = 0;
  {
    CountedHandle first(&object);
    CountedHandle second(std::move(first));
    CountedHandle third;
    third = std::move(second);
    EXPECT_EQ(third.get(), &object);
    EXPECT_FALSE(second);
  }
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace tartan::opencl
