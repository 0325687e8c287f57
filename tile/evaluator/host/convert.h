// SPDX-License-Identifier: Apache-2.0
// Converts host tensors to the naive evaluator's representation and back: ir::FromHost and
// ir::ToHost with fast loops for the usual types.
#pragma once

#include "tile/base/host_tensor.h"
#include "tile/ir/naive_tensor.h"

namespace tartan::evaluator {

ir::NaiveTensor Widen(const HostTensor& tensor);
HostTensor Narrow(const ir::NaiveTensor& tensor);

}  // namespace tartan::evaluator
