// SPDX-License-Identifier: Apache-2.0
// Builds the kernels of special operations: numbered buffers, index arithmetic, and launches over a
// number of items.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tile/base/hardware_settings.h"
#include "tile/base/shape.h"
#include "tile/ir/program.h"
#include "tile/loop/build.h"
#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/index_builder.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/lower/emit/size_arguments.h"

namespace tartan::lower {

// A temporary buffer between the kernels of one special operation.
struct ScratchBuffer {
  TensorShape shape;
  // The value with which all elements are filled; nothing: kernels write them.
  std::optional<double> value;
};

// Buffers are numbered: 0 is the result, 1 … are the operands, then scratch buffers follow.
struct SpecialLaunch {
  loop::Kernel kernel;
  std::vector<int> buffers;  // one per parameter
};

class SpecialContext : public IndexBuilder {
 public:
  // `special`, `operands`, `result` and `settings` must outlive the context.
  SpecialContext(const ir::Special& special, absl::Span<const TensorShape> operands,
                 const TensorShape& result, const HardwareSettings& settings, std::string name,
                 const LowerOptions& options);

  const ir::Special& special() const { return special_; }
  const TensorShape& operand(int number) const { return shapes_[number + 1]; }
  const TensorShape& result() const { return shapes_[0]; }
  const TensorShape& shape(int buffer) const { return shapes_[buffer]; }
  const HardwareSettings& settings() const { return settings_; }
  // Returns whether each work-item runs as a task on one thread.
  bool is_cpu() const { return settings_.threads == 1; }
  bool takes_sizes() const { return takes_sizes_; }

  int AddScratch(TensorShape shape, std::optional<double> value = std::nullopt);

  // A kernel parameter; `name` is its name in the statements.
  struct Argument {
    std::string name;
    int buffer;
    bool is_output = false;
    // The integer type as which the kernel reads the elements' bits; kInvalid: the elements' own
    // type.
    DataType bits = DataType::kInvalid;
  };
  // The result as "out0" and the operands as "in0" ….
  std::vector<Argument> ResultAndOperands() const;
  // Appends the launch of a kernel that runs `body` for items 0 … items - 1; `body` may use the
  // variable "item".
  void Launch(int64_t items, const std::vector<Argument>& arguments,
              std::vector<loop::StmtPtr> body);

  std::vector<SpecialLaunch> TakeLaunches() { return std::move(launches_); }
  std::vector<ScratchBuffer> TakeScratch() { return std::move(scratch_); }

  // A value that follows from sizes: an argument of the next launch if kernels take sizes as
  // arguments. `role` distinguishes it from others of that kernel.
  loop::ExprPtr Size(const std::string& role, int64_t value) {
    return takes_sizes_ ? sizes_.Get(role, value) : Number(value);
  }
  // Elements of the operands and of the result, under the names of ResultAndOperands.
  loop::ExprPtr Load(int operand, loop::ExprPtr index, int lanes = 1) const;
  loop::ExprPtr LoadResult(loop::ExprPtr index, int lanes = 1) const;
  loop::StmtPtr StoreResult(loop::ExprPtr index, loop::ExprPtr value) const;

 private:
  const ir::Special& special_;
  const HardwareSettings& settings_;
  const std::string name_;
  std::vector<TensorShape> shapes_;  // of all buffers
  const bool takes_sizes_;
  SizeArguments sizes_;  // of the next launch
  std::vector<ScratchBuffer> scratch_;
  std::vector<SpecialLaunch> launches_;
};

}  // namespace tartan::lower
