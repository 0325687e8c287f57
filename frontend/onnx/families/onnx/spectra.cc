// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of any length. A transform is a contraction with a table of the unit circle;
// long ones are split into short ones.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr double kTau = 6.283185307179586476925;
// Maximum length of a transform that is one contraction (empirical).
constexpr int64_t kDense = 512;
constexpr int64_t kMaxLength = int64_t{1} << 22;

// A complex factor as a 2 x 2 matrix: element [p, q] maps part p of the other factor to part q of
// the result.
double PartOf(double real, double imaginary, int64_t p, int64_t q) {
  if (p == q) return real;
  return p == 0 ? imaginary : -imaginary;
}

// Appends the matrix of PartOf for the twiddle factor exp(sign * 2 pi i * index / period) * scale,
// for p < parts_in, q < parts_out.
void AppendTwiddle(double sign, int64_t index, int64_t period, double scale, int64_t parts_in,
                   int64_t parts_out, std::vector<double>* values) {
  const double angle = kTau * static_cast<double>(index % period) / static_cast<double>(period);
  for (int64_t p = 0; p < parts_in; ++p) {
    for (int64_t q = 0; q < parts_out; ++q) {
      values->push_back(scale * PartOf(std::cos(angle), sign * std::sin(angle), p, q));
    }
  }
}

// The parameters of a transform of tensors [outer, elements, inner, parts], with 1 part for real
// and 2 for complex numbers.
struct Transform {
  int64_t length = 0;
  double sign = -1;  // 1 for the inverse transform
  double scale = 1;
  DataType type = DataType::kFloat32;  // of tables
};

// target[a, k, b, q] = +(X[a, n, b, p] * T[n, k, p, q]).
absl::StatusOr<Tensor> Contract(const NodeContext& context, const Tensor& x, const Tensor& table) {
  const Sizes& t = table.dims();
  return context.ApplyOne(
      absl::StrCat("function (X, T) -> (Y) { Y[a, k, b, q : ", x.dims()[0], ", ", t[1], ", ",
                   x.dims()[2], ", ", t[3], "] = +(X[a, n, b, p] * T[n, k, p, q]); }"),
      {x, table});
}

// Multiplies each element by its complex number in T [elements, parts, 2]. Result elements without
// one are 0.
absl::StatusOr<Tensor> Multiply(const NodeContext& context, const Tensor& x, const Tensor& table,
                                int64_t elements) {
  return context.ApplyOne(
      absl::StrCat("function (X, T) -> (Y) { Y[a, n, b, q : ", x.dims()[0], ", ", elements, ", ",
                   x.dims()[2], ", 2] = +(X[a, n, b, p] * T[n, p, q]); }"),
      {x, table});
}

// The first `elements` elements, padded with zeros, with `parts` parts.
absl::StatusOr<Tensor> Fit(const NodeContext& context, const Tensor& x, int64_t elements,
                           int64_t parts) {
  if (x.dims()[1] == elements && x.dims()[3] == parts) return x;
  return context.ApplyOne(
      absl::StrCat("function (X) -> (Y) { Y[a, n, b, p : ", x.dims()[0], ", ", elements, ", ",
                   x.dims()[2], ", ", parts, "] = =(X[a, n, b, p]); }"),
      {x});
}

absl::StatusOr<Tensor> DenseTransform(const NodeContext& context, const Tensor& x,
                                      const Transform& how, int64_t bins) {
  const int64_t rows = std::min(x.dims()[1], how.length);
  const int64_t parts = x.dims()[3];
  std::vector<double> table;
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t k = 0; k < bins; ++k) {
      AppendTwiddle(how.sign, n * k, how.length, how.scale, parts, 2, &table);
    }
  }
  return Contract(context, x, ConstantOf(how.type, table, {rows, bins, parts, 2}));
}

absl::StatusOr<Tensor> FullTransform(const NodeContext& context, const Tensor& x,
                                     const Transform& how);

