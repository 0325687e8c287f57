// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/movement.h"

#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/import/decoding_mode.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// "2 + 3*i0", "i0 - 2", "5 - i0".
std::string Linear(int64_t start, int64_t step, const std::string& index) {
  const std::string scaled =
      step == 1 || step == -1 ? index : absl::StrCat(std::abs(step), "*", index);
  if (step < 0) return absl::StrCat(start, " - ", scaled);
  if (start == 0) return scaled;
  return start > 0 ? absl::StrCat(start, " + ", scaled) : absl::StrCat(scaled, " - ", -start);
}

// O[i…] = X[indices…] over `dims`.
absl::StatusOr<Tensor> Move(const NodeContext& context, const Tensor& x,
                            absl::Span<const std::string> indices, absl::Span<const int64_t> dims) {
  const std::vector<std::string> names = IndexNames(static_cast<int64_t>(dims.size()));
  const std::string statement =
      absl::StrCat(Write("O", names, dims), " = =(", Read("X", indices), ")");
  return context.ApplyOne(TileFunction("X", "O", {statement}), {x});
}

// Limits of takes from large constants on the host. Takes from smaller constants are left to the
// importer's constant folding.
// - kMaxTakenBytes: maximum bytes of the result (empirical).
// - kMinLargeElements: elements above which a constant is large, as kMaxFoldedOperand in
//   importer.cc.
constexpr int64_t kMaxTakenBytes = int64_t{1} << 26;
constexpr int64_t kMinLargeElements = int64_t{1} << 16;

// The slices of a large constant at constant indices. The constant, which may be a mapped file, is
// neither read completely nor sent to the device. Returns nothing for other operands.
std::optional<HostTensor> TakeOnHost(const Tensor& x, const Tensor& indices, int64_t axis) {
  if (x.constant() == nullptr || indices.constant() == nullptr) return std::nullopt;
  const HostTensor& from = *x.constant();
  if (from.element_count() <= kMinLargeElements) return std::nullopt;
  const auto along = from.shape().dims.begin() + axis;
  std::vector<int64_t> dims(from.shape().dims.begin(), along);
  const int64_t outer = TensorShape{from.type(), dims}.element_count();
  const std::vector<int64_t>& places = indices.dims();
  dims.insert(dims.end(), places.begin(), places.end());
  dims.insert(dims.end(), along + 1, from.shape().dims.end());
  const TensorShape shape{from.type(), std::move(dims)};
  if (!CheckShape(shape).ok() || shape.byte_size() > kMaxTakenBytes) return std::nullopt;
  const int64_t size = *along;
  const int64_t slice = from.shape().byte_size() / (outer * size);
  const std::vector<int64_t> list = indices.constant()->ToInts();
  std::vector<uint8_t> taken;
  taken.reserve(static_cast<size_t>(shape.byte_size()));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t place : list) {
      if (place < 0) place += size;
      if (place < 0 || place >= size) return std::nullopt;
      const auto bytes = from.bytes().subspan((o * size + place) * slice, slice);
      taken.insert(taken.end(), bytes.begin(), bytes.end());
    }
  }
  return HostTensor(shape, taken);
}

}  // namespace

int64_t Product(absl::Span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

absl::StatusOr<Tensor> ConvertTo(const NodeContext& context, const Tensor& x, DataType type) {
  if (x.type() == type) return x;
  return context.ApplyOne(TileFunction("X", "Y", {"Y = " + Cast("X", type)}), {x});
}

absl::StatusOr<Tensor> Reshape(const NodeContext& context, const Tensor& x,
                               const std::vector<int64_t>& dims) {
  if (x.dims() == dims) return x;
  if (const HostTensor* value = x.constant()) return Tensor::Constant(value->Reshaped(dims));
  return context.ApplyOne(TileFunction("X", "Y", {absl::StrCat("Y = ", ReshapeCall("X", dims))}),
                          {x});
}

absl::StatusOr<Tensor> Transpose(const NodeContext& context, const Tensor& x,
                                 absl::Span<const int64_t> perm) {
  const std::vector<std::string> names = IndexNames(x.rank());
  std::vector<std::string> indices(names.size());
  std::vector<int64_t> dims;
  for (size_t d = 0; d < names.size(); ++d) {
    indices[static_cast<size_t>(perm[d])] = names[d];
    dims.push_back(x.dims()[static_cast<size_t>(perm[d])]);
  }
  return Move(context, x, indices, dims);
}

absl::StatusOr<Tensor> BroadcastTo(const NodeContext& context, const Tensor& x,
                                   const std::vector<int64_t>& dims) {
  if (x.dims() == dims) return x;
  const size_t lead = dims.size() - x.dims().size();
  std::vector<std::string> indices;
  for (size_t d = 0; d < x.dims().size(); ++d) {
    const bool repeats = x.dims()[d] == 1 && dims[lead + d] != 1;
    indices.push_back(repeats ? "0" : absl::StrCat("i", lead + d));
  }
  return Move(context, x, indices, dims);
}

absl::StatusOr<Tensor> Fill(const NodeContext& context, const Tensor& scalar,
                            const std::vector<int64_t>& dims) {
  if (dims.empty()) return scalar;
  return Move(context, scalar, {}, dims);
}

absl::StatusOr<Tensor> Zeros(const NodeContext& context, DataType type,
                             const std::vector<int64_t>& dims) {
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{type, dims}));
  return Fill(context, ConstantScalar(type, 0), dims);
}

