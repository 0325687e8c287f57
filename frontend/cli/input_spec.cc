// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/input_spec.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/numbers.h"
#include "frontend/cli/process/exit_code.h"
#include "frontend/data/picture.h"
#include "frontend/data/picture_file.h"
#include "frontend/onnx/values/value_proto.h"
#include "tile/base/mapped_file.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

// Maximum size in bytes of generated values.
constexpr int64_t kMaxMadeBytes = int64_t{8} << 30;

// splitmix64: the same numbers on every machine.
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// FNV-1a hash, so that inputs with the same seed differ.
uint64_t HashName(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

DataType TypeOf(const api::TensorSpec& input) {
  return input.type != DataType::kInvalid ? input.type : DataType::kFloat32;
}

absl::StatusOr<TensorShape> ClosedShape(const api::TensorSpec& input) {
  const absl::string_view remedy = "' is open; give it with --shape ";
  if (!input.has_rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("the rank of input '", input.name, remedy, input.name, "=1x2x3"));
  }
  for (size_t d = 0; d < input.dims.size(); ++d) {
    if (input.dims[d] >= 0) continue;
    std::string example = absl::StrCat(input.name, "=");
    for (size_t i = 0; i < input.dims.size(); ++i) {
      absl::StrAppend(&example, i == 0 ? "" : "x", std::max<int64_t>(input.dims[i], 1));
    }
    const bool is_named = d < input.dim_names.size() && !input.dim_names[d].empty();
    return absl::InvalidArgumentError(
        absl::StrCat("dimension ", d, " of input '", input.ToString(), remedy, example,
                     is_named ? absl::StrCat(" or --shape ", input.dim_names[d], "=1") : ""));
  }
  TensorShape shape{TypeOf(input), input.dims};
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  if (shape.byte_size() > kMaxMadeBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("input '", input.name, "' of shape ",
                                                     shape.ToString(), " needs ", shape.byte_size(),
                                                     " bytes"));
  }
  return shape;
}

struct IntegerLimits {
  int64_t least = 0;
  uint64_t most = 1;
};

// The limits of an integer type or bool.
IntegerLimits LimitsOf(DataType type) {
  if (type == DataType::kBool) return {};
  const int unused_bits = 64 - static_cast<int>(8 * ByteWidth(type));
  if (!IsSignedInteger(type)) return {0, std::numeric_limits<uint64_t>::max() >> unused_bits};
  const int64_t most = std::numeric_limits<int64_t>::max() >> unused_bits;
  return {-most - 1, static_cast<uint64_t>(most)};
}

absl::StatusOr<HostTensor> MakeRandom(const RandomInput& random, const api::TensorSpec& input) {
  TARTAN_ASSIGN_OR_RETURN(TensorShape shape, ClosedShape(input));
  uint64_t state = random.seed ^ HashName(input.name);
  std::vector<uint8_t> bytes(shape.byte_size());
  const int64_t count = shape.element_count();
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = NextRandom(&state);
    const double value = IsFloat(shape.type) ? static_cast<double>(bits >> 40) / (1 << 24)
                                             : static_cast<double>(bits >> 63);
    StoreElement(shape.type, value, i, bytes.data());
  }
  return HostTensor(std::move(shape), bytes);
}

bool IsIntegerText(absl::string_view text) {
  absl::ConsumePrefix(&text, "-");
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// The bits of the number as an integer within the limits. Digits-only text is exact, other forms
// are exact up to 2^53; nullopt for 2.5.
std::optional<uint64_t> IntegerOf(const NumberInput& number, absl::string_view text,
                                  const IntegerLimits& limits) {
  constexpr double kExact = 9007199254740992;
  int64_t value = 0;
  uint64_t large = 0;
  if (!IsIntegerText(text)) {
    if (number.value != std::floor(number.value) || std::abs(number.value) > kExact) {
      return std::nullopt;
    }
    value = static_cast<int64_t>(number.value);
  } else if (!absl::SimpleAtoi(text, &value)) {
    if (!absl::SimpleAtoi(text, &large) || large > limits.most) return std::nullopt;
    return large;
  }
  if (value < limits.least || (value > 0 && static_cast<uint64_t>(value) > limits.most)) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(value);
}

absl::Status DoesNotHold(const api::TensorSpec& input, DataType type, absl::string_view values,
                         absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is ", Name(type),
                                                 ", which holds ", values, ", not ", text));
}

