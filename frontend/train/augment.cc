// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/augment.h"

#include <limits>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/function.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// The second word of the keys; it separates them from other users of the generator.
constexpr uint32_t kStream = 0x61756700;
// Generates the Tile function. Each output pixel is mapped back to its source position. Flips and
// crops move whole pixels, so any number of them around one affine map needs a single pass over the
// picture.
class Writer {
 public:
  Writer(const TensorShape& shape, const Augmentations& augmentations)
      : dims_(shape.dims), list_(augmentations.list), h_(augmentations.channels_last ? 1 : 2) {
    for (const Augmentation& augmentation : list_) {
      first_draws_.push_back(draws_);
      draws_ += DrawCount(augmentation.kind);
    }
  }

  // A function of X, SEED, and keys K0 (for draws) and K1, K2 … (for noise, in list order).
  std::string Function() {
    if (draws_ > 0) Add("R", absl::StrCat("prng(SEED + K0, ", draws_, ", ", dims_[0], ")"));
    // All channels of a pixel have the same source position.
    for (const char* const axis : {"Y", "X"}) {
      Add(absl::StrCat("ALL", axis), absl::StrCat("index(X, ", *axis == 'Y' ? h_ : h_ + 1, ")"));
      lines_.push_back(absl::StrCat("I", axis, "[i, j, k, l : ", dims_[0], ", ",
                                    h_ == 2 ? 1 : dims_[1], ", ", dims_[2], ", ",
                                    h_ == 2 ? dims_[3] : 1, "] = =(ALL", axis, "[i, j, k, l]);"));
    }
    for (size_t i = 0; i < list_.size(); ++i) WriteDraws(i);
    picture_ = "as_float(X, 32)";
    size_t next = 0;
    int noises = 0;
    while (next < list_.size()) {
      if (list_[next].kind == AugmentationKind::kNoise) {
        WriteNoise(list_[next++], ++noises);
      } else {
        next = WritePass(next);
      }
    }
    std::string header = "X, SEED";
    for (int key = draws_ > 0 ? 0 : 1; key <= noises; ++key) absl::StrAppend(&header, ", K", key);
    return absl::StrCat("function (", header, ") -> (Y) {\n  ", absl::StrJoin(lines_, "\n  "),
                        "\n  Y = stop_gradient(", picture_, ");\n}\n");
  }

  bool draws() const { return draws_ > 0; }

 private:
  void Add(absl::string_view name, absl::string_view value) {
    lines_.push_back(absl::StrCat(name, " = ", value, ";"));
  }
  int64_t Height() const { return dims_[h_]; }
  int64_t Width() const { return dims_[h_ + 1]; }

  // One number per example, broadcast over its elements.
  void AddForExamples(absl::string_view name, absl::string_view value) {
    Add(name, absl::StrCat("reshape(", value, ", ", dims_[0], ", 1, 1, 1)"));
  }

