// SPDX-License-Identifier: Apache-2.0
// Pad in all its modes, CenterCropPad, DepthToSpace and SpaceToDepth.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/lift.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Maximum size of an axis that is padded in a mode other than constant, since the host lists source
// positions.
constexpr int64_t kMaxAxis = int64_t{1} << 24;

// Elements added before and after each dimension; negative: removed.
struct Pads {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
  std::vector<int64_t> dims;  // of the result
};

absl::StatusOr<Pads> ReadPads(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, context.HostInts(1));
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < x.rank(); ++d) axes.push_back(d);
  if (context.HasInput(3)) {
    TARTAN_ASSIGN_OR_RETURN(axes, context.HostInts(3));
    TARTAN_RETURN_IF_ERROR(NormalAxes(axes, x.rank()).status());
  }
  if (values.size() != 2 * axes.size()) {
    return Invalid(values.size(), " pads for ", axes.size(), " axes of ", x.shape().ToString());
  }
  const std::vector<int64_t> none(static_cast<size_t>(x.rank()), 0);
  Pads pads{none, none, x.dims()};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + x.rank() : axes[i]);
    constexpr int64_t kLimit = int64_t{1} << 40;
    pads.before[axis] = values[i];
    pads.after[axis] = values[axes.size() + i];
    const auto is_large = [](int64_t pad) { return pad < -kLimit || pad > kLimit; };
    if (is_large(pads.before[axis]) || is_large(pads.after[axis])) {
      return Invalid("pads ", DimsToString(values));
    }
    pads.dims[axis] += pads.before[axis] + pads.after[axis];
    if (pads.dims[axis] < 0) {
      return Invalid("pads ", DimsToString(values), " remove more than the size of ",
                     x.shape().ToString());
    }
  }
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{x.type(), pads.dims}));
  return pads;
}

// The padding value is 0 unless operand 2 gives another.
Outputs PadConstant(NodeContext& context, const Pads& pads) {
  const Tensor& x = context.input(0);
  const std::vector<std::string> names = IndexNames(x.rank());
  std::vector<std::string> indices;
  for (size_t d = 0; d < names.size(); ++d) {
    indices.push_back(
        absl::StrCat(names[d], pads.before[d] > 0 ? " - " : " + ", std::abs(pads.before[d])));
  }
  const std::string inside =
      absl::StrCat(Write("O", names, pads.dims), " = =(", Read("X", indices), ")");
  if (!context.HasInput(2)) return context.Apply(TileFunction("X", "O", {inside}), {x});
  const Tensor& value = context.input(2);
  const bool is_one = value.shape().element_count() == 1;
  if (is_one && value.constant() != nullptr && value.constant()->GetDouble(0) == 0) {
    return context.Apply(TileFunction("X", "O", {inside}), {x});
  }
  if (!is_one || value.type() != x.type()) {
    return Invalid("the value is ", value.shape().ToString(), ", expected one ", Name(x.type()));
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor scalar, Reshape(context, value, {}));
  return context.Apply(TileFunction("X, V", "O",
                                    {absl::StrCat(Write("AROUND", names, pads.dims), " = =(V[])"),
                                     absl::StrCat(inside, " default AROUND")}),
                       {x, scalar});
}

// The source position, in a dimension of `size`, of a position outside it.
int64_t Source(int64_t i, int64_t size, absl::string_view mode) {
  if (mode == "edge" || size == 1) {
    if (mode != "wrap") return std::min(std::max<int64_t>(i, 0), size - 1);
  }
  const int64_t period = mode == "wrap" ? size : 2 * (size - 1);
  i = (i % period + period) % period;
  return mode == "wrap" || i < size ? i : period - i;
}

Outputs PadFromInside(NodeContext& context, const Pads& pads, absl::string_view mode) {
  Tensor result = context.input(0);
  for (size_t d = 0; d < pads.dims.size(); ++d) {
    const int64_t size = result.dims()[d];
    if (pads.before[d] == 0 && pads.after[d] == 0) continue;
    if (size == 0) return Invalid("mode '", mode, "' has no element to repeat along axis ", d);
    if (pads.dims[d] > kMaxAxis) {
      return absl::ResourceExhaustedError(absl::StrCat("an axis of ", pads.dims[d], " elements"));
    }
    const int64_t kept =
        size + std::min<int64_t>(pads.before[d], 0) + std::min<int64_t>(pads.after[d], 0);
    const int64_t most = std::max(pads.before[d], pads.after[d]);
    if (mode == "reflect" && most >= std::max<int64_t>(kept, 1)) {
      return Invalid("mode 'reflect' adds ", most, " to axis ", d, ", which has ", kept,
                     " elements: it can add at most one less");
    }
    std::vector<int64_t> sources;
    for (int64_t i = 0; i < pads.dims[d]; ++i) {
      sources.push_back(Source(i - pads.before[d], size, mode));
    }
    TARTAN_ASSIGN_OR_RETURN(
        result, TakeOf(context, result, ConstantInts(sources), static_cast<int64_t>(d)));
  }
  return std::vector<Tensor>{result};
}

