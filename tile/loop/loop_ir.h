// SPDX-License-Identifier: Apache-2.0
// The loop IR: what a kernel does, in terms every C-like kernel language has. Immutable
// nodes; built by lower, rewritten by simplify, printed by codegen, run by interpret.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tile/base/data_type.h"
#include "tile/base/precision.h"
#include "tile/base/scalar_op.h"
#include "tile/loop/loop_expr.h"

namespace tartan::loop {

struct Stmt;
using StmtPtr = std::shared_ptr<const Stmt>;

enum class Space : uint8_t { kPrivate, kLocal };

// A sequence and no scope: names declared in it are visible after it. Scopes are the kernel, the
// bodies of For and the branches of If; a name is declared once within those that enclose it.
struct Block {
  std::vector<StmtPtr> statements;
};
struct Declare {  // a variable; constant unless assigned later
  Type type;
  std::string name;
  ExprPtr value;  // null: uninitialised
  bool is_mutable = false;
};
struct DeclareArray {
  Type type;
  std::string name;
  int64_t size;
  Space space = Space::kPrivate;
  // A local array declared before, at least as large, whose memory this one takes over: that one is
  // not used any more. Empty: memory of its own.
  std::string over = {};
  int64_t alignment = 0;  // of its beginning, in bytes; 0: as vectors need it
};
struct Assign {
  std::string name;
  ExprPtr value;
};
// buffer[index] = value, converted to `stored`; a vector value stores consecutive elements (aligned
// as in Load), or one element of an array declared with its type. A store that is streamed goes
// past the caches where the device can do that: what is stored is not soon read again.
struct Store {
  std::string buffer;
  DataType stored;
  ExprPtr index;
  ExprPtr value;
  bool is_aligned = false;
  bool is_streamed = false;  // aligned vectors in buffers only
  // float32 values are rounded to the 10 bits that a matrix unit sees of them (RoundToTf32).
  bool rounds_to_tf32 = false;
};
struct For {  // for (name = begin; name < end; name += step)
  std::string name;
  ExprPtr begin, end;
  int64_t step = 1;
  StmtPtr body;
  bool unroll = false;
};
struct If {
  ExprPtr condition;
  StmtPtr then;
  StmtPtr otherwise;  // may be null
};
// All work-items of the group wait for each other, and see what the others wrote to local memory
// and, where is_global, to buffers. A matrix unit sees it only where for_matrix_unit says so.
struct Barrier {
  bool is_global = false;
  bool for_matrix_unit = false;
};
// buffer[index] = op(buffer[index], value) as one indivisible step between work-items.
struct AtomicUpdate {
  std::string buffer;
  DataType stored;
  ScalarOp op;  // kAdd, kMul, kMin, kMax
  ExprPtr index;
  ExprPtr value;
};
// The cache line of buffer[index] is fetched ahead where the device can do that; the index may lie
// outside the buffer, and nothing is read. What is for later goes into the second cache alone.
struct Prefetch {
  std::string buffer;
  DataType stored;
  ExprPtr index;
  bool is_for_later = false;
};
// Starts to copy 16 bytes, of one type, from a buffer to a local array: its first `count` elements,
// and zeros for the others, which are not read. Both are Loads: of the first of the elements, which
// are aligned. EndCopies makes a batch of those that the work-item has started since the last one,
// AwaitCopies waits until all but the last `pending` batches are there; the group sees them behind
// a barrier.
struct CopyVector {
  ExprPtr to, from;
  ExprPtr count;  // null: all
};
struct EndCopies {};
struct AwaitCopies {
  int pending = 0;
};
// A matrix unit starts to add the product of two tiles in local memory (tile/base/matrix_tile.h) to
// the accumulators of 128 neighbouring work-items, of which the first has a number that 128
// divides: 64 rows of the left tile times `columns` of the right one, over their depth. Work-item i
// of the 128 has, in rounds of columns / 8, those at [round * 4 + 2 * h + e]: row 16 (i / 32) + 8 h
// + i % 32 / 4, column 8 round + 2 (i % 4) + e. All three are Loads: of the tiles' first elements,
// and of the first accumulator in an array of float32. Accumulators and tiles are left alone until
// AwaitTiles.
struct MultiplyTiles {
  ExprPtr accumulators, left, right;
  MatrixFormat format = MatrixFormat::kTf32;
  int columns = 0;  // a multiple of 8, at most 256
  // The tile's vectors lie along its rows (columns), not along the depth.
  bool left_along_rows = false, right_along_columns = false;
};
struct AwaitTiles {};
// Copies of constants to local memory. In a sequence of launches a work-group begins with them
// before the launch before is done; what stands in front declares their names.
struct Early {
  StmtPtr body;
};
// A run is launches of a sequence that follow each other, of one kernel of one work-group, with the
// same constants. Its group does this statement before the first of them, and keeps for the others
// what work-items have in variables, and local memory, then: copies of constants. So it does what
// stands in front, which declares names and follows from work indices. It stands in no other
// statement.
struct Once {
  StmtPtr body;
};
// Elements of an input come to local memory. A launch of a run leaves that out where the input is
// the buffer that the launch before had for an output: its group has left there what it stored.
// Both are Loads, of the buffers' first elements.
struct Fetch {
  ExprPtr input, output;
  StmtPtr body;
};
struct Comment {
  std::string text;
};

struct Stmt {
  std::variant<Block, Declare, DeclareArray, Assign, Store, For, If, Barrier, AtomicUpdate,
               Prefetch, CopyVector, EndCopies, AwaitCopies, MultiplyTiles, AwaitTiles, Early, Once,
               Fetch, Comment>
      node;
};

struct Parameter {
  std::string name;
  DataType stored;
  bool is_output = false;  // written; others are read only and do not alias outputs