  // Converts the draws of an augmentation: U is uniform in [0, 1); `is_signed` maps it to [-1, 1).
  void WriteDraws(size_t i) {
    const Augmentation& a = list_[i];
    const auto draw = [&](int64_t d) { return absl::StrCat("U", i, "_", d); };
    const auto is_signed = [&](int64_t d) { return absl::StrCat("(2 * ", draw(d), " - 1)"); };
    for (int64_t d = 0; d < DrawCount(a.kind); ++d) {
      lines_.push_back(
          absl::StrCat(draw(d), "[n : ", dims_[0], "] = =(R[", first_draws_[i] + d, ", n]);"));
    }
    const double degree = std::numbers::pi / 180;
    switch (a.kind) {
      case AugmentationKind::kFlip:
        for (int64_t d = 0; d < 2; ++d)
          AddForExamples(absl::StrCat("F", i, "_", d),
                         absl::StrCat(draw(d), " < ", Number(a.probability)));
        break;
      case AugmentationKind::kCrop:
        for (int64_t d = 0; d < 2; ++d) {
          AddForExamples(
              absl::StrCat("D", i, "_", d),
              absl::StrCat("as_int(", draw(d), " * ", 2 * a.padding + 1, ", 32) - ", a.padding));
        }
        break;
      case AugmentationKind::kAffine: {
        const std::string t = absl::StrCat("T", i, "_");
        Add(t + "A", absl::StrCat(is_signed(0), " * ", Number(a.rotate * degree)));
        Add(t + "K", absl::StrCat("tan(", is_signed(1), " * ", Number(a.shear * degree), ")"));
        Add(t + "S", absl::StrCat("recip(1 + ", is_signed(2), " * ", Number(a.scale), ")"));
        Add(t + "C", absl::StrCat("cos(", t, "A)"));
        Add(t + "N", absl::StrCat("sin(", t, "A)"));
        // The inverse map, with x to the right and y downwards.
        AddForExamples(t + "XX", absl::StrCat("(", t, "C + ", t, "K * ", t, "N) * ", t, "S"));
        AddForExamples(t + "XY", absl::StrCat("(", t, "N - ", t, "K * ", t, "C) * ", t, "S"));
        AddForExamples(t + "YX", absl::StrCat("-", t, "N * ", t, "S"));
        AddForExamples(t + "YY", absl::StrCat(t, "C * ", t, "S"));
        const auto height = static_cast<double>(Height());
        const auto width = static_cast<double>(Width());
        AddForExamples(t + "OY", absl::StrCat(Number((height - 1) / 2), " + ", is_signed(3), " * ",
                                              Number(a.translate * height)));
        AddForExamples(t + "OX", absl::StrCat(Number((width - 1) / 2), " + ", is_signed(4), " * ",
                                              Number(a.translate * width)));
        break;
      }
      case AugmentationKind::kNoise:
        break;
    }
  }

  // The source position of a whole pixel in the result of [begin, end), and whether it was always
  // inside.
  struct Place {
    std::string y, x, inside;
  };
  Place Follow(Place place, size_t begin, size_t end) {
    for (size_t i = end; i-- > begin;) {
      const Augmentation& a = list_[i];
      const std::string name = absl::StrCat("P", names_++, "_");
      const auto draw = [&](char letter, int d) {
        return absl::StrCat(std::string(1, letter), i, "_", d);
      };
      if (a.kind == AugmentationKind::kFlip) {
        if (a.vertical) {
          Add(name + "Y",
              absl::StrCat(draw('F', 0), " ? ", Height() - 1, " - ", place.y, " : ", place.y));
          place.y = name + "Y";
        }
        if (a.horizontal) {
          Add(name + "X",
              absl::StrCat(draw('F', 1), " ? ", Width() - 1, " - ", place.x, " : ", place.x));
          place.x = name + "X";
        }
      } else if (a.padding > 0) {
        Add(name + "Y", absl::StrCat(place.y, " + ", draw('D', 0)));
        Add(name + "X", absl::StrCat(place.x, " + ", draw('D', 1)));
        place = WithBounds({name + "Y", name + "X", place.inside}, name + "B");
      }
    }
    return place;
  }

  Place WithBounds(Place place, const std::string& name) {
    Add(name, absl::StrCat(place.inside.empty() ? "" : place.inside + " && ", place.y, " >= 0 && ",
                           place.y, " < ", Height(), " && ", place.x, " >= 0 && ", place.x, " < ",
                           Width()));
    return {std::move(place.y), std::move(place.x), name};
  }

  // The picture's element at a position, 0 outside.
  std::string ReadAt(const Place& place) {
    const std::string name = absl::StrCat("G", names_++);
    const int64_t c = h_ == 2 ? 1 : 3;
    const std::string at =
        h_ == 2 ? absl::StrCat("((index(X, 0) * ", dims_[1], " + index(X, 1)) * ", Height(), " + ",
                               place.y, ") * ", Width(), " + ", place.x)
                : absl::StrCat("((index(X, 0) * ", Height(), " + ", place.y, ") * ", Width(), " + ",
                               place.x, ") * ", dims_[c], " + index(X, 3)");
    const std::string read = absl::StrCat("gather(FLAT", passes_, ", ", at, ")");
    Add(name, place.inside.empty() ? read : absl::StrCat(place.inside, " ? ", read, " : 0.0"));
    return name;
  }

