// SPDX-License-Identifier: Apache-2.0
// Pooling over image regions that are operands: RoiAlign and MaxRoiPool.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/sampling_text.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using HostTensors = absl::StatusOr<std::vector<HostTensor>>;

// Maximum elements or samples of a bin along one axis.
constexpr int64_t kMaxBin = int64_t{1} << 16;

struct Bins {
  int64_t height = 0;  // number of bins
  int64_t width = 0;
  float scale = 1;  // from the regions' coordinates to elements

  Sizes Dims(int64_t regions, int64_t channels) const { return {regions, channels, height, width}; }
};

// The dims of the result for X [batch, channels, height, width] and regions [regions, columns]. The
// result may be empty.
absl::StatusOr<Sizes> ResultDims(const NodeContext& context, const Bins& bins, int64_t columns) {
  const Tensor& x = context.input(0);
  const Tensor& regions = context.input(1);
  if (x.rank() != 4 || regions.rank() != 2 || regions.dims()[1] != columns) {
    return Invalid("regions ", regions.shape().ToString(), " of ", x.shape().ToString());
  }
  if (bins.height < 0 || bins.width < 0) {
    return Invalid("a result of ", bins.height, " by ", bins.width);
  }
  const Sizes dims = bins.Dims(regions.dims()[0], x.dims()[1]);
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{x.type(), dims}));
  const bool is_empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  if (!is_empty && x.shape().element_count() == 0) {
    return Invalid("no elements to sample in ", x.shape().ToString());
  }
  return dims;
}

bool IsEmpty(const Sizes& dims) { return std::find(dims.begin(), dims.end(), 0) != dims.end(); }

// Adds READ [regions, height, width, rows, columns, channels], the elements of each bin, or zeros
// where INSIDE is false. PY [regions, height, 1, rows, 1] and PX [regions, 1, width, 1, columns]
// are their positions in the image IMAGE [regions, 1, 1, 1, 1].
void AddBinElements(const Tensor& x, TileBuilder* text) {
  const Sizes& d = x.dims();
  const int64_t places = d[2] * d[3];
  text->Add("XS = ", ReshapeCall("X", {d[0], d[1], places}));
  text->Add(RowsStatement("ROWS", "XS", d[0], d[1], places));
  text->Add("POSITIONS = INSIDE ? (IMAGE * ", d[2], " + PY) * ", d[3], " + PX : ", d[0] * places);
  text->Add("READ = gather(ROWS, POSITIONS, 0)");
}

// --- RoiAlign

struct Alignment {
  Bins bins;
  int64_t sampling_ratio = 0;  // samples of a bin along each axis; 0: one per element
  bool is_half_pixel = true;
  bool is_max = false;

  double offset() const { return is_half_pixel ? 0.5 : 0.0; }
};

absl::StatusOr<Alignment> ReadAlignment(NodeContext& context) {
  Alignment a;
  TARTAN_ASSIGN_OR_RETURN(a.bins.height, context.Int("output_height", 1));
  TARTAN_ASSIGN_OR_RETURN(a.bins.width, context.Int("output_width", 1));
  TARTAN_ASSIGN_OR_RETURN(a.bins.scale, context.Float("spatial_scale", 1.0f));
  TARTAN_ASSIGN_OR_RETURN(a.sampling_ratio, context.Int("sampling_ratio", 0));
  const char* otherwise = context.opset() < 16 ? "output_half_pixel" : "half_pixel";
  TARTAN_ASSIGN_OR_RETURN(const std::string coordinates,
                          context.OneOf("coordinate_transformation_mode", otherwise,
                                        {"half_pixel", "output_half_pixel"}));
  TARTAN_ASSIGN_OR_RETURN(const std::string mode, context.OneOf("mode", "avg", {"avg", "max"}));
  if (a.sampling_ratio < 0 || a.sampling_ratio > kMaxBin) {
    return Invalid("attribute 'sampling_ratio' is ", a.sampling_ratio);
  }
  a.is_half_pixel = coordinates == "half_pixel";
  a.is_max = mode == "max";
  return a;
}