// Cooley-Tukey for length = a * b. With n = b * n1 + n2 and k = k1 + a * k2: transforms of length a
// over n1, twiddle factors of n2 * k1, transforms of length b over n2.
absl::StatusOr<Tensor> SplitTransform(const NodeContext& context, const Tensor& x,
                                      const Transform& how, int64_t a) {
  const int64_t b = how.length / a;
  const int64_t outer = x.dims()[0];
  const int64_t inner = x.dims()[2];
  TARTAN_ASSIGN_OR_RETURN(const Tensor apart, Reshape(context, x, {outer, a, b * inner, 2}));
  Transform part = how;
  part.length = a;
  part.scale = 1;
  TARTAN_ASSIGN_OR_RETURN(const Tensor first, FullTransform(context, apart, part));
  std::vector<double> twiddles;
  for (int64_t k1 = 0; k1 < a; ++k1) {
    for (int64_t n2 = 0; n2 < b; ++n2) {
      AppendTwiddle(how.sign, k1 * n2, how.length, how.scale, 2, 2, &twiddles);
    }
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor rows, Reshape(context, first, {outer, a * b, inner, 2}));
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor twiddled,
      Multiply(context, rows, ConstantOf(how.type, twiddles, {a * b, 2, 2}), a * b));
  TARTAN_ASSIGN_OR_RETURN(const Tensor second,
                          Reshape(context, twiddled, {outer * a, b, inner, 2}));
  part.length = b;
  TARTAN_ASSIGN_OR_RETURN(const Tensor done, FullTransform(context, second, part));
  TARTAN_ASSIGN_OR_RETURN(const Tensor grid, Reshape(context, done, {outer, a, b, inner, 2}));
  TARTAN_ASSIGN_OR_RETURN(const Tensor ordered, Transpose(context, grid, {0, 2, 1, 3, 4}));
  return Reshape(context, ordered, {outer, how.length, inner, 2});
}

// exp(sign * pi i * n^2 / length) for n below length, as a table for Multiply.
Tensor Chirp(const Transform& how, double scale) {
  std::vector<double> table;
  for (int64_t n = 0; n < how.length; ++n) {
    AppendTwiddle(how.sign, n * n, 2 * how.length, scale, 2, 2, &table);
  }
  return ConstantOf(how.type, table, {how.length, 2, 2});
}

// Bluestein's algorithm for a prime length. As 2nk = n^2 + k^2 - (k - n)^2, the transform is a
// convolution with a chirp, which is computed by transforms of a power of two.
absl::StatusOr<Tensor> ChirpTransform(const NodeContext& context, const Tensor& x,
                                      const Transform& how) {
  int64_t size = 1;
  while (size < 2 * how.length - 1) size *= 2;
  std::vector<double> chirp(static_cast<size_t>(2 * size), 0.0);
  for (int64_t n = 0; n < how.length; ++n) {
    std::vector<double> twiddle;
    AppendTwiddle(-how.sign, n * n, 2 * how.length, 1, 1, 2, &twiddle);
    for (const int64_t at : {n, (size - n) % size}) {
      std::copy(twiddle.begin(), twiddle.end(), chirp.begin() + 2 * at);
    }
  }
  Transform power{size, -1, 1, how.type};
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor kernel,
      FullTransform(context, ConstantOf(how.type, chirp, {1, size, 1, 2}), power));
  // The kernel's numbers as 2 x 2 matrices.
  const std::vector<double> matrix = {1, 0, 0, 1, 0, 1, -1, 0};
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor factors,
      context.ApplyOne(absl::StrCat("function (K, M) -> (Y) { Y[n, p, q : ", size,
                                    ", 2, 2] = +(K[0, n, 0, s] * M[s, p, q]); }"),
                       {kernel, ConstantOf(how.type, matrix, {2, 2, 2})}));
  TARTAN_ASSIGN_OR_RETURN(const Tensor signal, Multiply(context, x, Chirp(how, 1), size));
  TARTAN_ASSIGN_OR_RETURN(const Tensor spectrum, FullTransform(context, signal, power));
  TARTAN_ASSIGN_OR_RETURN(const Tensor product, Multiply(context, spectrum, factors, size));
  power.sign = 1;
  TARTAN_ASSIGN_OR_RETURN(const Tensor convolved, FullTransform(context, product, power));
  const double scale = how.scale / static_cast<double>(size);
  return Multiply(context, convolved, Chirp(how, scale), how.length);
}

// All bins of the transform of complex `x` with how.length elements.
absl::StatusOr<Tensor> FullTransform(const NodeContext& context, const Tensor& x,
                                     const Transform& how) {
  if (how.length <= kDense) return DenseTransform(context, x, how, how.length);
  int64_t factor = 1;
  for (int64_t i = 2; i * i <= how.length; ++i) {
    if (how.length % i == 0) factor = i;
  }
  if (factor == 1) return ChirpTransform(context, x, how);
  return SplitTransform(context, x, how, factor);
}