  // Writes one pass: flips and crops from `begin` on with one affine map among them. Returns the
  // start of the next pass.
  size_t WritePass(size_t begin) {
    size_t end = begin;
    size_t affine = list_.size();
    for (; end < list_.size() && list_[end].kind != AugmentationKind::kNoise; ++end) {
      if (list_[end].kind != AugmentationKind::kAffine) continue;
      if (affine < end) break;
      affine = end;
    }
    Add(absl::StrCat("FLAT", ++passes_),
        absl::StrCat("reshape(", picture_, ", ", dims_[0] * dims_[1] * dims_[2] * dims_[3], ")"));
    if (affine >= end) {
      picture_ = ReadAt(Follow({"IY", "IX", ""}, begin, end));
      return end;
    }
    const Place after = Follow({"IY", "IX", ""}, affine + 1, end);
    const std::string t = absl::StrCat("T", affine, "_");
    const std::string q = absl::StrCat("Q", affine, "_");
    Add(q + "DY", absl::StrCat("as_float(", after.y, ", 32) - ", t, "OY"));
    Add(q + "DX", absl::StrCat("as_float(", after.x, ", 32) - ", t, "OX"));
    Add(q + "Y", absl::StrCat(t, "YX * ", q, "DX + ", t, "YY * ", q, "DY + ",
                              Number(static_cast<double>(Height() - 1) / 2)));
    Add(q + "X", absl::StrCat(t, "XX * ", q, "DX + ", t, "XY * ", q, "DY + ",
                              Number(static_cast<double>(Width() - 1) / 2)));
    Add(q + "FY", absl::StrCat("floor(", q, "Y)"));
    Add(q + "FX", absl::StrCat("floor(", q, "X)"));
    Add(q + "WY", absl::StrCat(q, "Y - ", q, "FY"));
    Add(q + "WX", absl::StrCat(q, "X - ", q, "FX"));
    std::vector<std::string> terms;
    for (int corner = 0; corner < 4; ++corner) {
      const int y = corner / 2;
      const int x = corner % 2;
      const std::string c = absl::StrCat(q, corner);
      Add(c + "Y", absl::StrCat("as_int(", q, "FY, 32) + ", y));
      Add(c + "X", absl::StrCat("as_int(", q, "FX, 32) + ", x));
      const Place at = WithBounds({c + "Y", c + "X", after.inside}, c + "B");
      terms.push_back(absl::StrCat(ReadAt(Follow(at, begin, affine)), " * (",
                                   y == 1 ? q + "WY" : absl::StrCat("1 - ", q, "WY"), ") * (",
                                   x == 1 ? q + "WX" : absl::StrCat("1 - ", q, "WX"), ")"));
    }
    picture_ = absl::StrCat("A", affine);
    Add(picture_, absl::StrJoin(terms, " + "));
    return end;
  }

  // The Box-Muller transform of two uniform numbers per element.
  void WriteNoise(const Augmentation& a, int number) {
    const int64_t count = dims_[0] * dims_[1] * dims_[2] * dims_[3];
    const std::string n = absl::StrCat("N", number, "_");
    Add(n + "R", absl::StrCat("prng(SEED + K", number, ", 2, ", count, ")"));
    for (int row = 0; row < 2; ++row)
      lines_.push_back(absl::StrCat(n, row, "[i : ", count, "] = =(", n, "R[", row, ", i]);"));
    Add(n + "V", absl::StrCat("sqrt(-2 * log(1 - ", n, "0)) * cos(", Number(2 * std::numbers::pi),
                              " * ", n, "1) * ", Number(a.deviation)));
    Add(n + "Y", absl::StrCat(picture_, " + reshape(", n, "V, ", absl::StrJoin(dims_, ", "), ")"));
    picture_ = n + "Y";
  }

