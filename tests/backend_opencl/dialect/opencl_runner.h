// SPDX-License-Identifier: Apache-2.0
// Runs loop IR through the OpenCL dialect on the first OpenCL device, directly on the OpenCL API.
// For tests only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "tile/loop/loop_ir.h"

namespace tartan::opencl {

class OpenClRunner {
 public:
  // Builds one program of all kernels. Run reports failures with the compiler's log.
  explicit OpenClRunner(absl::Span<const loop::Kernel> kernels,
                        const OpenClDialectOptions& options = {});
  // Builds a program from source text. Run then uses only the kernels' names and sizes.
  explicit OpenClRunner(std::string source);
  ~OpenClRunner();

  // Equivalent to loop::Interpret.
  absl::Status Run(const loop::Kernel& kernel, absl::Span<std::vector<uint8_t>> buffers);

  const std::string& source() const { return source_; }

 private:
  struct State;
  std::string source_;
  std::unique_ptr<State> state_;
};

}  // namespace tartan::opencl
