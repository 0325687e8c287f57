// SPDX-License-Identifier: Apache-2.0
// What the module of Python is put together from.
#pragma once

#include <nanobind/nanobind.h>

namespace tartan::python {

void BindValues(nanobind::module_& module);
void BindDevices(nanobind::module_& module);
void BindSessions(nanobind::module_& module);
void BindReports(nanobind::module_& module);

}  // namespace tartan::python
