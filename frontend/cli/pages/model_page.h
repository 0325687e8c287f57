// SPDX-License-Identifier: Apache-2.0
// Renders a model as a self-contained web page.
#pragma once

#include <string>

#include "frontend/api/explain/program_report.h"
#include "frontend/onnx/model/onnx_model.h"
#include "proto/report.pb.h"

namespace tartan::cli {

// Has the report of `inspect`, a drawing of the graph, the kernels, and the memory layout of their
// buffers. `program` is null if the model could not be compiled.
std::string ModelPage(const onnx::OnnxModel& model, const proto::InspectReport& report,
                      const api::ProgramReport* program);

}  // namespace tartan::cli
