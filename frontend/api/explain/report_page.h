// SPDX-License-Identifier: Apache-2.0
// Renders program reports as HTML.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "frontend/api/explain/program_report.h"

namespace tartan::api {

// A table of the kernels with plans and sources, sorted by time if it is known, longest first.
std::string KernelsHtml(const ProgramReport& report);
// The memory layout during a run: a drawing and a table of the buffers.
std::string MemoryHtml(const ProgramReport& report);

// All parts, under one heading per program; the body for HtmlPart or HtmlPage.
std::string ReportsHtml(absl::Span<const ProgramReport> reports);

}  // namespace tartan::api