// The number of samples in the bins of each region along an axis, computed in the precision of T as
// the standard specifies. Not positive for regions with exchanged corners.
template <class T>
std::vector<double> SampleCounts(const HostTensor& regions, const Alignment& a, int64_t axis) {
  std::vector<double> counts;
  const T bins = static_cast<T>(axis == 0 ? a.bins.height : a.bins.width);
  for (int64_t r = 0; r < regions.shape().dims[0]; ++r) {
    const auto edge = [&](int64_t column) {
      const T value = static_cast<T>(regions.GetDouble(4 * r + column));
      return value * static_cast<T>(a.bins.scale) - static_cast<T>(a.offset());
    };
    T length = edge(3 - axis) - edge(1 - axis);
    if (!a.is_half_pixel) length = std::max(length, T{1});
    counts.push_back(static_cast<double>(std::ceil(length / bins)));
  }
  return counts;
}

struct Samples {
  Tensor numbers[2];  // 0, 1, 2 … up to the maximum count of any bin along y, along x
  Tensor counts[2];   // per region [regions]
};

// Sample counts from the regions. They decide the sizes of the following tensors.
absl::StatusOr<Samples> AdaptiveSamples(NodeContext& context, const Alignment& a) {
  const auto count = [a](absl::Span<const HostTensor> operands) -> HostTensors {
    std::vector<HostTensor> results;
    for (int64_t axis : {0, 1}) {
      const std::vector<double> counts = operands[0].type() == DataType::kFloat64
                                             ? SampleCounts<double>(operands[0], a, axis)
                                             : SampleCounts<float>(operands[0], a, axis);
      const double most = *std::max_element(counts.begin(), counts.end());
      if (!(most <= static_cast<double>(kMaxBin))) {
        return absl::ResourceExhaustedError(
            absl::StrCat("a region requires ", most, " samples per bin"));
      }
      const Tensor numbers =
          Positions(DataType::kFloat32, static_cast<int64_t>(std::max(most, 1.0)));
      const Tensor all =
          ConstantOf(DataType::kFloat32, counts, {static_cast<int64_t>(counts.size())});
      results.push_back(*numbers.constant());
      results.push_back(*all.constant());
    }
    return results;
  };
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made,
                          context.RunOnHost({context.input(1)}, count));
  return Samples{{made[0], made[2]}, {made[1], made[3]}};
}

Samples FixedSamples(int64_t regions, int64_t ratio) {
  const std::vector<double> counts(static_cast<size_t>(regions), static_cast<double>(ratio));
  const Tensor numbers = Positions(DataType::kFloat32, ratio);
  const Tensor count = ConstantOf(DataType::kFloat32, counts, {regions});
  return {{numbers, numbers}, {count, count}};
}