Window WholeOf(const Tensor& x) {
  return {std::vector<int64_t>(x.dims().size(), 0), std::vector<int64_t>(x.dims().size(), 1),
          x.dims()};
}

absl::StatusOr<Tensor> SliceOf(const NodeContext& context, const Tensor& x, const Window& window) {
  const Window whole = WholeOf(x);
  if (window.start == whole.start && window.step == whole.step && window.sizes == whole.sizes) {
    return x;
  }
  std::vector<std::string> indices;
  for (size_t d = 0; d < window.start.size(); ++d) {
    indices.push_back(Linear(window.start[d], window.step[d], absl::StrCat("i", d)));
  }
  return Move(context, x, indices, window.sizes);
}

namespace {

// The cache that the concatenation of `parts` along `axis` appends to; null if there is none.
const DecodingMode::Cache* CacheOf(const NodeContext& context, absl::Span<const Tensor> parts,
                                   int64_t axis) {
  const DecodingMode* mode = context.decoding();
  if (mode == nullptr || parts.size() != 2) return nullptr;
  for (const DecodingMode::Cache& cache : mode->caches) {
    if (parts[0] == cache.past && parts[1].dims()[static_cast<size_t>(axis)] == mode->step) {
      return &cache;
    }
  }
  return nullptr;
}

// The cache with `x` written after its current elements.
absl::StatusOr<Tensor> AppendTo(const NodeContext& context, const DecodingMode::Cache& cache,
                                const Tensor& x, int64_t axis) {
  const std::string ones = absl::StrJoin(std::vector<int>(x.dims().size(), 1), ", ");
  TARTAN_ASSIGN_OR_RETURN(
      cache.appended,
      context.ApplyOne(
          TileFunction("C, X, N", "Y",
                       {absl::StrCat("AT = index(X, ", axis, ") + reshape(N, ", ones, ")"),
                        absl::StrCat("Y = scatter_elements(C, AT, X, ", axis, ")")}),
          {cache.memory, x, context.decoding()->length}));
  return cache.appended;
}

}  // namespace

Tensor PartOfCaches(const NodeContext& context, const Tensor& x, int64_t axis, int64_t index) {
  const DecodingMode* mode = context.decoding();
  if (mode == nullptr || axis != 0) return Tensor();
  for (const DecodingMode::Joint& joint : mode->joints) {
    if (x != joint.past || index < 0 || index >= x.dims()[0]) continue;
    return mode->caches[joint.first + static_cast<size_t>(index)].past;
  }
  return Tensor();
}

absl::StatusOr<Tensor> ConcatOf(const NodeContext& context, absl::Span<const Tensor> parts,
                                int64_t axis) {
  if (const DecodingMode::Cache* cache = CacheOf(context, parts, axis)) {
    return AppendTo(context, *cache, parts[1], axis);
  }
  const size_t along = static_cast<size_t>(axis);
  std::vector<int64_t> dims = parts[0].dims();
  dims[along] = 0;
  std::vector<Tensor> operands;
  std::vector<int64_t> offsets;
  for (const Tensor& part : parts) {
    if (part.dims()[along] > 0) {
      operands.push_back(part);
      offsets.push_back(dims[along]);
    }
    dims[along] += part.dims()[along];
  }
  if (operands.empty()) return parts[0];
  if (operands.size() == 1) return operands[0];
  // Each statement writes its part and keeps the result of the previous one.
  const std::vector<std::string> names = IndexNames(static_cast<int64_t>(dims.size()));
  std::vector<std::string> statements;
  for (size_t k = 0; k < operands.size(); ++k) {
    std::vector<std::string> indices = names;
    indices[along] = Linear(-offsets[k], 1, names[along]);
    statements.push_back(absl::StrCat(Write(absl::StrCat("O", k), names, dims), " = =(",
                                      Read(absl::StrCat("X", k), indices), ")",
                                      k == 0 ? "" : absl::StrCat(" default O", k - 1)));
  }
  const int64_t count = static_cast<int64_t>(operands.size());
  return context.ApplyOne(
      TileFunction(NameList("X", count), absl::StrCat("O", count - 1), statements), operands);
}

absl::StatusOr<Tensor> TakeOf(const NodeContext& context, const Tensor& x, const Tensor& indices,
                              int64_t axis) {
  if (std::optional<HostTensor> taken = TakeOnHost(x, indices, axis)) {
    return Tensor::Constant(*std::move(taken));
  }
  return context.ApplyOne(TileFunction("X, I", "Y", {absl::StrCat("Y = gather(X, I, ", axis, ")")}),
                          {x, indices});
}

api::Bounds IndexBounds(const Tensor& x, int64_t axis) {
  const int64_t size = x.dims()[static_cast<size_t>(axis)];
  return {-size, size - 1, absl::StrCat("axis ", axis)};
}

api::Bounds PlainBounds(const Tensor& x, int64_t axis) {
  api::Bounds bounds = IndexBounds(x, axis);
  bounds.least = 0;
  return bounds;
}

}  // namespace tartan::onnx
