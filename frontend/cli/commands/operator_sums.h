// SPDX-License-Identifier: Apache-2.0
// Sums a profile's kernel times by the operators of the nodes that the kernels compute.
#pragma once

#include <string>
#include <vector>

#include "frontend/onnx/model/onnx_model.h"
#include "proto/report.pb.h"

namespace tartan::cli {

using KernelRows = google::protobuf::RepeatedPtrField<proto::BenchReport::Kernel>;
using OperatorRows = google::protobuf::RepeatedPtrField<proto::BenchReport::Operators>;

// Makes one row per combination of operators in a kernel, "Conv+Relu" in node order; the longest
// time first. A kernel computes the nodes that its values are named after, and their predecessors
// up to values of other kernels.
// - Views, such as Reshape, are named only if a kernel computes nothing else.
// - Nodes of constants and shapes belong to no kernel.
// - Kernels without a node have a row with an empty name.
void SumByOperators(const std::vector<onnx::NodeSummary>& nodes, const KernelRows& kernels,
                    OperatorRows* sums);

// The rows as a text table.
std::string OperatorsText(const OperatorRows& sums);

}  // namespace tartan::cli
