// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/opencl_memory.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "backend_opencl/dialect/opencl_expressions.h"
#include "backend_opencl/dialect/opencl_operations.h"
#include "backend_opencl/dialect/opencl_types.h"

namespace tartan::opencl {

using codegen::Code;
using codegen::MemorySpace;
using codegen::Parenthesized;
using codegen::Place;
using codegen::Precedence;
using loop::Type;

namespace {

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

// PoCL's vload and vstore split vectors into elements. Kernels with many of them compile three
// times as slowly as with a member of a packed struct, which may also start at any address.
constexpr absl::string_view kPackedVector = R"(typedef struct __attribute__((packed)) {
  $V vector;
} tt_packed_$V;
)";
constexpr absl::string_view kLoad = R"(static inline $V tt_load_$P$V(const $Q$T* from) {
  return ((const $Qtt_packed_$V*)from)->vector;
}
)";
constexpr absl::string_view kStore = R"(static inline void tt_store_$P$V($V value, $Q$T* to) {
  (($Qtt_packed_$V*)to)->vector = value;
}
)";
constexpr absl::string_view kPrivate = "private_";

}  // namespace

// Private and local arrays of 16-bit floats are declared as ushort, because half would require an
// extension.
std::string StoredTypeName(const Type& type, MemorySpace space) {
  if (type.element == DataType::kFloat16 && space != MemorySpace::kGlobal) return "ushort";
  if (type.lanes > 1) return TypeName(type);
  return MemoryTypeName(type.element);
}

std::string Address(const std::string& buffer, const Code& index) {
  if (index.literal == 0) return buffer;
  return absl::StrCat(buffer, " + ", Parenthesized(index, Precedence::kMultiplicative));
}

namespace {

// Casts an array of 16-bit floats to elements of type "half" or "ushort".
std::string PointerTo(absl::string_view type, const Place& place, absl::string_view qualifier) {
  if (StoredTypeName(Type{place.stored, 1}, place.space) == type) return place.buffer;
  return absl::StrCat("(", qualifier, SpaceName(place.space), type, "*)", place.buffer);
}

Code Element(const Place& place) {
  return Code{absl::StrCat(place.buffer, "[", place.index.text, "]")};
}

// Prints the elements as one vector of the element type in memory.
Code AlignedVector(const Place& place, int lanes, absl::string_view qualifier) {
  const std::string type = TypeName(Type{ComputeType(place.stored), lanes});
  return Code{absl::StrCat("*(", qualifier, SpaceName(place.space), type, "*)(",
                           Address(place.buffer, place.index), ")"),
              Precedence::kUnary};
}

// True if the access is an aligned vector. 16-bit floats use separate functions.
bool IsAlignedVector(const Place& place, int lanes) {
  return place.is_aligned && lanes > 1 && lanes != 3 && place.lanes == 1 &&
         place.stored == ComputeType(place.stored);
}

// Returns the type of vectors in memory; 16-bit floats are moved as their bits.
std::string VectorName(const Place& place, int lanes) {
  const bool is_half = place.stored == DataType::kFloat16;
  return absl::StrCat(is_half ? "ushort" : MemoryTypeName(place.stored), lanes);
}

std::string VectorAddress(const Place& place, absl::string_view qualifier) {
  const bool is_half = place.stored == DataType::kFloat16;
  return Address(is_half ? PointerTo("ushort", place, qualifier) : place.buffer, place.index);
}

// True if vectors of this kind have helper functions. A struct of a 3-element vector would have the
// size of four elements.
bool HasFunctions(const Place& place, int lanes) {
  return place.space != MemorySpace::kLocal && lanes != 3;
}

std::string FunctionName(absl::string_view verb, const Place& place, int lanes) {
  const absl::string_view space = place.space == MemorySpace::kPrivate ? kPrivate : "";
  return absl::StrCat("tt_", verb, "_", space, VectorName(place, lanes));
}

// True if an aligned vector of 16-bit floats is moved as its bits. With `by_functions` (PoCL), the
// helper functions are as fast (see kPackedVector).
bool MovesAlignedBits(const Place& place, int lanes, bool by_functions) {
  return place.is_aligned && lanes > 1 && lanes != 3 && place.lanes == 1 && !by_functions &&
         place.space != MemorySpace::kPrivate && place.stored != ComputeType(place.stored);
}

std::string AlignedBits(const Place& place, int lanes, absl::string_view qualifier) {
  return absl::StrCat("*(", qualifier, SpaceName(place.space), VectorName(place, lanes), "*)(",
                      VectorAddress(place, qualifier), ")");
}

Code LoadVector(const Place& place, int lanes, bool by_functions) {
  if (MovesAlignedBits(place, lanes, by_functions)) {
    return Code{AlignedBits(place, lanes, "const "), Precedence::kUnary};
  }
  const std::string address = VectorAddress(place, "const ");
  if (!by_functions || !HasFunctions(place, lanes)) {
    return Code{absl::StrCat("vload", lanes, "(0, ", address, ")")};
  }
  return Code{absl::StrCat(FunctionName("load", place, lanes), "(", address, ")")};
}

std::string StoreVector(const Place& place, int lanes, absl::string_view value, bool by_functions) {
  if (MovesAlignedBits(place, lanes, by_functions)) {
    return absl::StrCat(AlignedBits(place, lanes, ""), " = ", value);
  }
  const std::string address = VectorAddress(place, "");
  if (!by_functions || !HasFunctions(place, lanes)) {
    return absl::StrCat("vstore", lanes, "(", value, ", 0, ", address, ")");
  }
  return absl::StrCat(FunctionName("store", place, lanes), "(", value, ", ", address, ")");
}

// Loads one or more elements and returns them in the type in which the stored type is computed.
Code LoadRaw(const Place& place, int lanes, bool by_functions) {
  if (place.lanes > 1) return Element(place);
  if (IsAlignedVector(place, lanes)) return AlignedVector(place, lanes, "const ");
  const std::string count = lanes == 1 ? "" : absl::StrCat(lanes);
  if (place.stored == DataType::kFloat16) {
    if (lanes == 1) {
      return Code{absl::StrCat("vload_half(", place.index.text, ", ",
                               PointerTo("half", place, "const "), ")")};
    }
    return Call(absl::StrCat("tt_from_half_ushort", lanes),
                {LoadVector(place, lanes, by_functions)});
  }
  const Code loaded = lanes == 1 ? Element(place) : LoadVector(place, lanes, by_functions);
  if (place.stored != DataType::kBFloat16) return loaded;
  return Call(absl::StrCat("tt_from_bfloat16_ushort", count), {loaded});
}

}  // namespace