// Adds values along one axis for the two elements adjacent to each sample, for bins p of regions r.
// - PLACE, WEIGHT and INSIDE are [r, p, 2 * samples]. Samples more than one element outside have
//   weight 0 and INSIDE false.
// - THERE [r, 1, 2 * samples] is true if the region has that sample.
void AddSamplesAlong(const char* a, const Alignment& how, int64_t size, int64_t bins, int64_t low,
                     const Samples& samples, TileBuilder* text) {
  const size_t axis = low == 1 ? 0 : 1;
  const int64_t regions = samples.counts[axis].dims()[0];
  const int64_t count = samples.numbers[axis].dims()[0];
  const std::string last = Literal(static_cast<double>(size - 1));
  text->AddOperand(absl::StrCat("NUMBER", a), samples.numbers[axis]);
  text->AddOperand(absl::StrCat("COUNTS", a), samples.counts[axis]);
  text->AddOperand(absl::StrCat("BINS", a), Positions(DataType::kFloat32, bins));
  text->Add("BIN", a, " = ", ReshapeCall(absl::StrCat("BINS", a), {bins, 1}));
  text->Add("LOW", a, "[r : ", regions, "] = =(REGIONS[r, ", low, "])");
  text->Add("HIGH", a, "[r : ", regions, "] = =(REGIONS[r, ", low + 2, "])");
  for (const char* edge : {"LOW", "HIGH"}) {
    text->Add(edge, "S", a, " = ", ReshapeCall(absl::StrCat(edge, a), {regions, 1, 1}), " * ",
              Literal(how.bins.scale), " - ", Literal(how.offset()));
  }
  text->Add("LENGTH", a, " = HIGHS", a, " - LOWS", a);
  text->Add("STEP", a, " = ",
            how.is_half_pixel ? absl::StrCat("LENGTH", a) : absl::StrCat("max(LENGTH", a, ", 1.0)"),
            " / ", bins);
  text->Add("COUNT", a, " = ", ReshapeCall(absl::StrCat("COUNTS", a), {regions, 1, 1}));
  text->Add("AT", a, " = LOWS", a, " + BIN", a, " * STEP", a, " + (NUMBER", a, " + 0.5) * STEP", a,
            " / COUNT", a);
  text->Add("VALID", a, " = NUMBER", a, " < COUNT", a);
  text->Add("KEEP", a, " = VALID", a, " && AT", a, " >= -1 && AT", a, " <= ", size);
  text->Add("IN", a, " = max(AT", a, ", 0.0)");
  text->Add("FLOOR", a, " = floor(IN", a, ")");
  text->Add("END", a, " = FLOOR", a, " >= ", last);
  text->Add("PART", a, " = END", a, " ? 0.0 : IN", a, " - FLOOR", a);
  const auto pair = [&](const char* of) {
    return ReshapeCall(absl::StrCat(of, a), {regions, bins, count, 1});
  };
  const Sizes flat = {regions, bins, 2 * count};
  text->Add("NEAR", a, " = KEEP", a, " && FLOOR", a, " < ", last, " ? FLOOR", a, " : (KEEP", a,
            " ? ", last, " : 0.0)");
  text->Add("BOTH", a, " = min(", pair("NEAR"), " + SIDE, ", last, ")");
  text->Add("SHARE", a, " = SIDE == 0 ? 1 - ", pair("PART"), " : ", pair("PART"));
  text->Add("COUNTED", a, " = ", pair("KEEP"), " ? SHARE", a, " : 0.0");
  text->Add("PLACE", a, " = as_int(", ReshapeCall(absl::StrCat("BOTH", a), flat), ", 32)");
  text->Add("WEIGHT", a, " = ", ReshapeCall(absl::StrCat("COUNTED", a), flat));
  text->Add("KEPT", a, " = ", pair("KEEP"), " && SIDE >= 0");
  text->Add("INSIDE", a, " = ", ReshapeCall(absl::StrCat("KEPT", a), flat));
  text->Add("SIDES", a, " = ", ReshapeCall(absl::StrCat("VALID", a), {regions, 1, count, 1}),
            " && SIDE >= 0");
  text->Add("THERE", a, " = ", ReshapeCall(absl::StrCat("SIDES", a), {regions, 1, 2 * count}));
}

// Adds O, computed from READ and WEIGHTS [regions, height, width, a, b]: the mean over samples, or
// the maximum of the weighted elements.
void AddPooling(const Alignment& how, const Sizes& dims, int64_t a, int64_t b, TileBuilder* text) {
  const std::string target = Write("POOLED", {"r", "c", "p", "q"}, dims);
  const std::string rows = ReshapeCall("COUNTSY", {dims[0], 1, 1, 1});
  const std::string columns = ReshapeCall("COUNTSX", {dims[0], 1, 1, 1});
  if (!how.is_max) {
    text->Add(target, " = +(WEIGHTS[r, p, q, a, b] * READ[r, p, q, a, b, c])");
    return text->Add("O = POOLED / max(", rows, " * ", columns, ", 1.0)");
  }
  text->Add("SHAPED = ", ReshapeCall("WEIGHTS", {dims[0], dims[2], dims[3], a, b, 1}));
  text->Add("THERE = ", ReshapeCall("THEREY", {dims[0], 1, 1, a, 1, 1}), " && ",
            ReshapeCall("THEREX", {dims[0], 1, 1, 1, b, 1}));
  text->Add("WEIGHED = THERE ? SHAPED * READ : -inf()");
  text->Add(target, " = >(WEIGHED[r, p, q, a, b, c])");
  text->Add("O = (", rows, " > 0 && ", columns, " > 0) ? POOLED : 0.0");
}

