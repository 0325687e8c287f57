// SPDX-License-Identifier: Apache-2.0
// A model as one web page that needs nothing beside it.
#pragma once

#include <string>

#include "frontend/api/explain/program_report.h"
#include "frontend/onnx/model/onnx_model.h"
#include "proto/report.pb.h"

namespace tartan::cli {

// What `inspect` says, the graph as a drawing, the kernels and where their buffers lie in memory.
// `program` is null where the model could not be compiled.
std::string ModelPage(const onnx::OnnxModel& model, const proto::InspectReport& report,
                      const api::ProgramReport* program);

}  // namespace tartan::cli