Code LoadValue(const Place& place, const Type& type, bool by_functions) {
  const Type raw{ComputeType(place.stored), type.lanes};
  return ConvertValue(LoadRaw(place, type.lanes, by_functions), raw, type);
}

std::string StoreValue(const Place& place, const Type& type, const Code& value, bool by_functions) {
  const Type raw{ComputeType(place.stored), type.lanes};
  Code converted = ConvertValue(value, type, raw);
  if (place.rounds_to_tf32)
    converted = Call(absl::StrCat("tt_roundtf_", TypeName(raw)), {converted});
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
    return StoreVector(place, type.lanes,
                       absl::StrCat("tt_to_half_float", type.lanes, "(", converted.text, ")"),
                       by_functions);
  }
  if (place.stored == DataType::kBFloat16) {
    converted = Call(absl::StrCat("tt_to_bfloat16_", TypeName(raw)), {converted});
  }
  if (type.lanes == 1) return absl::StrCat(Element(place).text, " = ", converted.text);
  return StoreVector(place, type.lanes, converted.text, by_functions);
}

std::string MemoryHelper(absl::string_view name) {
  absl::string_view text;
  if (absl::ConsumePrefix(&name, "packed_")) {
    text = kPackedVector;
  } else if (absl::ConsumePrefix(&name, "load_")) {
    text = kLoad;
  } else if (absl::ConsumePrefix(&name, "store_")) {
    text = kStore;
  } else {
    return "";
  }
  const bool is_private = absl::ConsumePrefix(&name, kPrivate);
  const Type type = TypeFromName(name);
  if (type.element == DataType::kInvalid) return "";
  return absl::StrReplaceAll(text, {{"$V", name},
                                    {"$T", TypeName(Type{type.element, 1})},
                                    {"$P", is_private ? kPrivate : ""},
                                    {"$Q", is_private ? "" : "__global "}});
}

}  // namespace tartan::opencl
