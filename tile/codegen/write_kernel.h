// SPDX-License-Identifier: Apache-2.0
// Prints loop IR as source text in the language that a dialect describes. Deterministic.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tile/codegen/dialect.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// Requires a kernel that loop::Verify accepts. A subexpression is printed at each of its uses.
std::string WriteKernel(const loop::Kernel& kernel, const Dialect& dialect);

// A program in parts: each kernel compiles after the prologue, independently of the other kernels.
struct ProgramText {
  std::string prologue;  // the dialect's prologue, and the definitions that the kernels use
  std::vector<std::string> kernels;
};

ProgramText WriteProgramParts(absl::Span<const loop::Kernel> kernels, const Dialect& dialect);

// The text of one kernel, and the definitions that it needs, each after those that it needs itself.
struct KernelText {
  std::string kernel;
  std::vector<std::string> definitions;
};

KernelText WriteKernelText(const loop::Kernel& kernel, const Dialect& dialect);

// Returns the prologue of a program of these kernels, as WriteProgramParts writes it.
std::string PrologueOf(absl::Span<const KernelText* const> kernels, const Dialect& dialect);

// The concatenated parts.
std::string WriteProgram(absl::Span<const loop::Kernel> kernels, const Dialect& dialect);

}  // namespace tartan::codegen