  bool operator==(const Parameter&) const = default;
};

// A number that each launch gives, of the kernel's index type. Only Interpret uses the value here.
struct Size {
  std::string name;
  int64_t value = 0;  // in the launch that the kernel was made for
  // The variable is a float32 of which launches give the bits (a mean's divisor follows from
  // sizes).
  bool is_float = false;

  Type type(DataType index_type) const { return {is_float ? DataType::kFloat32 : index_type, 1}; }

  bool operator==(const Size&) const = default;
};

struct Kernel {
  std::string name;
  std::vector<std::string> comments;  // heading, one line each
  std::vector<Parameter> parameters;
  std::vector<Size> sizes;  // parameters after the others; with any, launches give the global size
  DataType index_type = DataType::kInt32;  // type of index arithmetic: int32 or int64
  int64_t local_size[3] = {1, 1, 1};
  int64_t global_size[3] = {1, 1, 1};  // multiples of local_size
  StmtPtr body;
  bool in_sequence = false;  // devices may run its launches as one with neighbours'
  // Each access to a parameter and to local memory is compared with the size of that memory. The
  // last parameter and the last sizes serve this check (compiler/check_bounds.h).
  bool checks_bounds = false;
};

// Structural equality; literals compare by bits (a NaN equals itself, 0.0 differs from -0.0).
bool Equal(const ExprPtr& a, const ExprPtr& b);
bool Equal(const StmtPtr& a, const StmtPtr& b);
bool Equal(const Kernel& a, const Kernel& b);

// Equal trees have equal hashes. The hash covers the members in which most kernels differ.
uint64_t HashOf(const Stmt& stmt);

// One line per statement, every expression fully parenthesised, with types at declarations, loads
// and literals. Kernels with equal texts are equal (Equal): the compiler looks for equal ones by
// it. Integer literals have the type int32, others float32, where no type follows.
std::string ToString(const Type& type);
std::string ToString(const ExprPtr& expr);
std::string ToString(const Kernel& kernel);

}  // namespace tartan::loop