// Operands: X, regions [regions, 4] as x1, y1, x2, y2, and the image of each region.
Outputs RoiAlign(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const Alignment how, ReadAlignment(context));
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, ResultDims(context, how.bins, 4));
  if (context.input(2).dims() != Sizes{dims[0]}) {
    return Invalid("images ", context.input(2).shape().ToString(), " of ", dims[0], " regions");
  }
  if (IsEmpty(dims)) return OneTensor(Zeros(context, x.type(), dims));
  TARTAN_RETURN_IF_ERROR(context.CheckInput(2, {PlainBounds(x, 0)}, "image"));
  TARTAN_RETURN_IF_ERROR(CheckTable(dims));
  TARTAN_RETURN_IF_ERROR(CheckTable({how.sampling_ratio}));
  Samples samples = FixedSamples(dims[0], how.sampling_ratio);
  if (how.sampling_ratio == 0) {
    TARTAN_ASSIGN_OR_RETURN(samples, AdaptiveSamples(context, how));
  }
  const int64_t rows = 2 * samples.numbers[0].dims()[0];
  const int64_t columns = 2 * samples.numbers[1].dims()[0];
  TileBuilder text;
  text.AddOperand("X", x);
  text.AddOperand("REGIONS", context.input(1));
  text.AddOperand("IMAGES", context.input(2));
  text.AddOperand("SIDE", Positions(DataType::kInt32, 2));
  AddSamplesAlong("Y", how, x.dims()[2], dims[2], 1, samples, &text);
  AddSamplesAlong("X", how, x.dims()[3], dims[3], 0, samples, &text);
  const auto down = [&](const char* of) { return ReshapeCall(of, {dims[0], dims[2], 1, rows, 1}); };
  const auto across = [&](const char* of) {
    return ReshapeCall(of, {dims[0], 1, dims[3], 1, columns});
  };
  text.Add("PY = ", down("PLACEY"));
  text.Add("PX = ", across("PLACEX"));
  text.Add("WEIGHTS = ", down("WEIGHTY"), " * ", across("WEIGHTX"));
  text.Add("INSIDE = ", down("INSIDEY"), " && ", across("INSIDEX"));
  text.Add("IMAGE = ", Cast(ReshapeCall("IMAGES", {dims[0], 1, 1, 1, 1}),
                            PositionType(x.dims()[0] * x.dims()[2] * x.dims()[3])));
  AddBinElements(x, &text);
  AddPooling(how, dims, rows, columns, &text);
  text.Add("Y = ", Cast("O", x.type()));
  return text.Apply(context);
}

// --- MaxRoiPool

// The elements [first, last) of each bin along one axis.
struct Spans {
  std::vector<std::pair<int64_t, int64_t>> bins;  // of all regions
  int64_t longest = 1;

  // The elements of each bin in a row, padded with -1.
  absl::StatusOr<HostTensor> Table(int64_t regions, int64_t count) const {
    TARTAN_RETURN_IF_ERROR(CheckTable({regions, count, longest}));
    std::vector<int32_t> places;
    for (const auto& [first, last] : bins) {
      for (int64_t i = 0; i < longest; ++i) {
        places.push_back(first + i < last ? static_cast<int32_t>(first + i) : -1);
      }
    }
    return HostTensor::FromVector(TensorShape{DataType::kInt32, {regions, count, longest}}, places);
  }
};

// Regions are [regions, 5]: image, x1, y1, x2, y2. Corners are rounded and belong to the region.
// Bins overlap if they do not divide it evenly.
Spans BinSpans(const HostTensor& regions, int64_t low, int64_t count, float scale, int64_t size) {
  Spans spans;
  // A region with NaN corners has no elements.
  const auto bounded = [](double v, double most) { return v > 0 ? std::min(v, most) : 0.0; };
  for (int64_t r = 0; r < regions.shape().dims[0]; ++r) {
    const auto edge = [&](int64_t column) {
      const float value = static_cast<float>(regions.GetDouble(5 * r + column));
      return static_cast<double>(std::round(value * scale));
    };
    const double start = edge(low);
    const float length = static_cast<float>(std::max(edge(low + 2) - start + 1, 1.0));
    const float step = length / static_cast<float>(count);
    for (int64_t p = 0; p < count; ++p) {
      const double most = static_cast<double>(size);
      const double first = std::floor(static_cast<float>(p) * step) + start;
      const double last = std::ceil(static_cast<float>(p + 1) * step) + start;
      spans.bins.emplace_back(static_cast<int64_t>(bounded(first, most)),
                              static_cast<int64_t>(bounded(last, most)));
      spans.longest = std::max(spans.longest, spans.bins.back().second - spans.bins.back().first);
    }
  }
  return spans;
}

