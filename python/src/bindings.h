// SPDX-License-Identifier: Apache-2.0
// Functions that add the parts of the Python module tartan._core.
#pragma once

#include <nanobind/nanobind.h>

namespace tartan::python {

void BindTile(nanobind::module_& module);
void BindValues(nanobind::module_& module);
void BindDevices(nanobind::module_& module);
void BindSessions(nanobind::module_& module);
void BindRanks(nanobind::module_& module);
void BindReports(nanobind::module_& module);
void BindTraining(nanobind::module_& module);

}  // namespace tartan::python
