// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: interpolation along one axis after the other. Coordinates and weights are
// computed at import from the sizes; the device gathers elements and applies the weights.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/resize_taps.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"
#include "tile/math/rational.h"

namespace tartan::onnx {
namespace {

// Maximum size of an axis, whose weights are computed on the host.
constexpr int64_t kMaxAxis = int64_t{1} << 22;

// The resizing of each axis of the operand.
struct Plan {
  ResizeOptions options;
  std::vector<ResizeAxis> axes;
};

absl::StatusOr<ResizeOptions> ReadOptions(NodeContext& context) {
  ResizeOptions options;
  const bool is_old = context.opset() < 11 || context.op_type() == "Upsample";
  const char* coordinates = is_old ? "asymmetric" : "half_pixel";
  TARTAN_ASSIGN_OR_RETURN(const std::string mode, context.String("mode", "nearest"));
  TARTAN_ASSIGN_OR_RETURN(const std::string transformation,
                          context.String("coordinate_transformation_mode", coordinates));
  TARTAN_ASSIGN_OR_RETURN(const std::string rounding,
                          context.String("nearest_mode", "round_prefer_floor"));
  TARTAN_RETURN_IF_ERROR(options.SetModes(mode, transformation, rounding));
  if (is_old) options.rounding = Rounding::kFloorOrCeil;
  TARTAN_ASSIGN_OR_RETURN(const float a, context.Float("cubic_coeff_a", -0.75f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t exclude, context.Int("exclude_outside", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t antialias, context.Int("antialias", 0));
  TARTAN_ASSIGN_OR_RETURN(const float outside, context.Float("extrapolation_value", 0.0f));
  options.cubic_a = a;
  options.excludes_outside = exclude != 0;
  options.antialias = antialias != 0;
  options.extrapolation = outside;
  return options;
}

// The axes to which operands and attributes refer, in their order.
absl::StatusOr<std::vector<int64_t>> NamedAxes(NodeContext& context) {
  const int64_t rank = context.input(0).rank();
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  TARTAN_ASSIGN_OR_RETURN(axes, context.Ints("axes", axes));
  TARTAN_RETURN_IF_ERROR(NormalAxes(axes, rank).status());
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  return axes;
}

absl::Status CheckCount(absl::string_view what, size_t got, size_t expected) {
  if (got == expected) return absl::OkStatus();
  return Invalid(got, " ", what, " for ", expected, " axes");
}

// Maximum length_resized of an axis: far larger than any size. Positions on a longer axis would not
// be exact integers.
constexpr int64_t kMaxLength = 1'000'000'000'000;

absl::Status SetScale(const math::Rational& scale, ResizeAxis* axis) {
  axis->scale = scale;
  const math::Rational length = axis->length();
  if (length.valid() && length <= kMaxLength) return absl::OkStatus();
  return Invalid("scale ", scale.ToString(), " is too large for ", axis->size, " elements");
}

absl::Status ApplyScale(float scale, ResizeAxis* axis) {
  if (!(scale > 0) || !std::isfinite(scale)) return Invalid("a scale is ", scale);
  // kMaxScale: far larger than any size; its inverse is far smaller than any scale that leaves an
  // element.
  constexpr float kMaxScale = 1e12F;
  if (scale > kMaxScale) return Invalid("scale ", scale, " is too large");
  const math::Rational fraction = SimplestFraction(std::max(scale, 1 / kMaxScale));
  TARTAN_RETURN_IF_ERROR(SetScale(fraction, axis));
  // The standard's shape inference multiplies in float32: 0.7 times 10 elements gives 7.
  constexpr int64_t kExactInFloat = int64_t{1} << 24;
  const bool is_exact = axis->size < kExactInFloat && axis->length() < kExactInFloat;
  axis->new_size = is_exact ? static_cast<int64_t>(static_cast<float>(axis->size) * scale)
                            : axis->length().Floor();
  return absl::OkStatus();
}

absl::Status ApplyScales(const std::vector<float>& scales, const std::vector<int64_t>& axes,
                         Plan* plan) {
  TARTAN_RETURN_IF_ERROR(CheckCount("scales", scales.size(), axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    TARTAN_RETURN_IF_ERROR(ApplyScale(scales[i], &plan->axes[static_cast<size_t>(axes[i])]));
  }
  return absl::OkStatus();
}

// All axes get one scale unless the policy is stretch: the minimum or maximum of the requested
// scales.
absl::Status ApplySizes(const std::vector<int64_t>& sizes, const std::vector<int64_t>& axes,
                        const std::string& policy, Plan* plan) {
  TARTAN_RETURN_IF_ERROR(CheckCount("sizes", sizes.size(), axes.size()));
  std::vector<math::Rational> scales;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan->axes[static_cast<size_t>(axes[i])];
    if (sizes[i] <= 0 || axis.size == 0)
      return Invalid("size ", axis.size, " cannot become ", sizes[i]);
    axis.new_size = sizes[i];
    axis.scale = math::Rational(sizes[i], axis.size);
    scales.push_back(axis.scale);
  }
  if (policy == "stretch" || scales.empty()) return absl::OkStatus();
  const math::Rational scale = policy == "not_larger"
                                   ? *std::min_element(scales.begin(), scales.end())
                                   : *std::max_element(scales.begin(), scales.end());
  for (int64_t named : axes) {
    ResizeAxis& axis = plan->axes[static_cast<size_t>(named)];
    TARTAN_RETURN_IF_ERROR(SetScale(scale, &axis));
    axis.new_size = (axis.length() + math::Rational(1, 2)).Floor();
  }
  return absl::OkStatus();
}

bool HasElements(const NodeContext& context, int i) {
  return context.HasInput(i) && context.input(i).shape().element_count() > 0;
}

absl::Status ReadRegion(NodeContext& context, const std::vector<int64_t>& axes, Plan* plan) {
  if (plan->options.coordinates != Coordinates::kTfCropAndResize) return absl::OkStatus();
  if (!HasElements(context, 1)) return Invalid("tf_crop_and_resize needs the region of interest");
  TARTAN_ASSIGN_OR_RETURN(const HostTensor value, context.HostValue(1));
  std::vector<math::Rational> region;
  for (const double bound : value.ToDoubles()) {
    if (!(std::abs(bound) <= kMaxLength)) return Invalid("a bound of the region is ", bound);
    // Smaller bounds have no visible effect.
    constexpr double kSmallest = 1e-15;
    const bool is_none = std::abs(bound) < kSmallest;
    region.push_back(is_none ? math::Rational(0) : SimplestFraction(static_cast<float>(bound)));
  }
  TARTAN_RETURN_IF_ERROR(CheckCount("bounds of the region", region.size() / 2, axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan->axes[static_cast<size_t>(axes[i])];
    axis.region_start = region[i];
    axis.region_end = region[axes.size() + i];
  }
  return absl::OkStatus();
}

// `scales` and `sizes` are positions of operands; -1: the node has none.
absl::StatusOr<Plan> ReadPlan(NodeContext& context, int scales, int sizes) {
  Plan plan;
  TARTAN_ASSIGN_OR_RETURN(plan.options, ReadOptions(context));
  for (int64_t dim : context.input(0).dims()) plan.axes.push_back(ResizeAxis::Unchanged(dim));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NamedAxes(context));
  TARTAN_ASSIGN_OR_RETURN(const std::string policy,
                          context.OneOf("keep_aspect_ratio_policy", "stretch",
                                        {"stretch", "not_larger", "not_smaller"}));
  if (sizes >= 0 && HasElements(context, sizes)) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, context.HostInts(sizes));
    TARTAN_RETURN_IF_ERROR(ApplySizes(values, axes, policy, &plan));
  } else if (scales >= 0 && HasElements(context, scales)) {
    TARTAN_ASSIGN_OR_RETURN(const HostTensor value, context.HostValue(scales));
    const std::vector<double> values = value.ToDoubles();
    TARTAN_RETURN_IF_ERROR(ApplyScales({values.begin(), values.end()}, axes, &plan));
  } else {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<float> values, context.Floats("scales"));
    TARTAN_RETURN_IF_ERROR(ApplyScales(values, axes, &plan));
  }
  TARTAN_RETURN_IF_ERROR(ReadRegion(context, axes, &plan));
  return plan;
}

// An integer scale repeats elements, as a view without a copy.
absl::StatusOr<Tensor> Repeat(const NodeContext& context, const Tensor& x, size_t axis,
                              int64_t times) {
  std::vector<int64_t> narrow = x.dims();
  std::vector<int64_t> wide = x.dims();
  std::vector<int64_t> dims = x.dims();
  narrow.insert(narrow.begin() + static_cast<int64_t>(axis) + 1, 1);
  wide.insert(wide.begin() + static_cast<int64_t>(axis) + 1, times);
  dims[axis] *= times;
  TARTAN_ASSIGN_OR_RETURN(const Tensor apart, Reshape(context, x, narrow));
  TARTAN_ASSIGN_OR_RETURN(const Tensor repeated, BroadcastTo(context, apart, wide));
  return Reshape(context, repeated, dims);
}

absl::StatusOr<Tensor> Choose(const NodeContext& context, const Tensor& x, size_t axis,
                              const std::vector<int64_t>& positions) {
  const int64_t size = x.dims()[axis];
  const int64_t count = static_cast<int64_t>(positions.size());
  const int64_t times = size > 0 && count % size == 0 ? count / size : 0;
  bool repeats = times > 0;
  for (int64_t i = 0; repeats && i < count; ++i) {
    repeats = positions[static_cast<size_t>(i)] == i / times;
  }
  if (repeats) return Repeat(context, x, axis, times);
  return TakeOf(context, x, ConstantInts(positions), static_cast<int64_t>(axis));
}

// A vector along `axis` that broadcasts against a tensor of `rank`.
Tensor AlongAxis(DataType type, const std::vector<double>& values, size_t axis, int64_t rank) {
  std::vector<int64_t> dims(static_cast<size_t>(rank) - axis, 1);
  dims[0] = static_cast<int64_t>(values.size());
  return ConstantOf(type, values, std::move(dims));
}

absl::StatusOr<Tensor> Interpolate(const NodeContext& context, const Tensor& x, size_t axis,
                                   const ResizeTaps& taps) {
  if (taps.weights.empty()) return Choose(context, x, axis, taps.positions[0]);
  std::vector<Tensor> operands = {x};
  std::string names = "X";
  std::string sum;
  for (size_t k = 0; k < taps.positions.size(); ++k) {
    operands.push_back(ConstantInts(taps.positions[k]));
    operands.push_back(AlongAxis(x.type(), taps.weights[k], axis, x.rank()));
    absl::StrAppend(&names, ", I", k, ", W", k);
    absl::StrAppend(&sum, k == 0 ? "" : " + ", "gather(X, I", k, ", ", axis, ") * W", k);
  }
  return context.ApplyOne(TileFunction(names, "Y", {absl::StrCat("Y = ", sum)}), operands);
}

// Writes the extrapolation value where `inside` is 0.
absl::StatusOr<Tensor> Extrapolate(const NodeContext& context, const Tensor& x, size_t axis,
                                   const std::vector<double>& inside, double value) {
  const Tensor mask = AlongAxis(DataType::kBool, inside, axis, x.rank());
  return context.ApplyOne(
      absl::StrCat("function (X, INSIDE) -> (Y) { Y = INSIDE ? X : ", Literal(value), "; }"),
      {x, mask});
}

Outputs ResizeBy(NodeContext& context, const Plan& plan) {
  Tensor x = context.input(0);
  TensorShape result = x.shape();
  for (size_t d = 0; d < plan.axes.size(); ++d) result.dims[d] = plan.axes[d].new_size;
  TARTAN_RETURN_IF_ERROR(CheckShape(result));
  const bool is_nearest = plan.options.interpolation == Interpolation::kNearest;
  if (!is_nearest && !IsFloat(x.type())) {
    return Unsupported("interpolation of ", x.shape().ToString());
  }
  std::vector<std::vector<double>> inside(plan.axes.size());
  for (size_t d = 0; d < plan.axes.size(); ++d) {
    const ResizeAxis& axis = plan.axes[d];
    if (axis.IsUnchanged()) continue;
    if (axis.size == 0) return Invalid("axis ", d, " of ", x.shape().ToString(), " is empty");
    if (axis.new_size > kMaxAxis) {
      return absl::ResourceExhaustedError(absl::StrCat("an axis of ", axis.new_size, " elements"));
    }
    // Antialiasing reads more elements than the factor by which the axis shrinks.
    constexpr int64_t kMaxShrinking = 1000;
    if (plan.options.antialias && axis.scale < math::Rational(1, kMaxShrinking)) {
      return absl::ResourceExhaustedError(absl::StrCat("antialiasing where an axis shrinks to ",
                                                       axis.scale.ToString(), " of its size"));
    }
    TARTAN_ASSIGN_OR_RETURN(ResizeTaps taps, MakeTaps(axis, plan.options));
    TARTAN_ASSIGN_OR_RETURN(x, Interpolate(context, x, d, taps));
    inside[d] = std::move(taps.inside);
  }
  for (size_t d = 0; d < inside.size(); ++d) {
    if (inside[d].empty()) continue;
    TARTAN_ASSIGN_OR_RETURN(x, Extrapolate(context, x, d, inside[d], plan.options.extrapolation));
  }
  return std::vector<Tensor>{x};
}

// Operands: X, region, scales, sizes.
Outputs Resize(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(context, 2, 3));
  return ResizeBy(context, plan);
}

// Operands: X, scales. For Upsample, and Resize of opset 10.
Outputs Upsample(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(context, 1, -1));
  return ResizeBy(context, plan);
}

constexpr OperatorRow kOperators[] = {
    {"Resize", 10, {2, 2}, Upsample, HostOperands(1)},
    {"Resize", 11, {1, 4}, Resize, HostOperands(1, 2, 3)},
    {"Upsample", 7, {1, 1}, Upsample},
    {"Upsample", 9, {2, 2}, Upsample, HostOperands(1)},
};

}  // namespace

absl::Span<const OperatorRow> ResizeOperators() { return kOperators; }

}  // namespace tartan::onnx
