// SPDX-License-Identifier: Apache-2.0
// Describes a C-like kernel language as a table; the writer (write_kernel.h) uses it to print
// kernels. The table for OpenCL C is in backend_opencl.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// Precedence of the outermost operator of a printed expression, as in C.
enum class Precedence : uint8_t {
  kConditional,
  kLogicalOr,
  kLogicalAnd,
  kBitOr,
  kBitXor,
  kBitAnd,
  kEquality,
  kRelational,
  kShift,
  kAdditive,
  kMultiplicative,
  kUnary,  // also casts
  kPrimary,
};

// A printed expression.
struct Code {
  std::string text;
  Precedence precedence = Precedence::kPrimary;
  std::optional<int64_t> literal = std::nullopt;  // the value, if it is a scalar integer constant
  // The value comes from memory, so that integer arithmetic with it may overflow and must wrap.
  // Index arithmetic does not overflow. Set by the writer.
  bool is_data = false;
  // the value, if all lanes are equal integer constants
  std::optional<int64_t> in_all_lanes = std::nullopt;
};

// The text, in parentheses if it binds less tightly than `least`.
std::string Parenthesized(const Code& code, Precedence least);

enum class MemorySpace : uint8_t { kGlobal, kLocal, kPrivate };

// An element of a buffer or array.
struct Place {
  std::string buffer;
  DataType stored;
  int lanes = 1;  // lanes of the array's element type
  MemorySpace space = MemorySpace::kGlobal;
  Code index;
  bool is_aligned = false;  // the address is a multiple of the vector's size
  bool is_streamed = false;
  bool rounds_to_tf32 = false;
};

struct Dialect {
  std::string name;              // "opencl-c-1.2"
  std::string format;            // the format name in hal::ExecutableSource: "opencl-c"
  std::string compiler_options;  // for the device's compiler
  // The first lines of every program.
  std::string prologue;
  // The definition that an identifier used by kernels needs before them (a helper function, a
  // pragma), or "". Definitions may need other definitions.
  std::function<std::string(absl::string_view identifier)> definition;

  std::string kernel_qualifier;    // "__kernel"
  std::string function_qualifier;  // for functions that kernels call: "static "
  std::string inline_qualifier;    // for functions that must be inlined into kernels
  std::string global_space, local_space, constant_qualifier, restrict_qualifier;
  std::string barrier;         // statement
  std::string global_barrier;  // orders global memory, too
  std::string mma_fence;       // statement before a barrier after which the MMA reads local memory
  // A barrier statement for a team: the `items` work-items of one of several work-groups that run
  // side by side within a larger one (group_functions.h). Null if kernels in launch batches are
  // compiled to functions of single work-items.
  std::function<std::string(int64_t items)> team_barrier;
  std::string unroll;         // before a loop to unroll
  std::string unroll_partly;  // the same if it has too many turns to be unrolled wholly
  std::string keep_loop;      // before a loop not to unroll
  std::string aligned_array;  // after the name of an array from which vectors are loaded
  std::function<std::string(int64_t bytes)> aligned_to;  // the same for a given alignment
  // Type names of variables, and of elements in memory.
  std::function<std::string(const loop::Type&)> type_name;
  std::function<std::string(const loop::Type&, MemorySpace)> stored_type_name;
  std::function<Code(loop::WorkId, int dimension, DataType type)> work_index;
  // Applies an operation to printed operands; `type` is the operands' type, `result` the result's.
  // Vector conditions are masks: signed integers of 0 and -1. A comparison gives a mask as wide as
  // its operands, kSelect takes one as wide as its alternatives, and kCast converts widths. For
  // logic and kSelect, `type` is the mask's type (bool if the condition is scalar).
  std::function<Code(ScalarOp op, const loop::Type& type, const loop::Type& result,
                     absl::Span<const Code> operands)>
      apply;
  // Loads and stores, with conversion from and to the stored type. A store is a statement without
  // its semicolon; `type` is the type of the value.
  std::function<Code(const Place& place, const loop::Type& type)> load;
  std::function<std::string(const Place& place, const loop::Type& type, const Code& value)> store;
  std::function<std::string(const Place& place, ScalarOp op, const loop::Type& type,
                            const Code& value)>
      atomic_update;
  // A statement without its semicolon.
  std::function<std::string(const Place& place, bool into_second_cache_only)> prefetch;
  // Statements without semicolons, for loop::CopyVector (`count` "": all elements), EndCopies,
  // AwaitCopies, MultiplyTiles (of addresses) and AwaitTiles.
  std::function<std::string(const Place& to, const Place& from, const Code& count)> copy_vector;
  std::string end_copies;
  std::function<std::string(int pending)> await_copies;
  std::function<std::string(const loop::MultiplyTiles& product, const Place& accumulators,
                            const Place& left, const Place& right)>
      multiply_tiles;
  std::string await_tiles;
  std::function<Code(double value, const loop::Type& type)> float_literal;
  std::function<Code(int64_t value, const loop::Type& type)> int_literal;
  // The float32 whose bits are the lower 32 bits of an integer variable.
  std::function<Code(absl::string_view bits)> float_of_bits;
  std::function<Code(const Code& a, const Code& b, const Code& accumulator, const loop::Type& type)>
      multiply_add;
  // sum + op(a, b) for kDot16, kDot8, kDot8u or kDotBFloat16.
  std::function<Code(ScalarOp op, const Code& a, const Code& b, const Code& sum,
                     const loop::Type& type)>
      dot_and_add;
  // A float32 vector of the signed 2- or 4-bit integers at bit `shift`, a multiple of `bits`, of
  // each int32. Null if shifts and a conversion are as fast.
  std::function<Code(const Code& x, int64_t shift, int64_t bits, const loop::Type& type)>
      float_of_bits_from;
  std::function<Code(const Code& vector, int lane)> lane;
  std::function<Code(const Code& a, const Code& b, absl::Span<const int> lanes,
                     const loop::Type& type)>
      shuffle;
  // The attributes after the kernel's qualifier, such as a fixed work-group size.
  std::function<std::string(const loop::Kernel&)> attributes;
};

}  // namespace tartan::codegen
