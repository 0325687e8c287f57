// SPDX-License-Identifier: Apache-2.0
// Sums the times of a profile's kernels by the operators of the nodes that they compute.
#pragma once

#include <string>
#include <vector>

#include "frontend/onnx/model/onnx_model.h"
#include "proto/report.pb.h"

namespace tartan::cli {

using KernelRows = google::protobuf::RepeatedPtrField<proto::BenchReport::Kernel>;
using OperatorRows = google::protobuf::RepeatedPtrField<proto::BenchReport::Operators>;

// One row for each set of operators that a kernel computes, "Conv+Relu" in the order of the nodes;
// the longest time first. A kernel computes the nodes that its values are named after, and those
// before them up to the values of other kernels. Views, as Reshape, are named only where a kernel
// computes nothing else. Nodes of constants and shapes belong to no kernel. Kernels of no node have
// a row with an empty name.
void SumByOperators(const std::vector<onnx::NodeSummary>& nodes, const KernelRows& kernels,
                    OperatorRows* sums);

// A table for people.
std::string OperatorsText(const OperatorRows& sums);

}  // namespace tartan::cli
