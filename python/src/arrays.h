// SPDX-License-Identifier: Apache-2.0
// Converts host tensors to and from Python arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

#include "tile/base/host_tensor.h"

namespace tartan::python {

using ByteArray =
    nanobind::ndarray<const uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// Returns the type with a name such as "float32". ValueError for unknown names.
DataType TypeNamed(const std::string& name);

// Returns a tensor with the bytes of a dense array. If `copy` is false, the memory is shared and
// the caller must not modify it. ValueError if the number of bytes does not match the type and
// dims.
HostTensor ToHostTensor(const ByteArray& bytes, const std::string& dtype, std::vector<int64_t> dims,
                        bool copy);

void BindArrays(nanobind::module_& module);

}  // namespace tartan::python
