// SPDX-License-Identifier: Apache-2.0
// Sampling of images at computed positions: GridSample, AffineGrid and DeformConv.

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/sampling_text.h"
#include "frontend/onnx/families/shared/spatial_text.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Concatenates sizes, such as {batch, channels} and spatial sizes.
Sizes Joined(Sizes front, absl::Span<const int64_t> back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

// --- GridSample

absl::StatusOr<Interpolation> ReadInterpolation(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string mode, context.String("mode", "linear"));
  if (mode == "nearest") return Interpolation::kNearest;
  if (mode == "linear" || mode == "bilinear") return Interpolation::kLinear;
  if (mode == "cubic" || mode == "bicubic") return Interpolation::kCubic;
  return Invalid("attribute 'mode': expected nearest, linear or cubic, got ", mode);
}

absl::StatusOr<Outside> ReadOutside(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string mode, context.String("padding_mode", "zeros"));
  if (mode == "zeros") return Outside::kZeros;
  if (mode == "border") return Outside::kBorder;
  if (mode == "reflection") return Outside::kReflection;
  return Invalid("attribute 'padding_mode': expected zeros, border or reflection, got ", mode);
}

// Integers are interpolated in a float type that represents them exactly.
DataType InterpolationType(DataType type) {
  if (IsFloat(type)) return type;
  return ByteWidth(type) > 2 ? DataType::kFloat64 : DataType::kFloat32;
}

// X is [batch, channels, sizes …], the grid [batch, points …, axes]: coordinates from -1 to 1, the
// last axis first.
Outputs GridSample(NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& grid = context.input(1);
  Sampling sampling;
  TARTAN_ASSIGN_OR_RETURN(sampling.sizes, SpatialDims(x));
  const int64_t axes = x.rank() - 2;
  if (grid.rank() != x.rank() || grid.dims().back() != axes || grid.dims()[0] != x.dims()[0]) {
    return Invalid("a grid ", grid.shape().ToString(), " for ", x.shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(sampling.interpolation, ReadInterpolation(context));
  TARTAN_ASSIGN_OR_RETURN(sampling.outside, ReadOutside(context));
  TARTAN_ASSIGN_OR_RETURN(const int64_t align_corners, context.Int("align_corners", 0));
  sampling.ends_at_centers = align_corners != 0;
  const Sizes points(grid.dims().begin() + 1, grid.dims().end() - 1);
  sampling.batch = x.dims()[0];
  sampling.channels = x.dims()[1];
  sampling.points = Product(points);
  const Sizes dims = Joined({sampling.batch, sampling.channels}, points);
  if (Product(dims) == 0) return OneTensor(Zeros(context, x.type(), dims));
  if (sampling.places() == 0)
    return Invalid("there is nothing to sample in ", x.shape().ToString());

  const bool is_nearest = sampling.interpolation == Interpolation::kNearest;
  const DataType type = InterpolationType(x.type());
  const int64_t count = sampling.batch * sampling.points;
  TileBuilder text;
  text.AddOperand(is_nearest || type == x.type() ? "X" : "X_INTEGER", x);
  text.AddOperand("GRID", grid);
  if (!is_nearest && type != x.type()) text.Add("X = ", Cast("X_INTEGER", type));
  text.Add("COORDINATES = ", ReshapeCall("GRID", {count, axes}));
  for (int64_t axis = 0; axis < axes; ++axis) {
    const int64_t size = sampling.sizes[static_cast<size_t>(axis)];
    const std::string column = absl::StrCat("C", axis);
    text.Add(column, "[m : ", count, "] = =(COORDINATES[m, ", axes - 1 - axis, "])");
    text.Add("N", axis, " = ",
             ReshapeCall(column, Joined({count}, Sizes(sampling.sizes.size(), 1))));
    text.Add("V", axis, " = ",
             align_corners != 0 ? absl::StrCat("(N", axis, " + 1) / 2.0 * ", size - 1)
                                : absl::StrCat("((N", axis, " + 1) * ", size, " - 1) / 2.0"));
  }
  AddSampling(sampling, &text);
  text.Add("S[n, c, p : ", sampling.batch, ", ", sampling.channels, ", ", sampling.points,
           "] = ", is_nearest ? "=(TAPS[n, p, 0, c])" : "+(WEIGHTS[n, p, k] * TAPS[n, p, k, c])");
  text.Add("O = ", ReshapeCall("S", dims));
  text.Add("Y = ", Cast("O", x.type()));
  return text.Apply(context);
}

// --- AffineGrid

// The coordinates from -1 to 1 of the elements of an axis; 0 for a single one.
std::vector<double> AxisCoordinates(int64_t size, bool ends_at_centers) {
  std::vector<double> coordinates;
  for (int64_t i = 0; i < size; ++i) {
    const double at = static_cast<double>(i);
    const double whole = static_cast<double>(ends_at_centers ? size - 1 : size);
    const double place = ends_at_centers ? 2 * at : 2 * at + 1;
    coordinates.push_back(whole == 0 ? 0 : place / whole - 1);
  }
  return coordinates;
}

// Multiplies theta [batch, axes, axes + 1] by (…, y, x, 1) for each position of an image of the
// given size.
Outputs AffineGrid(NodeContext& context) {
  const Tensor& theta = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const Sizes size, context.HostInts(1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t align_corners, context.Int("align_corners", 0));
  const int64_t axes = static_cast<int64_t>(size.size()) - 2;
  if ((axes != 2 && axes != 3) || theta.dims() != Sizes{size[0], axes, axes + 1}) {
    return Invalid("matrices ", theta.shape().ToString(), " for the size ", DimsToString(size));
  }
  const Sizes places(size.begin() + 2, size.end());
  const Sizes dims = Joined(Joined({size[0]}, places), {axes});
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{theta.type(), dims}));
  if (Product(dims) == 0) return OneTensor(Zeros(context, theta.type(), dims));
  const Sizes column = Joined(Joined({size[0]}, Sizes(places.size(), 1)), {axes});
  TARTAN_RETURN_IF_ERROR(CheckTable(places));
  TileBuilder text;
  text.AddOperand("THETA", theta);
  std::string sum;
  for (int64_t j = 0; j <= axes; ++j) {
    text.Add("T", j, "[n, i : ", size[0], ", ", axes, "] = =(THETA[n, i, ", j, "])");
    const std::string factor = ReshapeCall(absl::StrCat("T", j), column);
    if (j == axes) {
      absl::StrAppend(&sum, factor);
      break;
    }
    // Column 0 belongs to the last axis.
    const size_t axis = static_cast<size_t>(axes - 1 - j);
    Sizes along(static_cast<size_t>(j) + 2, 1);
    along[0] = places[axis];
    text.AddOperand(absl::StrCat("AT", j),
                    ConstantOf(ComputeType(theta.type()),
                               AxisCoordinates(places[axis], align_corners != 0), along));
    absl::StrAppend(&sum, factor, " * AT", j, " + ");
  }
  text.Add("O = ", sum);
  text.Add("Y = ", Cast("O", theta.type()));
  return text.Apply(context);
}

