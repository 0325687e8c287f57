// SPDX-License-Identifier: Apache-2.0
// Reports of programs as HTML.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "frontend/api/explain/program_report.h"

namespace tartan::api {

// A table of the kernels, those that take longest first where that is known, each with its plan and
// its text.
std::string KernelsHtml(const ProgramReport& report);
// Where values lie during a run: a drawing, and a table of them.
std::string MemoryHtml(const ProgramReport& report);

// All of it under a head for each program: what HtmlPart and HtmlPage take.
std::string ReportsHtml(absl::Span<const ProgramReport> reports);

}  // namespace tartan::api