// The first `bins` of the transform of the first how.length elements.
absl::StatusOr<Tensor> Spectrum(const NodeContext& context, const Tensor& x, const Transform& how,
                                int64_t bins) {
  if (how.length <= kDense) return DenseTransform(context, x, how, bins);
  TARTAN_ASSIGN_OR_RETURN(const Tensor fitted, Fit(context, x, how.length, 2));
  TARTAN_ASSIGN_OR_RETURN(const Tensor full, FullTransform(context, fitted, how));
  return Fit(context, full, bins, 2);
}

// The real signal whose spectrum begins with `x`; the other bins are the complex conjugates.
absl::StatusOr<Tensor> RealSignal(const NodeContext& context, const Tensor& x,
                                  const Transform& how) {
  const int64_t bins = how.length / 2 + 1;
  if (how.length <= kDense) {
    const int64_t rows = std::min(x.dims()[1], bins);
    std::vector<double> table;
    for (int64_t k = 0; k < rows; ++k) {
      const bool is_alone = k == 0 || 2 * k == how.length;
      for (int64_t n = 0; n < how.length; ++n) {
        AppendTwiddle(1, n * k, how.length, how.scale * (is_alone ? 1 : 2), x.dims()[3], 1, &table);
      }
    }
    return Contract(context, x, ConstantOf(how.type, table, {rows, how.length, x.dims()[3], 1}));
  }
  std::vector<int64_t> sources;
  std::vector<double> signs;
  for (int64_t k = 0; k < how.length; ++k) {
    sources.push_back(k < bins ? k : how.length - k);
    signs.insert(signs.end(), {1, 0, 0, k < bins ? 1.0 : -1.0});
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor half, Fit(context, x, bins, 2));
  TARTAN_ASSIGN_OR_RETURN(const Tensor mirrored, TakeOf(context, half, ConstantInts(sources), 1));
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor full,
      Multiply(context, mirrored, ConstantOf(how.type, signs, {how.length, 2, 2}), how.length));
  TARTAN_ASSIGN_OR_RETURN(const Tensor signal, FullTransform(context, full, how));
  return Fit(context, signal, how.length, 1);
}

// --- DFT

// `x` as [outer, elements, inner, parts] around `axis`.
absl::StatusOr<Tensor> AroundAxis(const NodeContext& context, const Tensor& x, int64_t axis) {
  Sizes dims = {1, x.dims()[static_cast<size_t>(axis)], 1, x.dims().back()};
  for (int64_t d = 0; d < x.rank() - 1; ++d) {
    if (d != axis) dims[d < axis ? 0 : 2] *= x.dims()[static_cast<size_t>(d)];
  }
  return Reshape(context, x, dims);
}

absl::Status CheckSignal(const Tensor& x, int64_t least_rank) {
  const bool fits = x.rank() >= least_rank && (x.dims().back() == 1 || x.dims().back() == 2);
  if (fits && IsFloat(x.type())) return absl::OkStatus();
  return Invalid("a signal ", x.shape().ToString(),
                 "; its last size must be 1 for real or 2 for complex numbers");
}

absl::Status CheckLength(int64_t length) {
  if (length < 1) return Invalid("a transform of length ", length);
  if (length <= kMaxLength) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("a transform of length ", length));
}

// The axis is an attribute before opset 20, then operand 2.
absl::StatusOr<int64_t> TransformAxis(NodeContext& context) {
  const Tensor& x = context.input(0);
  int64_t axis = -2;
  if (context.opset() < 20) {
    TARTAN_ASSIGN_OR_RETURN(axis, context.Int("axis", 1));
  } else if (context.HasInput(2)) {
    TARTAN_ASSIGN_OR_RETURN(axis, context.HostInt(2));
  }
  TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, x.rank()));
  if (axis == x.rank() - 1) return Invalid("axis ", axis, " holds the parts of complex numbers");
  return axis;
}

// Reshapes the result and converts it to the operand's type.
Outputs Finish(const NodeContext& context, const absl::StatusOr<Tensor>& result, const Sizes& dims,
               DataType type) {
  if (!result.ok()) return result.status();
  TARTAN_ASSIGN_OR_RETURN(const Tensor shaped, Reshape(context, *result, dims));
  return OneTensor(ConvertTo(context, shaped, type));
}

