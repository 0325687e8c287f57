// SPDX-License-Identifier: Apache-2.0
// The loop IR: one kernel as loops, loads and stores, in terms that every C-like kernel language
// has. Nodes are immutable. `lower` builds them, `simplify` rewrites, `codegen` prints, `interpret`
// executes.
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

// A sequence, not a scope: names declared in it are visible after it. Scopes are the kernel, bodies
// of For and branches of If. A name is declared once within its enclosing scopes.
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
  // An earlier, no smaller local array, whose memory this one reuses; the earlier array must not be
  // used any more. Empty: the array has its own memory.
  std::string over = {};
  int64_t alignment = 0;  // of the array's beginning, in bytes; 0: as vectors need it
};
struct Assign {
  std::string name;
  ExprPtr value;
};
// buffer[index] = value, converted to `stored`. A vector value stores consecutive elements (aligned
// as in Load), or one element of an array declared with its type. `is_streamed`: use a non-temporal
// store if the device has one, because the data is not read again soon.
struct Store {
  std::string buffer;
  DataType stored;
  ExprPtr index;
  ExprPtr value;
  bool is_aligned = false;
  bool is_streamed = false;  // aligned vectors in buffers only
  // Round float32 values to the 10 mantissa bits that a tf32 MMA uses (RoundToTf32).
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
// Work-group barrier. Work-items then see what others wrote to local memory and, if `is_global`, to
// buffers. The MMA sees these writes only if `for_mma`.
struct Barrier {
  bool is_global = false;
  bool for_mma = false;
};
// buffer[index] = op(buffer[index], value), atomically.
struct AtomicUpdate {
  std::string buffer;
  DataType stored;
  ScalarOp op;  // kAdd, kMul, kMin, kMax
  ExprPtr index;
  ExprPtr value;
};
// Prefetches the cache line of buffer[index] if the device can. The index may be out of bounds;
// nothing is read then. `into_second_cache_only`: into the second-level cache only.
struct Prefetch {
  std::string buffer;
  DataType stored;
  ExprPtr index;
  bool into_second_cache_only = false;
};
// Starts an asynchronous copy of 16 bytes of one type from a buffer to a local array: the first
// `count` elements are copied, the others become zero without being read. `to` and `from` are Loads
// of the first element, which is aligned. EndCopies commits the copies started by the work-item as
// a batch. AwaitCopies waits until at most the last `pending` batches are incomplete. The
// work-group sees the data after a barrier.
struct CopyVector {
  ExprPtr to, from;
  ExprPtr count;  // null: all
};
struct EndCopies {};
struct AwaitCopies {
  int pending = 0;
};
// Starts an asynchronous MMA: adds the matmul of two tiles in local memory
// (tile/base/mma_tile.h) to the accumulators of 128 consecutive work-items, the first of which
// has a number divisible by 128. The operands are 64 rows of the left tile and `columns` of the
// right one, over the K extent of the tiles. Each work-item has columns / 2 accumulators, in
// columns / 8 rounds of four. For work-item i of the 128, accumulator [round * 4 + 2 * h + e] is
// the result at
//   row 16 (i / 32) + 8 h + i % 32 / 4, column 8 round + 2 (i % 4) + e.
// The three operands are Loads: of the first accumulator in a float32 array, and of the tiles'
// first elements. Accumulators and tiles must not be accessed until AwaitTiles.
struct MultiplyTiles {
  ExprPtr accumulators, left, right;
  MatrixFormat format = MatrixFormat::kTf32;
  int columns = 0;  // a multiple of 8, at most 256
  // The vectors of the tile are along its rows (columns), not along K.
  bool left_along_rows = false, right_along_columns = false;
};
struct AwaitTiles {};
// Copies of constants to local memory, hoisted over the previous launch: in a batch of launches, a
// work-group executes them before the previous launch has finished. Statements in front of them
// declare names that they use.
struct Early {
  StmtPtr body;
};
// Executed once per batch of consecutive launches of the same kernel with the same constants and
// one work-group: the work-group executes the statement before the first launch. The other launches
// reuse its variables and local memory. The body copies constants. Statements in front of it are
// executed once, too; they declare names and depend on work indices only. It is not nested in other
// statements.
struct Once {
  StmtPtr body;
};
// Loads elements of an input into local memory. A launch skips the body if the input is the buffer
// that the previous launch of the batch had as `output`: the work-group left the elements in local
// memory. `input` and `output` are Loads of the buffers' first elements.
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
  bool is_output = false;  // written; other parameters are read-only and do not alias outputs

  bool operator==(const Parameter&) const = default;
};

// An argument of each launch, of the kernel's index type. Only Interpret uses the value given here.
struct Size {
  std::string name;
  int64_t value = 0;  // in the launch for which the kernel was generated
  // The variable is a float32, whose bits are the argument (such as a mean's divisor, which depends
  // on sizes).
  bool is_float = false;

  Type type(DataType index_type) const { return {is_float ? DataType::kFloat32 : index_type, 1}; }

  bool operator==(const Size&) const = default;
};

struct Kernel {
  std::string name;
  std::vector<std::string> comments;  // heading of the text, one line each
  std::vector<Parameter> parameters;
  // parameters after the others; if there are any, launches specify the global size
  std::vector<Size> sizes;
  DataType index_type = DataType::kInt32;  // type of index arithmetic: int32 or int64
  int64_t local_size[3] = {1, 1, 1};
  int64_t global_size[3] = {1, 1, 1};  // multiples of local_size
  StmtPtr body;
  bool in_launch_batch = false;  // devices may execute its launches in a batch with adjacent ones
  // Every access to a parameter or to local memory is checked against the size of that memory. The
  // last parameter and the last sizes belong to the check (compiler/check_bounds.h).
  bool checks_bounds = false;
};

// Structural equality; constants compare by bits (a NaN equals itself, 0.0 differs from -0.0).
bool Equal(const ExprPtr& a, const ExprPtr& b);
bool Equal(const StmtPtr& a, const StmtPtr& b);
bool Equal(const Kernel& a, const Kernel& b);

// Returns equal hashes for equal trees. The hash covers the members in which most kernels differ.
uint64_t HashOf(const Stmt& stmt);

// Prints one statement per line, every expression fully parenthesised, with types at declarations,
// loads and constants. Kernels with equal texts are equal (Equal); the compiler deduplicates
// kernels by it. Without a printed type, integer constants are int32 and other constants float32.
std::string ToString(const Type& type);
std::string ToString(const ExprPtr& expr);
std::string ToString(const Kernel& kernel);

}  // namespace tartan::loop