Outputs Pad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string mode, context.String("mode", "constant"));
  TARTAN_ASSIGN_OR_RETURN(const Pads pads, ReadPads(context));
  if (mode == "constant") {
    // Low-precision types represent 0 as 0, but position 0 of the word list is an arbitrary word.
    if (context.value(0).is_strings() && !context.HasInput(2)) {
      return Unsupported("padding strings without a constant value");
    }
    return PadConstant(context, pads);
  }
  if (mode == "reflect" || mode == "edge" || mode == "wrap") {
    return PadFromInside(context, pads, mode);
  }
  return Invalid("attribute 'mode': expected constant, reflect, edge or wrap, got ", mode);
}

// Operand 1 holds the new sizes of the axes. Cropping or padding is split evenly, with the odd
// element at the end.
Outputs CenterCropPad(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, context.HostInts(1));
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < x.rank(); ++d) axes.push_back(d);
  TARTAN_ASSIGN_OR_RETURN(axes, context.Ints("axes", axes));
  TARTAN_RETURN_IF_ERROR(NormalAxes(axes, x.rank()).status());
  if (sizes.size() != axes.size()) {
    return Invalid(sizes.size(), " sizes for ", axes.size(), " axes of ", x.shape().ToString());
  }
  const std::vector<int64_t> none(static_cast<size_t>(x.rank()), 0);
  Pads pads{none, none, x.dims()};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + x.rank() : axes[i]);
    if (sizes[i] < 0) return Invalid("the sizes are ", DimsToString(sizes));
    const int64_t more = sizes[i] - x.dims()[axis];
    pads.before[axis] = more / 2;
    pads.after[axis] = more - more / 2;
    pads.dims[axis] = sizes[i];
  }
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{x.type(), pads.dims}));
  return PadConstant(context, pads);
}

// Reshapes to `apart`, in which blocks are separate dimensions, then transposes and merges them.
Outputs Rearrange(NodeContext& context, const std::vector<int64_t>& apart,
                  const std::vector<int64_t>& perm, const std::vector<int64_t>& dims) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor blocks, Reshape(context, context.input(0), apart));
  TARTAN_ASSIGN_OR_RETURN(const Tensor moved, Transpose(context, blocks, perm));
  return OneTensor(Reshape(context, moved, dims));
}

absl::StatusOr<int64_t> BlockSize(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t block, context.Int("blocksize"));
  constexpr int64_t kMaxBlock = 1 << 16;
  if (block < 1 || block > kMaxBlock) return Invalid("attribute 'blocksize' is ", block);
  if (context.input(0).rank() != 4) {
    return Invalid("operand 0: expected rank 4, got ", context.input(0).shape().ToString());
  }
  return block;
}

Outputs DepthToSpace(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t b, BlockSize(context));
  TARTAN_ASSIGN_OR_RETURN(const std::string mode, context.String("mode", "DCR"));
  const std::vector<int64_t>& x = context.input(0).dims();
  if (x[1] % (b * b) != 0) {
    return Invalid("channels ", x[1], " are not divisible by ", b, " * ", b);
  }
  const int64_t c = x[1] / (b * b);
  const std::vector<int64_t> dims = {x[0], c, x[2] * b, x[3] * b};
  if (mode == "DCR")
    return Rearrange(context, {x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, dims);
  if (mode == "CRD")
    return Rearrange(context, {x[0], c, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, dims);
  return Invalid("attribute 'mode': expected DCR or CRD, got ", mode);
}

Outputs SpaceToDepth(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t b, BlockSize(context));
  const std::vector<int64_t>& x = context.input(0).dims();
  if (x[2] % b != 0 || x[3] % b != 0) {
    return Invalid("sizes ", x[2], " and ", x[3], " are not divisible by ", b);
  }
  const std::vector<int64_t> apart = {x[0], x[1], x[2] / b, b, x[3] / b, b};
  const std::vector<int64_t> dims = {x[0], x[1] * b * b, x[2] / b, x[3] / b};
  TARTAN_ASSIGN_OR_RETURN(const std::string mode, context.String("mode", "DCR"));
  if (mode == "DCR") return Rearrange(context, apart, {0, 3, 5, 1, 2, 4}, dims);
  if (mode == "CRD") return Rearrange(context, apart, {0, 1, 3, 5, 2, 4}, dims);
  return Invalid("attribute 'mode': expected DCR or CRD, got ", mode);
}

constexpr OperatorRow kOperators[] = {
    {"CenterCropPad", 18, {2, 2}, CenterCropPad, HostOperands(1)},
    Moving({"DepthToSpace", 1, {1, 1}, DepthToSpace}),
    {"Pad", 1, {1, 1}, Pad, 0, PadsToOperands},
    Moving({"Pad", 11, {2, 4}, Pad, HostOperands(1, 3)}),
    Moving({"SpaceToDepth", 1, {1, 1}, SpaceToDepth}),
};

}  // namespace

absl::Span<const OperatorRow> PaddingOperators() { return kOperators; }

}  // namespace tartan::onnx
