// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/sampling_text.h"

#include <limits>

#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"

namespace tartan::onnx {
namespace {

// Coefficient of the cubic convolution (GridSample has no attribute for it).
constexpr double kCubicA = -0.75;

// The ends of an axis for reflection.
struct Ends {
  double low;
  double high;
};

Ends EndsOf(const Sampling& sampling, size_t axis) {
  const double last = static_cast<double>(sampling.sizes[axis] - 1);
  if (sampling.ends_at_centers) return {0, last};
  return {-0.5, last + 0.5};
}

// Adds `target`: `source` reflected at both ends until it is between them.
void AddReflection(const std::string& target, const std::string& source, const Ends& ends,
                   TileBuilder* text) {
  const double span = ends.high - ends.low;
  if (span == 0) return text->Add(target, " = ", source, " * 0.0");
  const std::string low = Literal(ends.low);
  const std::string high = Literal(ends.high);
  const std::string t = target;
  text->Add(t, "_BELOW = ", source, " < ", low);
  text->Add(t, "_BEYOND = ", t, "_BELOW ? ", low, " - ", source, " : ", source, " - ", high);
  text->Add(t, "_TIMES = trunc(", t, "_BEYOND / ", Literal(span), ")");
  text->Add(t, "_REST = ", t, "_BEYOND - ", t, "_TIMES * ", Literal(span));
  text->Add(t, "_UP = ", t, "_BELOW == (fmod(", t, "_TIMES, 2.0) == 0)");
  text->Add(t, " = ", t, "_BEYOND > 0 ? (", t, "_UP ? ", low, " + ", t, "_REST : ", high, " - ", t,
            "_REST) : ", source);
}

// Adds U, the coordinate V moved into the axis, unless taps do this later. The four taps of a cubic
// kernel are chosen around the original coordinate and moved into the axis separately.
void AddCoordinate(const Sampling& sampling, size_t axis, TileBuilder* text) {
  const bool is_nearest = sampling.interpolation == Interpolation::kNearest;
  const bool is_cubic = sampling.interpolation == Interpolation::kCubic;
  const Ends ends = EndsOf(sampling, axis);
  const std::string v = absl::StrCat("R", axis);
  const std::string u = absl::StrCat("U", axis);
  text->Add(v, " = ", is_nearest ? absl::StrCat("round(V", axis, ")") : absl::StrCat("V", axis));
  switch (is_cubic ? Outside::kZeros : sampling.outside) {
    case Outside::kZeros:
      return text->Add(u, " = ", v);
    case Outside::kBorder:
      return text->Add(u, " = ", v, " < ", Literal(ends.low), " ? 0.0 : (", v, " > ",
                       Literal(ends.high), " ? ", Literal(sampling.sizes[axis] - 1), " : ", v, ")");
    case Outside::kReflection:
      return AddReflection(u, v, ends, text);
  }
}

// Adds F, the coordinates of the taps, and W, their weights.
void AddTaps(const Sampling& sampling, size_t axis, TileBuilder* text) {
  const std::string f = absl::StrCat("F", axis);
  const std::string u = absl::StrCat("U", axis);
  if (sampling.interpolation == Interpolation::kNearest) return text->Add(f, " = ", u);
  const bool is_cubic = sampling.interpolation == Interpolation::kCubic;
  const std::vector<double> steps =
      is_cubic ? std::vector<double>{-1, 0, 1, 2} : std::vector<double>{0, 1};
  std::vector<int64_t> dims(sampling.sizes.size() - axis, 1);
  dims[0] = sampling.taps_per_axis();
  text->AddOperand(absl::StrCat("STEP", axis), ConstantOf(DataType::kInt8, steps, dims));
  text->Add(f, " = floor(", u, ") + STEP", axis);
  const std::string d = absl::StrCat("DISTANCE", axis);
  text->Add(d, " = abs(", f, " - ", u, ")");
  if (!is_cubic) return text->Add("W", axis, " = 1 - ", d);
  const auto number = [](double value) { return Literal(value); };
  constexpr double a = kCubicA;
  text->Add("W", axis, " = ", d, " <= 1 ? ((", number(a + 2), " * ", d, " - ", number(a + 3),
            ") * ", d, " * ", d, " + 1) : (((", number(a), " * ", d, " - ", number(5 * a), ") * ",
            d, " + ", number(8 * a), ") * ", d, " - ", number(4 * a), ")");
}

// Adds P, the positions of the taps on the axis, with outside taps moved by the rule for them. Adds
// IN, which is true for taps inside the axis.
void AddPlaces(const Sampling& sampling, size_t axis, DataType type, TileBuilder* text) {
  const std::string last = Literal(static_cast<double>(sampling.sizes[axis] - 1));
  std::string f = absl::StrCat("F", axis);
  if (sampling.outside == Outside::kZeros) {
    text->Add("IN", axis, " = ", f, " >= 0 && ", f, " <= ", last);
  } else if (sampling.outside == Outside::kReflection) {
    AddReflection("M" + f, f, EndsOf(sampling, axis), text);
    f = "M" + f;
  }
  text->Add(
      "P", axis, " = ",
      Cast(absl::StrCat(f, " > 0 ? (", f, " < ", last, " ? ", f, " : ", last, ") : 0.0"), type));
}

}  // namespace

void TileBuilder::AddOperand(absl::string_view name, Tensor tensor) {
  absl::StrAppend(&names, names.empty() ? "" : ", ", name);
  operands.push_back(std::move(tensor));
}

Outputs TileBuilder::Apply(const NodeContext& context) const {
  return context.Apply(TileFunction(names, "Y", statements), operands);
}

int64_t Sampling::places() const {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

int64_t Sampling::taps_per_axis() const {
  return interpolation == Interpolation::kNearest ? 1
         : interpolation == Interpolation::kCubic ? 4
                                                  : 2;
}

int64_t Sampling::taps() const {
  int64_t product = 1;
  for (size_t i = 0; i < sizes.size(); ++i) product *= taps_per_axis();
  return product;
}

std::string RowsStatement(absl::string_view target, absl::string_view source, int64_t batch,
                          int64_t channels, int64_t places) {
  return absl::StrCat(target, "[", places, "*n + s, c : ", batch * places + 1, ", ", channels,
                      "] = =(", source, "[n, c, s])");
}

DataType PositionType(int64_t rows) {
  return rows < std::numeric_limits<int32_t>::max() ? DataType::kInt32 : DataType::kInt64;
}

void AddSampling(const Sampling& s, TileBuilder* text) {
  const int64_t rows = s.batch * s.places();
  const DataType type = PositionType(rows);
  text->Add("XS = ", ReshapeCall("X", {s.batch, s.channels, s.places()}));
  text->Add(RowsStatement("ROWS", "XS", s.batch, s.channels, s.places()));
  std::string position = Cast(absl::StrCat("index(V0, 0) / ", s.points), type);
  std::string inside;
  std::string weight;
  for (size_t axis = 0; axis < s.sizes.size(); ++axis) {
    AddCoordinate(s, axis, text);
    AddTaps(s, axis, text);
    AddPlaces(s, axis, type, text);
    position = absl::StrCat("(", position, ") * ", s.sizes[axis], " + P", axis);
    absl::StrAppend(&inside, axis == 0 ? "IN" : " && IN", axis);
    absl::StrAppend(&weight, axis == 0 ? "W" : " * W", axis);
  }
  const bool has_zeros = s.outside == Outside::kZeros;
  text->Add("POSITIONS = ",
            has_zeros ? absl::StrCat("(", inside, ") ? ", position, " : ", rows) : position);
  text->Add("READ = gather(ROWS, POSITIONS, 0)");
  text->Add("TAPS = ", ReshapeCall("READ", {s.batch, s.points, s.taps(), s.channels}));
  if (s.interpolation == Interpolation::kNearest) return;
  text->Add("WEIGHT = ", weight);
  text->Add("WEIGHTS = ", ReshapeCall("WEIGHT", {s.batch, s.points, s.taps()}));
}

}  // namespace tartan::onnx