// Operands: signal, length, axis.
Outputs Dft(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(CheckSignal(x, 2));
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, TransformAxis(context));
  TARTAN_ASSIGN_OR_RETURN(const int64_t inverse, context.Int("inverse", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t one_sided, context.Int("onesided", 0));
  const bool to_real = inverse != 0 && one_sided != 0;
  Transform how;
  how.type = ComputeType(x.type());
  how.length = x.dims()[static_cast<size_t>(axis)];
  if (to_real) how.length = 2 * (how.length - 1);
  if (context.HasInput(1)) {
    TARTAN_ASSIGN_OR_RETURN(how.length, context.HostInt(1));
  }
  TARTAN_RETURN_IF_ERROR(CheckLength(how.length));
  if (inverse != 0) {
    how.sign = 1;
    how.scale = 1 / static_cast<double>(how.length);
  }
  const int64_t bins = one_sided != 0 && !to_real ? how.length / 2 + 1 : how.length;
  Sizes dims = x.dims();
  dims[static_cast<size_t>(axis)] = bins;
  dims.back() = to_real ? 1 : 2;
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{x.type(), dims}));
  TARTAN_ASSIGN_OR_RETURN(const Tensor signal, AroundAxis(context, x, axis));
  return Finish(context,
                to_real ? RealSignal(context, signal, how) : Spectrum(context, signal, how, bins),
                dims, x.type());
}

// --- STFT

struct Frames {
  int64_t step = 0;
  int64_t length = 0;
  int64_t count = 0;
};

// Operands: signal [batch, elements, parts], step, window, length of a frame.
absl::StatusOr<Frames> ReadFrames(NodeContext& context, const Tensor& x) {
  Frames frames;
  TARTAN_ASSIGN_OR_RETURN(frames.step, context.HostInt(1));
  if (frames.step < 1) return Invalid("a step of ", frames.step);
  frames.length = x.dims()[1];
  if (context.HasInput(2)) {
    if (context.input(2).rank() != 1) {
      return Invalid("a window ", context.input(2).shape().ToString());
    }
    frames.length = context.input(2).dims()[0];
  }
  if (context.HasInput(3)) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t length, context.HostInt(3));
    if (context.HasInput(2) && length != frames.length) {
      return Invalid("a window of ", frames.length, " elements for frames of ", length);
    }
    frames.length = length;
  }
  TARTAN_RETURN_IF_ERROR(CheckLength(frames.length));
  if (frames.length > x.dims()[1]) {
    return Invalid("frames of ", frames.length, " elements in a signal of ", x.dims()[1]);
  }
  frames.count = (x.dims()[1] - frames.length) / frames.step + 1;
  return frames;
}

Outputs Stft(NodeContext& context) {
  Tensor x = context.input(0);
  if (x.rank() == 2) {
    TARTAN_ASSIGN_OR_RETURN(x, Reshape(context, x, {x.dims()[0], x.dims()[1], 1}));
  }
  TARTAN_RETURN_IF_ERROR(CheckSignal(x, 3));
  if (x.rank() != 3) return Invalid("a signal ", x.shape().ToString());
  TARTAN_ASSIGN_OR_RETURN(const int64_t one_sided, context.Int("onesided", 1));
  TARTAN_ASSIGN_OR_RETURN(const Frames frames, ReadFrames(context, x));
  const int64_t batch = x.dims()[0];
  const int64_t rows = batch * frames.count;
  const Sizes cut = {batch, frames.count, frames.length, x.dims()[2]};
  std::vector<Tensor> operands = {x};
  std::string read;
  std::string names = "X";
  const std::string target = Write("Y", {"b", "f", "n", "p"}, cut);
  const std::string element = absl::StrCat("X[b, ", frames.step, "*f + n, p]");
  if (context.HasInput(2)) {
    operands.push_back(context.input(2));
    names = "X, WINDOW";
    read = absl::StrCat("+(", element, " * WINDOW[n])");
  } else {
    read = absl::StrCat("=(", element, ")");
  }
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor windowed,
      context.ApplyOne(TileFunction(names, "Y", {absl::StrCat(target, " = ", read)}), operands));
  TARTAN_ASSIGN_OR_RETURN(const Tensor signal,
                          Reshape(context, windowed, {rows, frames.length, 1, x.dims()[2]}));
  Transform how;
  how.type = ComputeType(x.type());
  how.length = frames.length;
  const int64_t bins = one_sided != 0 ? frames.length / 2 + 1 : frames.length;
  return Finish(context, Spectrum(context, signal, how, bins), {batch, frames.count, bins, 2},
                x.type());
}

constexpr OperatorRow kOperators[] = {
    {"DFT", 17, {1, 3}, Dft, HostOperands(1, 2)},
    {"STFT", 17, {2, 4}, Stft, HostOperands(1, 3)},
};

}  // namespace

absl::Span<const OperatorRow> SpectrumOperators() { return kOperators; }

}  // namespace tartan::onnx