  const std::vector<int64_t>& dims_;
  const std::vector<Augmentation>& list_;
  const size_t h_;  // axis of the height; the width is the next
  std::vector<int64_t> first_draws_;
  int64_t draws_ = 0;
  int names_ = 0;
  int passes_ = 0;
  std::string picture_;
  std::vector<std::string> lines_;
};

}  // namespace

bool IsPicture(const TensorShape& shape) { return shape.rank() == 4 && IsFloat(shape.type); }

int64_t DrawCount(AugmentationKind kind) {
  switch (kind) {
    case AugmentationKind::kFlip:
    case AugmentationKind::kCrop:
      return 2;
    case AugmentationKind::kAffine:
      return 5;
    case AugmentationKind::kNoise:
      return 0;
  }
  return 0;
}

std::vector<uint32_t> AugmentationKey(uint32_t input, uint32_t noise) {
  return {input * 0x10000U + noise, kStream};
}

absl::StatusOr<api::Tensor> Augmented(const api::Tensor& x, const Augmentations& augmentations,
                                      const api::Tensor& seed, uint32_t input,
                                      absl::string_view name) {
  if (augmentations.list.empty()) return x;
  const bool is_small = x.shape().element_count() <= std::numeric_limits<int32_t>::max();
  if (!IsPicture(x.shape()) || !is_small) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "', ", x.shape().ToString(), ", cannot be augmented: expected floats [N, ",
        augmentations.channels_last ? "H, W, C" : "C, H, W", "]",
        is_small ? "" : " of fewer than 2^31 elements"));
  }
  if (x.shape().element_count() == 0) return x;
  Writer writer(x.shape(), augmentations);
  const std::string function = writer.Function();
  std::vector<api::Tensor> inputs = {x, seed};
  const auto add_key = [&](uint32_t noise) {
    inputs.push_back(api::Tensor::Constant(HostTensor::FromVector(
        TensorShape{DataType::kUInt32, {2}}, AugmentationKey(input, noise))));
  };
  if (writer.draws()) add_key(0);
  uint32_t noises = 0;
  for (const Augmentation& augmentation : augmentations.list) {
    if (augmentation.kind == AugmentationKind::kNoise) add_key(++noises);
  }
  TARTAN_ASSIGN_OR_RETURN(const api::Tensor made,
                          api::Apply(function, inputs, absl::StrCat(name, "_augmented")));
  if (x.type() == DataType::kFloat32) return made;
  const std::string cast = x.type() == DataType::kBFloat16
                               ? "as_bfloat(X)"
                               : absl::StrCat("as_float(X, ", 8 * ByteWidth(x.type()), ")");
  return api::Apply(absl::StrCat("function (X) -> (Y) { Y = ", cast, "; }"), {made}, "cast");
}

absl::StatusOr<api::Tensor> AugmentInputs(const onnx::OnnxModel& model,
                                          const Augmentations& augmentations,
                                          std::vector<api::InputBinding>* bindings) {
  const auto seed = api::Tensor::Placeholder("augment_seed", TensorShape{DataType::kUInt32, {2}});
  bool has_picture = false;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < model.own_input_count(); ++i) {
    api::InputBinding& binding = (*bindings)[i];
    if (!binding.given) continue;
    const std::string& name = model.inputs()[i].name;
    inputs.push_back(absl::StrCat("'", name, "' ", binding.shape.ToString()));
    if (!IsPicture(binding.shape)) continue;
    has_picture = true;
    TARTAN_ASSIGN_OR_RETURN(binding.tensor, Augmented(binding.tensor, augmentations, seed,
                                                      static_cast<uint32_t>(i), name));
  }
  if (has_picture) return seed;
  return absl::InvalidArgumentError(
      absl::StrCat("no input is a picture to augment, floats [N, ",
                   augmentations.channels_last ? "H, W, C" : "C, H, W", "]; the inputs are ",
                   absl::StrJoin(inputs, ", ")));
}

}  // namespace tartan::train
