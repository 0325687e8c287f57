// SPDX-License-Identifier: Apache-2.0
// What differs between C-like kernel languages, as a table; the writer (write_kernel.h) does the
// rest. The OpenCL C table lives in backend_opencl.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

// How tightly the outermost operator of a printed expression binds, as in C.
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
  std::optional<int64_t> literal = std::nullopt;  // where it is a scalar integer literal
  // Computed from memory, so that integer arithmetic with it may overflow and must wrap; index
  // arithmetic does not overflow. Set by the writer.
  bool is_data = false;
  std::optional<int64_t> in_all_lanes = std::nullopt;  // of a vector of equal integer literals
};

// The text, in parentheses where it binds less tightly than `least`.
std::string Parenthesized(const Code& code, Precedence least);

enum class MemorySpace : uint8_t { kGlobal, kLocal, kPrivate };

// An element of a buffer or array.
struct Place {
  std::string buffer;
  DataType stored;
  int lanes = 1;  // of the array's elements
  MemorySpace space = MemorySpace::kGlobal;
  Code index;
  bool is_aligned = false;  // a vector of elements is on a boundary of such vectors
  bool is_streamed = false;
  bool rounds_to_tf32 = false;
};

struct Dialect {
  std::string name;              // "opencl-c-1.2"
  std::string format;            // what a hal::ExecutableSource calls it: "opencl-c"
  std::string compiler_options;  // for the device's compiler
  // The first lines of every program.
  std::string prologue;
  // The definition that an identifier found in the kernels needs before them (a helper function, a
  // pragma), or "". Definitions may need others in turn.
  std::function<std::string(absl::string_view identifier)> definition;

  std::string kernel_qualifier;    // "__kernel"
  std::string function_qualifier;  // of a function that kernels call, "static "
  std::string inline_qualifier;    // of one that is a part of them
  std::string global_space, local_space, constant_qualifier, restrict_qualifier;
  std::string barrier;         // statement
  std::string global_barrier;  // of buffers, too
  std::string matrix_fence;    // statement before a barrier whose memory a matrix unit reads
  // Null where kernels in sequences are functions of single work-items. Else they are functions of
  // groups, several of which work side by side as teams of a larger one: a statement in which the
  // `items` of a team wait for each other (group_functions.h).
  std::function<std::string(int64_t items)> team_barrier;
  std::string unroll;         // before a loop that is to be unrolled
  std::string keep_loop;      // before one that is to stay as it is
  std::string aligned_array;  // after the name of an array that vectors are loaded from
  std::function<std::string(int64_t bytes)> aligned_to;  // likewise, as told
  // Of variables, and of elements in memory.
  std::function<std::string(const loop::Type&)> type_name;
  std::function<std::string(const loop::Type&, MemorySpace)> stored_type_name;
  std::function<Code(loop::WorkId, int dimension, DataType type)> work_index;
  // A function of printed operands; `type` is the operands' type, `result` the result's. Vector
  // conditions are masks, signed integers of 0 and -1: a comparison makes them as wide as what it
  // compares, kSelect takes them as wide as what they choose between and kCast converts them. For
  // logic and kSelect `type` is the masks' (bool where the condition is scalar).
  std::function<Code(ScalarOp op, const loop::Type& type, const loop::Type& result,
                     absl::Span<const Code> operands)>
      apply;
  // Loads and stores, with conversion from and to the stored type. A store is a statement without
  // its semicolon, `type` that of the value.
  std::function<Code(const Place& place, const loop::Type& type)> load;
  std::function<std::string(const Place& place, const loop::Type& type, const Code& value)> store;
  std::function<std::string(const Place& place, ScalarOp op, const loop::Type& type,
                            const Code& value)>
      atomic_update;
  // A statement without its semicolon.
  std::function<std::string(const Place& place, bool is_for_later)> prefetch;
  // Statements without their semicolons: loop::CopyVector, `count` "" for all; EndCopies;
  // AwaitCopies; MultiplyTiles, of addresses; AwaitTiles.
  std::function<std::string(const Place& to, const Place& from, const Code& count)> copy_vector;
  std::string end_copies;
  std::function<std::string(int pending)> await_copies;
  std::function<std::string(const loop::MultiplyTiles& product, const Place& accumulators,
                            const Place& left, const Place& right)>
      multiply_tiles;
  std::string await_tiles;
  std::function<Code(double value, const loop::Type& type)> float_literal;
  std::function<Code(int64_t value, const loop::Type& type)> int_literal;
  // The float32 whose bits the lower half of an integer variable are.
  std::function<Code(absl::string_view bits)> float_of_bits;
  std::function<Code(const Code& a, const Code& b, const Code& accumulator, const loop::Type& type)>
      multiply_add;
  // sum + op(a, b) for kDot16, kDot8, kDot8u or kDotBFloat16.
  std::function<Code(ScalarOp op, const Code& a, const Code& b, const Code& sum,
                     const loop::Type& type)>
      dot_and_add;
  // float32 vectors of the signed numbers in two or four bits of int32, from bit `shift` on, a
  // multiple of `bits`. Null where shifts and a conversion are no slower.
  std::function<Code(const Code& x, int64_t shift, int64_t bits, const loop::Type& type)>
      float_of_bits_from;
  std::function<Code(const Code& vector, int lane)> lane;
  std::function<Code(const Code& a, const Code& b, absl::Span<const int> lanes,
                     const loop::Type& type)>
      shuffle;
  // After the kernel's qualifier: its fixed work-group size.
  std::function<std::string(const loop::Kernel&)> attributes;
};

}  // namespace tartan::codegen
