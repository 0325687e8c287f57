// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/opencl_dialect.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend_opencl/dialect/opencl_expressions.h"
#include "backend_opencl/dialect/opencl_helpers.h"
#include "backend_opencl/dialect/opencl_operations.h"
#include "backend_opencl/dialect/opencl_types.h"

namespace tartan::opencl {
namespace {

using codegen::Code;
using codegen::MemorySpace;
using codegen::Parenthesized;
using codegen::Place;
using codegen::Precedence;
using loop::Type;

absl::string_view SpaceName(MemorySpace space) {
  switch (space) {
    case MemorySpace::kGlobal:
      return "__global ";
    case MemorySpace::kLocal:
      return "__local ";
    case MemorySpace::kPrivate:
      return "";
  }
  return "";
}

// 16-bit float arrays of our own are declared as ushort: half needs an extension there.
std::string StoredTypeName(const Type& type, MemorySpace space) {
  if (type.element == DataType::kFloat16 && space != MemorySpace::kGlobal) return "ushort";
  if (type.lanes > 1) return TypeName(type);
  return MemoryTypeName(type.element);
}

// An array of 16-bit floats as one of "half" or "ushort".
std::string PointerTo(absl::string_view type, const Place& place, absl::string_view qualifier) {
  if (StoredTypeName(Type{place.stored, 1}, place.space) == type) return place.buffer;
  return absl::StrCat("(", qualifier, SpaceName(place.space), type, "*)", place.buffer);
}

// buffer + index, or the buffer itself.
std::string Address(const std::string& buffer, const Code& index) {
  if (index.literal == 0) return buffer;
  return absl::StrCat(buffer, " + ", Parenthesized(index, Precedence::kMultiplicative));
}

Code Element(const Place& place) {
  return Code{absl::StrCat(place.buffer, "[", place.index.text, "]")};
}

// The elements as one vector of the memory's type.
Code AlignedVector(const Place& place, int lanes, absl::string_view qualifier) {
  const std::string type = TypeName(Type{ComputeType(place.stored), lanes});
  return Code{absl::StrCat("*(", qualifier, SpaceName(place.space), type, "*)(",
                           Address(place.buffer, place.index), ")"),
              Precedence::kUnary};
}

// 16-bit floats have functions of their own.
bool IsAlignedVector(const Place& place, int lanes) {
  return place.is_aligned && lanes > 1 && lanes != 3 && place.lanes == 1 &&
         place.stored == ComputeType(place.stored);
}

// The element or elements in the type in which the stored type is computed.
Code LoadRaw(const Place& place, int lanes) {
  if (place.lanes > 1) return Element(place);
  if (IsAlignedVector(place, lanes)) return AlignedVector(place, lanes, "const ");
  const std::string count = lanes == 1 ? "" : absl::StrCat(lanes);
  if (place.stored == DataType::kFloat16) {
    if (lanes == 1) {
      return Code{absl::StrCat("vload_half(", place.index.text, ", ",
                               PointerTo("half", place, "const "), ")")};
    }
    const std::string pointer = PointerTo("ushort", place, "const ");
    return Call(absl::StrCat("tt_from_half_ushort", lanes),
                {Code{absl::StrCat("vload", lanes, "(0, ", Address(pointer, place.index), ")")}});
  }
  Code loaded = Element(place);
  if (lanes > 1) {
    loaded = Code{absl::StrCat("vload", lanes, "(0, ", Address(place.buffer, place.index), ")")};
  }
  if (place.stored != DataType::kBFloat16) return loaded;
  return Call(absl::StrCat("tt_from_bfloat16_ushort", count), {loaded});
}

Code LoadValue(const Place& place, const Type& type) {
  const Type raw{ComputeType(place.stored), type.lanes};
  return ConvertValue(LoadRaw(place, type.lanes), raw, type);
}

std::string StoreValue(const Place& place, const Type& type, const Code& value) {
  const Type raw{ComputeType(place.stored), type.lanes};
  Code converted = ConvertValue(value, type, raw);
  if (place.lanes > 1) return absl::StrCat(Element(place).text, " = ", converted.text);
  if (IsAlignedVector(place, type.lanes)) {
    if (place.is_streamed && place.space == MemorySpace::kGlobal) {
      const std::string vector = TypeName(raw);
      return absl::StrCat("tt_stream_", vector, "((__global ", vector, "*)(",
                          Address(place.buffer, place.index), "), ", converted.text, ")");
    }
    return absl::StrCat(AlignedVector(place, type.lanes, "").text, " = ", converted.text);
  }
  if (place.stored == DataType::kFloat16) {
    if (type.lanes == 1) {
      return absl::StrCat("vstore_half_rte(", converted.text, ", ", place.index.text, ", ",
                          PointerTo("half", place, ""), ")");
    }
    return absl::StrCat("vstore", type.lanes, "(tt_to_half_float", type.lanes, "(", converted.text,
                        "), 0, ", Address(PointerTo("ushort", place, ""), place.index), ")");
  }
  if (place.stored == DataType::kBFloat16) {
    converted = Call(absl::StrCat("tt_to_bfloat16_", TypeName(raw)), {converted});
  }
  if (type.lanes == 1) return absl::StrCat(Element(place).text, " = ", converted.text);
  return absl::StrCat("vstore", type.lanes, "(", converted.text, ", 0, ",
                      Address(place.buffer, place.index), ")");
}

std::string Prefetch(const Place& place) {
  return absl::StrCat("tt_prefetch(", Address(place.buffer, place.index), ")");
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

// Element by element: compilers find the pattern.
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
  dialect.compiler_options = "-w";  // PoCL tells its warnings to stderr
  // A product and a sum are rounded one by one unless MultiplyAdd says otherwise, so that results
  // do not depend on what a driver's compiler likes to fuse.
  dialect.prologue = "#pragma OPENCL FP_CONTRACT OFF\n";
  dialect.definition = Definition;
  dialect.kernel_qualifier = "__kernel";
  dialect.global_space = "__global ";
  dialect.local_space = "__local ";
  dialect.constant_qualifier = "const ";
  dialect.restrict_qualifier = "restrict ";
  dialect.barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
  dialect.global_barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
  dialect.unroll = "#pragma unroll";
  dialect.keep_loop = "#pragma clang loop unroll(disable) vectorize(disable)";
  dialect.aligned_array = " __attribute__((aligned(64)))";
  dialect.type_name = TypeName;
  dialect.stored_type_name = StoredTypeName;
  dialect.work_index = WorkIndexCall;
  dialect.apply = Apply;
  dialect.load = LoadValue;
  dialect.store = StoreValue;
  dialect.atomic_update = AtomicUpdate;
  dialect.prefetch = Prefetch;
  dialect.float_literal = FloatLiteral;
  dialect.int_literal = IntLiteral;
  dialect.multiply_add = [has_fma = options.has_fma](const Code& a, const Code& b, const Code& sum,
                                                     const Type& type) {
    return MultiplyAdd(a, b, sum, type, has_fma);
  };
  dialect.dot_and_add = DotAndAdd;
  dialect.lane = [](const Code& vector, int lane) {
    return Code{absl::StrCat(Parenthesized(vector, Precedence::kPrimary), ".", LaneName(lane))};
  };
  dialect.shuffle = ShuffledVector;
  dialect.attributes = Attributes;
  return dialect;
}

codegen::Dialect DialectOf(const HardwareSettings& settings) {
  return OpenClDialect({.has_fma = settings.has_fma});
}

}  // namespace tartan::opencl
