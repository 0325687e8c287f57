// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/opencl_driver.h"
#include "tests/hal/conformance.h"

namespace tartan::hal {
namespace {

Backend OpenClBackend() {
  Backend backend;
  backend.name = "opencl";
  backend.make_driver = [] { return opencl::MakeOpenClDriver(); };
  backend.format = "opencl-c";
  backend.add_one = {"add_one",
                     "__kernel void add_one(__global float* x) { x[get_global_id(0)] += 1.0f; }\n"};
  backend.scale = {"scale",
                   "__kernel __attribute__((reqd_work_group_size(4, 1, 1)))\n"
                   "void scale(__global const float* from, __global float* to) {\n"
                   "  to[get_global_id(0)] = 2.0f * from[get_global_id(0)];\n"
                   "}\n"};
  backend.broken = {"broken",
                    "__kernel void broken(__global float* x) {\n"
                    "  x[0] = no_such_name;\n"
                    "}\n"};
  backend.broken_message = "no_such_name";
  return backend;
}

INSTANTIATE_TEST_SUITE_P(OpenCl, Conformance, testing::Values(OpenClBackend()), BackendName);

}  // namespace
}  // namespace tartan::hal