// --- DeformConv

struct Deformed {
  Convolution convolution;
  int64_t offset_groups = 1;
  int64_t kernel = 0;  // elements of one kernel
  int64_t points = 0;  // outputs of one channel

  const SlidingWindow& window() const { return convolution.window; }
};

absl::StatusOr<Deformed> ReadDeformed(NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& offset = context.input(2);
  Deformed d;
  TARTAN_ASSIGN_OR_RETURN(d.convolution, ReadConvolution(context, x, context.input(1)));
  TARTAN_ASSIGN_OR_RETURN(d.offset_groups, context.Int("offset_group", 1));
  if (d.offset_groups < 1 || x.dims()[1] % d.offset_groups != 0) {
    return Invalid("offset_group ", d.offset_groups, " does not divide channels ", x.dims()[1]);
  }
  d.kernel = Product(d.window().kernel);
  d.points = Product(d.window().output);
  const int64_t axes = x.rank() - 2;
  const int64_t batch = x.dims()[0];
  const int64_t groups = d.offset_groups * d.kernel;
  if (offset.dims() != Joined({batch, groups * axes}, d.window().output)) {
    return Invalid("offsets ", offset.shape().ToString(), " for ", d.offset_groups, " groups, a ",
                   "kernel ", DimsToString(d.window().kernel), " and the result ",
                   DimsToString(d.convolution.dims()));
  }
  if (context.HasInput(4) &&
      context.input(4).dims() != Joined({batch, groups}, d.window().output)) {
    return Invalid("a mask ", context.input(4).shape().ToString(), " for offsets ",
                   offset.shape().ToString());
  }
  if (context.HasInput(3) && context.input(3).dims() != Sizes{d.convolution.outputs()}) {
    return Invalid("the bias is ", context.input(3).shape().ToString(), " for ",
                   d.convolution.outputs(), " channels");
  }
  return d;
}

