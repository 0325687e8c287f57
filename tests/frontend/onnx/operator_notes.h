// SPDX-License-Identifier: Apache-2.0
// The handwritten notes of docs/operators.md, which the operator table does not contain.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan::onnx {

// The note for an operator's name; "" without one.
absl::string_view NoteOf(absl::string_view name);

// A decision on a question that the standard leaves open or that engines answer against the
// standard.
struct Decision {
  const char* operators;
  const char* question;
  const char* answer;
  const char* source;  // the engine or document that decides it the same way
};
absl::Span<const Decision> Decisions();

// An operator of com.microsoft that is not supported, and the reason.
struct Reason {
  const char* name;
  const char* text;
};
absl::Span<const Reason> MissingMicrosoftOperators();

}  // namespace tartan::onnx