// Converts the number to one element of `type`.
absl::StatusOr<HostTensor> ToElement(const NumberInput& number, absl::string_view text,
                                     DataType type, const api::TensorSpec& input) {
  std::vector<uint8_t> bytes(static_cast<size_t>(ByteWidth(type)));
  if (IsFloat(type)) {
    StoreElement(type, number.value, 0, bytes.data());
    const HostTensor element(TensorShape{type, {}}, bytes);
    const bool is_too_large = std::isfinite(number.value) && !std::isfinite(element.GetDouble(0));
    if (is_too_large) return DoesNotHold(input, type, "only smaller numbers", text);
    return element;
  }
  const IntegerLimits limits = LimitsOf(type);
  const std::optional<uint64_t> whole = IntegerOf(number, text, limits);
  if (!whole.has_value()) {
    return DoesNotHold(
        input, type, absl::StrCat("whole numbers from ", limits.least, " to ", limits.most), text);
  }
  StoreElement(type, static_cast<int64_t>(*whole), 0, bytes.data());
  return HostTensor(TensorShape{type, {}}, bytes);
}

absl::StatusOr<HostTensor> MakeFilled(const NumberInput& number, absl::string_view text,
                                      const api::TensorSpec& input) {
  TARTAN_ASSIGN_OR_RETURN(TensorShape shape, ClosedShape(input));
  TARTAN_ASSIGN_OR_RETURN(const HostTensor element, ToElement(number, text, shape.type, input));
  const absl::Span<const uint8_t> pattern = element.bytes();
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (size_t i = 0; i < bytes.size(); i += pattern.size()) {
    std::copy(pattern.begin(), pattern.end(), bytes.begin() + static_cast<int64_t>(i));
  }
  return HostTensor(std::move(shape), bytes);
}

// Reads raw elements; one open size follows from the file size.
absl::StatusOr<HostTensor> ReadRaw(const std::string& path, api::TensorSpec input) {
  const auto mapped = MappedFile::Open(path);
  if (!mapped.ok()) return At(Stage::kFile, mapped.status());
  const absl::Span<const uint8_t> bytes = (*mapped)->bytes();
  const int64_t open =
      std::count_if(input.dims.begin(), input.dims.end(), [](int64_t dim) { return dim < 0; });
  if (input.has_rank && open == 1) {
    TensorShape rest{TypeOf(input), input.dims};
    std::replace_if(
        rest.dims.begin(), rest.dims.end(), [](int64_t dim) { return dim < 0; }, 1);
    TARTAN_RETURN_IF_ERROR(CheckShape(rest));
    if (rest.byte_size() > 0 && bytes.size() % rest.byte_size() == 0) {
      std::replace_if(
          input.dims.begin(), input.dims.end(), [](int64_t dim) { return dim < 0; },
          static_cast<int64_t>(bytes.size()) / rest.byte_size());
    }
  }
  TARTAN_ASSIGN_OR_RETURN(TensorShape shape, ClosedShape(input));
  if (shape.byte_size() != static_cast<int64_t>(bytes.size())) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", bytes.size(), " bytes, but ",
                                                   shape.ToString(), " has ", shape.byte_size()));
  }
  return HostTensor(std::move(shape), bytes);
}

absl::StatusOr<HostTensor> ReadPicture(const std::string& path, const api::TensorSpec& input) {
  const auto mapped = MappedFile::Open(path);
  if (!mapped.ok()) return At(Stage::kFile, mapped.status());
  const absl::StatusOr<data::Picture> picture = data::DecodePicture((*mapped)->bytes());
  if (!picture.ok()) {
    return At(Stage::kFile, absl::Status(picture.status().code(),
                                         absl::StrCat(path, ": ", picture.status().message())));
  }
  if (!input.has_rank) TARTAN_RETURN_IF_ERROR(ClosedShape(input).status());
  absl::StatusOr<HostTensor> tensor = data::PictureToTensor(*picture, TypeOf(input), input.dims);
  if (tensor.ok()) return tensor;
  return absl::Status(tensor.status().code(), absl::StrCat(path, ": ", tensor.status().message()));
}

absl::Status CheckFits(const api::TensorSpec& input, const TensorShape& shape) {
  bool fits = input.type == DataType::kInvalid || input.type == shape.type;
  fits &= !input.has_rank || input.dims.size() == shape.dims.size();
  for (size_t d = 0; fits && input.has_rank && d < shape.dims.size(); ++d) {
    fits = input.dims[d] < 0 || input.dims[d] == shape.dims[d];
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("is ", shape.ToString(), ", but the input is ", input.ToString()));
}

absl::StatusOr<HostTensor> ReadInput(const FileInput& file, const api::TensorSpec& input) {
  const std::string extension = Extension(file.path);
  if (data::IsPictureName(extension)) return ReadPicture(file.path, input);
  if (extension == ".bin") return ReadRaw(file.path, input);
  if (!IsTensorExtension(extension)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": an input file must be .npy, .pb, .png, .jpg or .bin"));
  }
  TARTAN_ASSIGN_OR_RETURN(HostTensor tensor, At(Stage::kFile, ReadTensor(file.path)));
  const absl::Status fits = CheckFits(input, tensor.shape());
  if (!fits.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", fits.message()));
  }
  return tensor;
}

