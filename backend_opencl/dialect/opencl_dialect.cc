// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/opencl_dialect.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend_opencl/dialect/gpu_operations.h"
#include "backend_opencl/dialect/matrix_functions.h"
#include "backend_opencl/dialect/opencl_expressions.h"
#include "backend_opencl/dialect/opencl_helpers.h"
#include "backend_opencl/dialect/opencl_memory.h"
#include "backend_opencl/dialect/opencl_operations.h"
#include "backend_opencl/dialect/opencl_types.h"
#include "backend_opencl/dialect/team_barrier.h"

namespace tartan::opencl {
namespace {

using codegen::Code;
using codegen::MemorySpace;
using codegen::Parenthesized;
using codegen::Place;
using codegen::Precedence;
using loop::Type;

std::string Prefetch(const Place& place, bool into_second_cache_only) {
  return absl::StrCat(into_second_cache_only ? "tt_prefetch_for_later(" : "tt_prefetch(",
                      Address(place.buffer, place.index), ")");
}

std::string AtomicUpdate(const Place& place, ScalarOp op, const Type& type, const Code& value) {
  const DataType stored = place.stored;
  const Code converted = ConvertValue(value, type, Type{ComputeType(stored), 1});
  const std::string address = Address(place.buffer, place.index);
  const bool has_builtin =
      (stored == DataType::kInt32 || stored == DataType::kUInt32) && op != ScalarOp::kMul;
  if (has_builtin) {
    return absl::StrCat("atomic_", Name(op), "(", address, ", ", converted.text, ")");
  }
  const std::string stored_name = stored == DataType::kBool       ? "bool"
                                  : stored == DataType::kBFloat16 ? "bfloat16"
                                                                  : MemoryTypeName(stored);
  const char* space = place.space == MemorySpace::kLocal ? "local" : "global";
  return absl::StrCat("tt_atomic_", Name(op), "_", stored_name, "_", space, "(", address, ", ",
                      converted.text, ")");
}

Code LaneOf(const Code& vector, int lane) {
  return Code{absl::StrCat(Parenthesized(vector, Precedence::kPrimary), ".", LaneName(lane))};
}

// Prints a shuffle element by element; compilers recognize the pattern.
Code ShuffledVector(const Code& a, const Code& b, absl::Span<const int> lanes, const Type& type) {
  const std::string sources[] = {Parenthesized(a, Precedence::kPrimary),
                                 Parenthesized(b, Precedence::kPrimary)};
  std::vector<std::string> elements;
  for (int lane : lanes) {
    elements.push_back(absl::StrCat(sources[lane / type.lanes], ".", LaneName(lane % type.lanes)));
  }
  return Code{absl::StrCat("(", TypeName(type), ")(", absl::StrJoin(elements, ", "), ")"),
              Precedence::kUnary};
}

Code WorkIndexCall(loop::WorkId id, int dimension, DataType type) {
  const char* function = id == loop::WorkId::kGlobal  ? "get_global_id"
                         : id == loop::WorkId::kGroup ? "get_group_id"
                                                      : "get_local_id";
  return CastTo(TypeName(Type{type, 1}), Code{absl::StrCat(function, "(", dimension, ")")});
}

std::string Attributes(const loop::Kernel& kernel) {
  return absl::StrCat("__attribute__((reqd_work_group_size(",
                      absl::StrJoin(kernel.local_size, ", "), "))) ");
}

}  // namespace

codegen::Dialect OpenClDialect(const OpenClDialectOptions& options) {
  codegen::Dialect dialect;
  dialect.name = "opencl-c-1.2";
  dialect.format = "opencl-c";
  dialect.compiler_options = "-w";  // PoCL prints warnings to stderr
  // Multiplication and addition round separately unless MultiplyAdd is used, even if a compiler
  // would fuse them.
  dialect.prologue = "#pragma OPENCL FP_CONTRACT OFF\n";
  dialect.definition = Definition;
  dialect.kernel_qualifier = "__kernel";
  dialect.function_qualifier = "static __attribute__((noinline)) ";  // separate stack frame
  dialect.inline_qualifier = "static inline __attribute__((always_inline)) ";
  dialect.global_space = "__global ";
  dialect.local_space = "__local ";
  dialect.constant_qualifier = "const ";
  dialect.restrict_qualifier = "restrict ";
  dialect.barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
  dialect.global_barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
  if (!options.is_cpu) {
    dialect.team_barrier = TeamBarrier;
    dialect.function_qualifier = "TT_GROUP_FUNCTION ";
  }
  dialect.unroll = "#pragma unroll";
  dialect.unroll_partly = "#pragma unroll 16";
  // Only for CPUs. GPU compilers unroll loops to have several loads in flight.
  if (options.is_cpu) dialect.keep_loop = "#pragma clang loop unroll(disable) vectorize(disable)";
  dialect.aligned_array = " __attribute__((aligned(64)))";
  dialect.aligned_to = [](int64_t bytes) {
    return absl::StrCat(" __attribute__((aligned(", bytes, ")))");
  };
  dialect.type_name = TypeName;
  dialect.stored_type_name = StoredTypeName;
  dialect.work_index = WorkIndexCall;
  dialect.apply = options.is_cpu ? Apply : ApplyOnGpu;
  const bool by_functions = options.is_cpu;
  dialect.load = [=](const Place& place, const Type& type) {
    return LoadValue(place, type, by_functions);
  };
  dialect.store = [=](const Place& place, const Type& type, const Code& value) {
    return StoreValue(place, type, value, by_functions);
  };
  dialect.atomic_update = AtomicUpdate;
  dialect.prefetch = Prefetch;
  SetMatrixStatements(&dialect);
  dialect.float_literal = FloatLiteral;
  dialect.int_literal = IntLiteral;
  dialect.float_of_bits = [](absl::string_view bits) {
    return Code{absl::StrCat("as_float((int)", bits, ")")};
  };
  dialect.multiply_add = [has_fma = options.has_fma](const Code& a, const Code& b, const Code& sum,
                                                     const Type& type) {
    return MultiplyAdd(a, b, sum, type, has_fma);
  };
  dialect.dot_and_add = DotAndAdd;
  if (options.is_cpu) dialect.float_of_bits_from = FloatOfBitsFrom;
  dialect.lane = LaneOf;
  dialect.shuffle = ShuffledVector;
  dialect.attributes = Attributes;
  return dialect;
}

codegen::Dialect DialectOf(const HardwareSettings& settings) {
  return OpenClDialect({.has_fma = settings.has_fma, .is_cpu = settings.threads == 1});
}

}  // namespace tartan::opencl
