// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/train/augment.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr int64_t kMaxPadding = 1 << 16;

struct KindName {
  const char* name;
  AugmentationKind kind;
  const char* options;
};
constexpr KindName kKinds[] = {
    {"flip", AugmentationKind::kFlip, "horizontal=0|1, vertical=0|1, probability=X"},
    {"crop", AugmentationKind::kCrop, "padding=PIXELS"},
    {"affine", AugmentationKind::kAffine,
     "rotate=DEGREES, translate=SHARE, scale=SHARE, "
     "shear=DEGREES"},
    {"noise", AugmentationKind::kNoise, "deviation=X"}};

const KindName& RowOf(AugmentationKind kind) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [&](const KindName& row) { return row.kind == kind; });
}

// A numeric option and its range.
struct Option {
  const char* name;
  double* value;
  double least;
  double most;
  bool is_whole = false;
};

absl::Status SetOption(absl::string_view text, Augmentation* made) {
  const std::pair<absl::string_view, absl::string_view> pair =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  double horizontal = made->horizontal ? 1 : 0;
  double vertical = made->vertical ? 1 : 0;
  auto padding = static_cast<double>(made->padding);
  std::vector<Option> options;
  switch (made->kind) {
    case AugmentationKind::kFlip:
      options = {{"horizontal", &horizontal, 0, 1, true},
                 {"vertical", &vertical, 0, 1, true},
                 {"probability", &made->probability, 0, 1}};
      break;
    case AugmentationKind::kCrop:
      options = {{"padding", &padding, 0, kMaxPadding, true}};
      break;
    case AugmentationKind::kAffine:
      options = {{"rotate", &made->rotate, 0, 180},
                 {"translate", &made->translate, 0, 1},
                 {"scale", &made->scale, 0, 0.99},
                 {"shear", &made->shear, 0, 89}};
      break;
    case AugmentationKind::kNoise:
      options = {{"deviation", &made->deviation, 0, 1e6}};
      break;
  }
  for (const Option& option : options) {
    double value = 0;
    if (pair.first != option.name) continue;
    if (!absl::SimpleAtod(pair.second, &value) || !(value >= option.least) ||
        !(value <= option.most) || (option.is_whole && value != std::floor(value))) {
      return absl::InvalidArgumentError(
          absl::StrCat(RowOf(made->kind).name, ": ", option.name, " is ",
                       option.is_whole ? "a whole number" : "a number", " from ", option.least,
                       " to ", option.most, ", not '", pair.second, "'"));
    }
    *option.value = value;
    made->horizontal = horizontal != 0;
    made->vertical = vertical != 0;
    made->padding = static_cast<int64_t>(padding);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not an option of ",
                                                 RowOf(made->kind).name, "; its options are ",
                                                 RowOf(made->kind).options));
}

}  // namespace

std::string Augmentations::ToString() const {
  std::string text;
  for (const Augmentation& a : list) {
    absl::StrAppend(&text, text.empty() ? "" : ",", RowOf(a.kind).name);
    switch (a.kind) {
      case AugmentationKind::kFlip:
        absl::StrAppend(&text, ":horizontal=", a.horizontal, ",vertical=", a.vertical,
                        ",probability=", a.probability);
        break;
      case AugmentationKind::kCrop:
        absl::StrAppend(&text, ":padding=", a.padding);
        break;
      case AugmentationKind::kAffine:
        absl::StrAppend(&text, ":rotate=", a.rotate, ",translate=", a.translate, ",scale=", a.scale,
                        ",shear=", a.shear);
        break;
      case AugmentationKind::kNoise:
        absl::StrAppend(&text, ":deviation=", a.deviation);
        break;
    }
  }
  return text.empty() || !channels_last ? text : text + " of channels last";
}

absl::StatusOr<std::vector<Augmentation>> ParseAugmentations(absl::string_view text) {
  std::vector<Augmentation> made;
  bool has_options = false;
  for (absl::string_view piece : absl::StrSplit(text, ',')) {
    const size_t colon = piece.find(':');
    absl::string_view option = piece;
    // Options follow the name of their augmentation, after a colon and separated by commas.
    if (colon != piece.npos || piece.find('=') == piece.npos || made.empty()) {
      const absl::string_view name = piece.substr(0, colon);
      const auto* const row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                           [&](const KindName& k) { return name == k.name; });
      if (row == std::end(kKinds)) {
        return absl::InvalidArgumentError(
            absl::StrCat("there is no augmentation '", name,
                         "'; the augmentations are flip, crop, affine, noise"));
      }
      made.emplace_back().kind = row->kind;
      has_options = colon != piece.npos;
      if (!has_options) continue;
      option = piece.substr(colon + 1);
      Augmentation& a = made.back();
      a.rotate = a.translate = a.scale = a.shear = 0;
    }
    if (!has_options) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", piece, "' does not follow the name of an augmentation: expected NAME:key=value,…"));
    }
    TARTAN_RETURN_IF_ERROR(SetOption(option, &made.back()));
  }
  return made;
}

}  // namespace tartan::train