// The undeformed position that kernel element k reads for output p along `axis`: [kernel, points].
Tensor WindowPositions(const Deformed& d, size_t axis, DataType type) {
  const SlidingWindow& window = d.window();
  const Sizes kernel_strides = RowMajorStrides(window.kernel);
  const Sizes output_strides = RowMajorStrides(window.output);
  std::vector<double> positions;
  for (int64_t k = 0; k < d.kernel; ++k) {
    for (int64_t p = 0; p < d.points; ++p) {
      const int64_t in_kernel = k / kernel_strides[axis] % window.kernel[axis];
      const int64_t in_output = p / output_strides[axis] % window.output[axis];
      positions.push_back(static_cast<double>(in_output * window.strides[axis] +
                                              in_kernel * window.dilations[axis] -
                                              window.before[axis]));
    }
  }
  return ConstantOf(type, positions, {d.kernel, d.points});
}

// Adds Y, the convolution of SAMPLES [batch, channels, kernel, points], which are the elements at
// the deformed positions.
void AddConvolution(const NodeContext& context, const Deformed& d, TileBuilder* text) {
  const Convolution& c = d.convolution;
  const int64_t batch = c.batch;
  const int64_t channels = c.groups * c.group_inputs;
  std::string samples = "SAMPLES";
  if (context.HasInput(4)) {
    text->AddOperand("MASK", context.input(4));
    text->Add("SG = ", ReshapeCall(samples, {batch, d.offset_groups, channels / d.offset_groups,
                                             d.kernel, d.points}));
    text->Add("MG = ", ReshapeCall("MASK", {batch, d.offset_groups, 1, d.kernel, d.points}));
    text->Add("SM = SG * MG");
    samples = "SM";
  }
  text->Add("SR = ", ReshapeCall(samples, {batch, c.groups, c.group_inputs, d.kernel, d.points}));
  text->Add("WR = ", ReshapeCall("W", {c.groups, c.group_outputs, c.group_inputs, d.kernel}));
  text->Add("SUM[n, g, co, p : ", batch, ", ", c.groups, ", ", c.group_outputs, ", ", d.points,
            "] = +(SR[n, g, ci, k, p] * WR[g, co, ci, k])");
  std::string sum = ReshapeCall("SUM", c.dims());
  if (context.HasInput(3)) {
    text->AddOperand("B", context.input(3));
    absl::StrAppend(&sum, " + ", PerChannel("B", c.outputs(), d.window().rank()));
  }
  text->Add("Y = ", Cast(sum, context.input(0).type()));  // positions have a wider float type
}

// Operands: X, weights, offsets [batch, offset groups * kernel * axes, points …], bias, mask.
Outputs DeformConv(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const Deformed d, ReadDeformed(context));
  const int64_t axes = x.rank() - 2;
  Sampling sampling;
  sampling.batch = x.dims()[0] * d.offset_groups;
  sampling.channels = x.dims()[1] / d.offset_groups;
  sampling.sizes.assign(x.dims().begin() + 2, x.dims().end());
  sampling.points = d.kernel * d.points;
  if (Product(d.convolution.dims()) == 0) {
    return OneTensor(Zeros(context, x.type(), d.convolution.dims()));
  }
  if (x.shape().element_count() == 0) {
    return Invalid("there is nothing to sample in ", x.shape().ToString());
  }
  TARTAN_RETURN_IF_ERROR(CheckTable({d.kernel, d.points}));
  TileBuilder text;
  text.AddOperand("X", x);
  text.AddOperand("W", context.input(1));
  text.AddOperand("OFFSET", context.input(2));
  text.Add("OFFSETS = ", ReshapeCall("OFFSET", {sampling.batch, d.kernel, axes, d.points}));
  const Sizes column =
      Joined({sampling.batch * sampling.points}, Sizes(static_cast<size_t>(axes), 1));
  for (int64_t axis = 0; axis < axes; ++axis) {
    text.AddOperand(absl::StrCat("AT", axis),
                    WindowPositions(d, static_cast<size_t>(axis), ComputeType(x.type())));
    text.Add("D", axis, "[n, k, p : ", sampling.batch, ", ", d.kernel, ", ", d.points,
             "] = =(OFFSETS[n, k, ", axis, ", p])");
    text.Add("DEFORMED", axis, " = D", axis, " + AT", axis);
    text.Add("V", axis, " = ", ReshapeCall(absl::StrCat("DEFORMED", axis), column));
  }
  AddSampling(sampling, &text);
  text.Add("SAMPLES[n, c, p : ", sampling.batch, ", ", sampling.channels, ", ", sampling.points,
           "] = +(WEIGHTS[n, p, k] * TAPS[n, p, k, c])");
  AddConvolution(context, d, &text);
  return text.Apply(context);
}

constexpr OperatorRow kOperators[] = {
    {"AffineGrid", 20, {2, 2}, AffineGrid, HostOperands(1)},
    {"DeformConv", 19, {3, 5}, DeformConv},
    {"GridSample", 16, {2, 2}, GridSample},
};

}  // namespace

absl::Span<const OperatorRow> SamplingOperators() { return kOperators; }

}  // namespace tartan::onnx