// The host decides which elements are in a bin: the operator has no gradient by the regions.
Outputs MaxRoiPool(NodeContext& context) {
  const Tensor& x = context.input(0);
  Bins bins;
  TARTAN_ASSIGN_OR_RETURN(const Sizes pooled, context.Ints("pooled_shape"));
  if (pooled.size() != 2) return Invalid("attribute 'pooled_shape' is ", DimsToString(pooled));
  bins.height = pooled[0];
  bins.width = pooled[1];
  TARTAN_ASSIGN_OR_RETURN(bins.scale, context.Float("spatial_scale", 1.0f));
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, ResultDims(context, bins, 5));
  if (IsEmpty(dims)) return OneTensor(Zeros(context, x.type(), dims));
  TARTAN_RETURN_IF_ERROR(CheckTable({dims[0], bins.height}));
  TARTAN_RETURN_IF_ERROR(CheckTable({dims[0], bins.width}));
  const int64_t height = x.dims()[2];
  const int64_t width = x.dims()[3];
  const auto place = [=](absl::Span<const HostTensor> operands) -> HostTensors {
    std::vector<HostTensor> tables(2);
    const Spans rows = BinSpans(operands[0], 2, bins.height, bins.scale, height);
    TARTAN_ASSIGN_OR_RETURN(tables[0], rows.Table(dims[0], bins.height));
    const Spans columns = BinSpans(operands[0], 1, bins.width, bins.scale, width);
    TARTAN_ASSIGN_OR_RETURN(tables[1], columns.Table(dims[0], bins.width));
    return tables;
  };
  TARTAN_ASSIGN_OR_RETURN(
      Tensor images,
      context.ApplyOne(TileFunction("REGIONS", "I",
                                    {absl::StrCat("R[r : ", dims[0], "] = =(REGIONS[r, 0])"),
                                     absl::StrCat("I = ", Cast("R", DataType::kInt64))}),
                       {context.input(1)}));
  TARTAN_ASSIGN_OR_RETURN(images, context.Checked(images, {PlainBounds(x, 0)}, "image"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> places,
                          context.RunOnHost({context.input(1)}, place));
  const int64_t rows = places[0].dims()[2];
  const int64_t columns = places[1].dims()[2];
  TileBuilder text;
  text.AddOperand("X", x);
  text.AddOperand("IMAGES", images);
  text.AddOperand("ROWPLACES", places[0]);
  text.AddOperand("COLUMNPLACES", places[1]);
  text.Add("PY = ", ReshapeCall("ROWPLACES", {dims[0], dims[2], 1, rows, 1}));
  text.Add("PX = ", ReshapeCall("COLUMNPLACES", {dims[0], 1, dims[3], 1, columns}));
  text.Add("INSIDE = PY >= 0 && PX >= 0");
  text.Add("IMAGE = ", Cast(ReshapeCall("IMAGES", {dims[0], 1, 1, 1, 1}),
                            PositionType(x.dims()[0] * height * width)));
  AddBinElements(x, &text);
  text.Add("THERE = ", ReshapeCall("INSIDE", {dims[0], dims[2], dims[3], rows, columns, 1}));
  text.Add("ELEMENTS = THERE ? READ : -inf()");
  text.Add(Write("POOLED", {"r", "c", "p", "q"}, dims), " = >(ELEMENTS[r, p, q, a, b, c])");
  text.Add("MARK = ", Cast("INSIDE", DataType::kInt32));
  text.Add("ANY[r, 0, p, q : ", dims[0], ", 1, ", dims[2], ", ", dims[3],
           "] = >(MARK[r, p, q, a, b])");
  text.Add("O = ANY > 0 ? POOLED : 0.0");
  text.Add("Y = ", Cast("O", x.type()));
  return text.Apply(context);
}

constexpr OperatorRow kOperators[] = {
    {"MaxRoiPool", 1, {2, 2}, MaxRoiPool},
    {"RoiAlign", 10, {3, 3}, RoiAlign},
};

}  // namespace

absl::Span<const OperatorRow> RegionOperators() { return kOperators; }

}  // namespace tartan::onnx
