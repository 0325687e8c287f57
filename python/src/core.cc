// SPDX-License-Identifier: Apache-2.0
// Defines the module tartan._core, which the package python/tartan uses.
#include <nanobind/nanobind.h>

#include <string>

#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/environment.h"
#include "python/src/status.h"

namespace tartan::python {

void Raise(const absl::Status& status) {
  PyObject* type = PyExc_RuntimeError;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      type = PyExc_ValueError;
      break;
    case absl::StatusCode::kOutOfRange:
      type = PyExc_IndexError;
      break;
    case absl::StatusCode::kUnimplemented:
      type = PyExc_NotImplementedError;
      break;
    case absl::StatusCode::kResourceExhausted:
      type = PyExc_MemoryError;
      break;
    case absl::StatusCode::kNotFound:
      type = PyExc_FileNotFoundError;
      break;
    case absl::StatusCode::kPermissionDenied:
      type = PyExc_PermissionError;
      break;
    default:
      break;
  }
  PyErr_SetString(type, std::string(status.message()).c_str());
  throw nanobind::python_error();
}

}  // namespace tartan::python

NB_MODULE(_core, module) {
  // Objects that modules and threads hold at interpreter exit are not leaks.
  nanobind::set_leak_warnings(false);
  tartan::python::BindArrays(module);
  tartan::python::BindTile(module);
  tartan::python::BindValues(module);
  tartan::python::BindDevices(module);
  tartan::python::BindSessions(module);
  tartan::python::BindReports(module);
  tartan::python::BindTraining(module);
  tartan::python::BindRanks(module);
  module.def(
      "reserve_variable",
      [](const nanobind::bytes& name) {
        tartan::python::ReserveVariable(std::string(name.c_str(), name.size()));
      },
      "Adds an empty environment variable; other threads may read the environment meanwhile.");
}
