// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/evaluator/device.h"

#include "backend_opencl/device/opencl_driver.h"
#include "backend_opencl/dialect/opencl_dialect.h"

namespace tartan::evaluator {

hal::DevicePtr TestDevice() {
  // Never released: some drivers unload before static objects are destroyed.
  static const auto* const device = [] {
    const auto driver = opencl::MakeOpenClDriver();
    const auto devices = driver->ListDevices();
    if (!devices.ok() || devices->empty()) return new hal::DevicePtr();
    return new hal::DevicePtr(driver->Open(hal::PreferredDevice(*devices)).value());
  }();
  return *device;
}

HardwareSettings TestSettings() {
  return TestDevice()->Settings(hal::Knowledge::kMeasured).value();
}

ProgramCache& TestProgramCache() {
  static auto* const cache = new ProgramCache(TestDevice(), opencl::DialectOf);
  return *cache;
}

proto::Program ToProto(const TestProgram& program) {
  proto::Program result;
  result.set_name(program.name);
  result.set_code(program.code);
  for (const TensorShape& shape : program.inputs) {
    proto::Program::Input* input = result.add_inputs();
    input->mutable_shape()->set_type(static_cast<proto::DataType>(shape.type));
    for (int64_t dim : shape.dims) input->mutable_shape()->add_dims(dim);
  }
  return result;
}

}  // namespace tartan::evaluator
