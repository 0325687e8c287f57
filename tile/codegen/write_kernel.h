// Semantic tree to source text, for the language a dialect describes. Deterministic.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "tile/codegen/dialect.h"
#include "tile/sem/sem.h"

namespace tartan::codegen {

// Requires a kernel that sem::Verify accepts. A subexpression is printed at each of its uses.
std::string WriteKernel(const sem::Kernel& kernel, const Dialect& dialect);

// The dialect's prologue, the definitions the kernels use, and every kernel.
std::string WriteProgram(absl::Span<const sem::Kernel> kernels, const Dialect& dialect);

}  // namespace tartan::codegen
