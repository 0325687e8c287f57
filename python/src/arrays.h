// SPDX-License-Identifier: Apache-2.0
// Tensors of the host as Python sees them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

#include "tile/base/host_tensor.h"

namespace tartan::python {

using ByteArray =
    nanobind::ndarray<const uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// "float32" and the like; ValueError for a name of no type.
DataType TypeNamed(const std::string& name);

// The bytes of a dense array with its shape; `copy` false: shared, and whoever gives it does not
// change it. ValueError where their number is another.
HostTensor ToHostTensor(const ByteArray& bytes, const std::string& dtype, std::vector<int64_t> dims,
                        bool copy);

void BindArrays(nanobind::module_& module);

}  // namespace tartan::python
