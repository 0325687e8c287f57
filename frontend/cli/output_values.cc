// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/output_values.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/input_spec.h"
#include "frontend/cli/process/exit_code.h"
#include "tile/base/printable.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

constexpr int64_t kMaxReportedElements = 1024;
constexpr int64_t kMaxElementsInLine = 16;
constexpr int64_t kMaxRows = 16;
constexpr size_t kMaxStringsText = 512;

std::string ElementText(const HostTensor& value, int64_t i) {
  if (IsFloat(value.type())) return absl::StrFormat("%.6g", value.GetDouble(i));
  if (value.type() == DataType::kUInt64)
    return absl::StrCat(static_cast<uint64_t>(value.GetInt(i)));
  return absl::StrCat(value.GetInt(i));
}

std::string LineText(const HostTensor& value, int64_t begin, int64_t count) {
  std::string line = " ";
  for (int64_t i = begin; i < begin + count; ++i) {
    absl::StrAppend(&line, " ", ElementText(value, i));
  }
  return line;
}

std::vector<std::string> KeyTexts(const api::HostValue& map) {
  if (map.keys().is_strings()) return api::StringsOf(map.keys());
  std::vector<std::string> texts;
  for (const int64_t key : map.keys().tensor().ToInts()) texts.push_back(absl::StrCat(key));
  return texts;
}

// One line per map.
std::string MapText(const api::HostValue& map) {
  const std::vector<std::string> keys = KeyTexts(map);
  const int64_t count = static_cast<int64_t>(keys.size());
  const HostTensor& values = map.values().tensor();
  std::vector<std::string> words;
  if (map.values().is_strings()) words = api::StringsOf(map.values());
  const int64_t rows = values.shape().rank() == 2 ? values.shape().dims[0] : 1;
  std::string text;
  for (int64_t r = 0; r < std::min(rows, kMaxRows); ++r) {
    absl::StrAppend(&text, " ");
    for (int64_t k = 0; k < std::min(count, kMaxElementsInLine); ++k) {
      const int64_t at = r * count + k;
      absl::StrAppend(
          &text, " ", Printable(keys[static_cast<size_t>(k)]), ": ",
          words.empty() ? ElementText(values, at) : Printable(words[static_cast<size_t>(at)]));
    }
    absl::StrAppend(&text, count > kMaxElementsInLine ? " …\n" : "\n");
  }
  return rows > kMaxRows ? absl::StrCat(text, "  … (", rows, " maps)\n") : text;
}

std::string TensorText(const HostTensor& value) {
  const int64_t count = value.element_count();
  const int64_t row = value.shape().rank() > 0 ? value.shape().dims.back() : 1;
  if (value.shape().rank() < 2 || count == 0 || row > kMaxElementsInLine ||
      count > kMaxRows * row) {
    const int64_t shown = std::min(count, kMaxElementsInLine);
    const std::string rest = shown < count ? absl::StrCat(" … (", count, " elements)") : "";
    return absl::StrCat(LineText(value, 0, shown), rest, "\n");
  }
  std::string text;
  for (int64_t begin = 0; begin < count; begin += row) {
    absl::StrAppend(&text, LineText(value, begin, row), "\n");
  }
  return text;
}

// The canonical path of a file that may not exist yet.
std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return error ? path : real.string();
}

}  // namespace

absl::StatusOr<std::vector<OutputFile>> ParseOutputFiles(const std::vector<std::string>& texts,
                                                         const std::vector<std::string>& names) {
  std::vector<OutputFile> files;
  std::set<std::string> real_paths;
  for (const std::string& text : texts) {
    TARTAN_ASSIGN_OR_RETURN(const NamedText named,
                            SplitNamed(text, "NAME=FILE, such as y=@out.npy", names));
    const std::string path(absl::StripPrefix(named.text, "@"));
    if (!IsTensorExtension(Extension(path))) {
      return absl::InvalidArgumentError(
          absl::StrCat("--output ", text, ": an output file must be .npy or .pb"));
    }
    const auto name = std::find(names.begin(), names.end(), named.name);
    if (name == names.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no output '", named.name, "'; the outputs are ", absl::StrJoin(names, ", ")));
    }
    if (!real_paths.insert(RealPath(path)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--output ", text, ": ", path, " is the file of another --output"));
    }
    TARTAN_RETURN_IF_ERROR(At(Stage::kFile, CheckWritable(path)));
    files.push_back({static_cast<size_t>(name - names.begin()), path});
  }
  return files;
}

void FillOutput(const std::string& name, const api::HostValue& value,
                proto::RunReport::Output* output) {
  output->set_name(name);
  if (value.is_map()) {
    FillOutput(name, value.values(), output);
    output->set_type("map");
    for (std::string& key : KeyTexts(value)) output->add_keys(std::move(key));
    return;
  }
  if (!value.is_tensor()) {
    output->set_type(value.is_sequence() ? "sequence" : "nothing");
    return;
  }
  const HostTensor& tensor = value.tensor();
  const bool is_plain = value.element() == api::Element::kPlain;
  output->set_type(std::string(is_plain ? Name(tensor.type()) : api::Name(value.element())));
  for (const int64_t dim : tensor.shape().dims) output->add_shape(static_cast<double>(dim));
  if (tensor.element_count() > kMaxReportedElements || value.is_strings()) return;
  for (const double element : tensor.ToDoubles()) output->add_data(element);
}

std::string ValueText(const api::HostValue& value) {
  if (value.is_nothing()) return "\n";
  if (value.is_sequence()) {
    std::string text;
    for (const api::HostValue& element : value.elements()) {
      absl::StrAppend(&text, "  ", Describe(element), "\n");
    }
    return text;
  }
  if (value.is_map()) return MapText(value);
  if (!value.is_strings()) return TensorText(value.tensor());
  std::string text = " ";
  for (const std::string& string : api::StringsOf(value)) {
    if (text.size() > kMaxStringsText) return absl::StrCat(text, " …\n");
    absl::StrAppend(&text, " \"", Printable(string), "\"");
  }
  return absl::StrCat(text, "\n");
}

}  // namespace tartan::cli