// Makes strings, low-precision tensors, sequences and optionals.
absl::StatusOr<api::HostValue> MakeSpecial(const InputSpec& spec, const api::TensorSpec& input) {
  if (const auto* file = std::get_if<FileInput>(&spec.value)) {
    if (Extension(file->path) != ".pb") {
      return absl::InvalidArgumentError(
          absl::StrCat(file->path, ": a file of ", input.ToString(), " must be .pb"));
    }
    TARTAN_ASSIGN_OR_RETURN(api::HostValue value,
                            At(Stage::kFile, onnx::ReadValueFile(file->path, input)));
    TARTAN_RETURN_IF_ERROR(api::CheckAgainstSpec(input, value));
    return value;
  }
  const auto* number = std::get_if<NumberInput>(&spec.value);
  if (number != nullptr && number->value != 0) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is ", input.ToString(),
                                                   ", not a number: give a .pb file"));
  }
  if (input.may_be_empty) return api::HostValue();
  if (input.sequence_depth > 0) return api::HostValue::Sequence({});
  if (input.map_keys) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input.name, "' is a map: give a .pb file"));
  }
  TARTAN_ASSIGN_OR_RETURN(const TensorShape shape, ClosedShape(input));
  if (input.element == api::Element::kString) {
    return api::HostStrings(shape.dims,
                            std::vector<std::string>(static_cast<size_t>(shape.element_count())));
  }
  return api::HostValue(HostTensor::Zeros(shape), input.element);
}

}  // namespace

absl::StatusOr<NamedText> SplitNamed(absl::string_view text, absl::string_view expected,
                                     absl::Span<const std::string> names) {
  size_t equals = text.find('=');
  for (const std::string& name : names) {
    const bool fits = absl::StartsWith(text, name) && text.size() > name.size() &&
                      text[name.size()] == '=' && name.size() > equals;
    if (fits) equals = name.size();
  }
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not of the form ", expected));
  }
  return NamedText{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

absl::StatusOr<InputSpec> ParseInputSpec(absl::string_view text) {
  InputSpec spec;
  spec.text = std::string(text);
  absl::string_view rest = text;
  double number = 0;
  if (absl::ConsumePrefix(&rest, "@") && !rest.empty()) {
    spec.value = FileInput{std::string(rest)};
  } else if (text == "rand") {
    spec.value = RandomInput{};
  } else if (absl::ConsumePrefix(&rest, "rand:")) {
    RandomInput random;
    if (!IsIntegerText(rest) || !absl::SimpleAtoi(rest, &random.seed)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "': the seed after rand: must be a whole number"));
    }
    spec.value = random;
  } else if (text == "zeros") {
    spec.value = NumberInput{0};
  } else if (text == "ones") {
    spec.value = NumberInput{1};
  } else if (absl::SimpleAtod(text, &number)) {
    const bool has_digits = std::any_of(text.begin(), text.end(), absl::ascii_isdigit);
    if (std::isinf(number) && has_digits) {
      return absl::InvalidArgumentError(absl::StrCat("'", text, "' is too large for float64"));
    }
    spec.value = NumberInput{number};
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text,
        "' is not a value: write @FILE (.npy, .pb, .png, .jpg, .bin), rand, rand:SEED, "
        "zeros, ones or a number"));
  }
  return spec;
}

absl::StatusOr<std::vector<int64_t>> ParseDims(absl::string_view text) {
  std::vector<int64_t> dims;
  if (text == "scalar") return dims;
  for (absl::string_view part : absl::StrSplit(text, 'x')) {
    const absl::StatusOr<int64_t> dim = ParseInteger(part, 0, std::numeric_limits<int64_t>::max());
    if (!dim.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' is not a shape: write sizes as in 1x3x224x224, or scalar"));
    }
    dims.push_back(*dim);
  }
  return dims;
}

absl::StatusOr<api::HostValue> MakeInput(const InputSpec& spec, const api::TensorSpec& input) {
  if (!input.is_tensor() || input.element != api::Element::kPlain) {
    return MakeSpecial(spec, input);
  }
  if (const auto* file = std::get_if<FileInput>(&spec.value)) return ReadInput(*file, input);
  if (const auto* random = std::get_if<RandomInput>(&spec.value)) return MakeRandom(*random, input);
  return MakeFilled(std::get<NumberInput>(spec.value), spec.text, input);
}

}  // namespace tartan::cli
