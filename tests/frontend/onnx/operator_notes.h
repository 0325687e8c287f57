// SPDX-License-Identifier: Apache-2.0
// What docs/operators.md says of operators beside what the table of operators knows.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan::onnx {

// The note beside an operator's name; "" where there is none.
absl::string_view NoteOf(absl::string_view name);

// A question that the standard leaves open, or that engines answer against it.
struct Decision {
  const char* operators;
  const char* question;
  const char* answer;
  const char* source;  // who answers it so
};
absl::Span<const Decision> Decisions();

// An operator of com.microsoft that is not there, and why.
struct Reason {
  const char* name;
  const char* text;
};
absl::Span<const Reason> MissingMicrosoftOperators();

}  // namespace tartan::onnx
