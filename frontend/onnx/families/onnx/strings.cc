// SPDX-License-Identifier: Apache-2.0
// String operators. Functions of a single string become tables over the list of words. Operators
// that compute new strings need the values at import.
#include <re2/re2.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/words.h"
#include "frontend/onnx/tile_text/text_case.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// RE2 takes time linear in the text for every pattern.
OutputValues RegexFullMatch(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(ExpectStrings(context, 0));
  TARTAN_ASSIGN_OR_RETURN(const std::string pattern, context.String("pattern"));
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 expression(pattern, options);
  if (!expression.ok()) return Invalid("attribute 'pattern': ", expression.error());
  const Value& strings = context.value(0);
  std::vector<uint8_t> matches;
  for (const std::string& word : *strings.words()) {
    matches.push_back(RE2::FullMatch(word, expression) ? 1 : 0);
  }
  const TensorShape shape{DataType::kBool, {static_cast<int64_t>(matches.size())}};
  return OneValue(LookUp(context, strings, HostTensor(shape, matches)));
}

// Limits on results; a larger one is an error in the model or an attack.
constexpr int64_t kMaxStrings = 1 << 22;
constexpr size_t kMaxCharacters = size_t{1} << 28;

// The position, in a tensor of `dims`, of element `i` of a tensor of `wide`, to which `dims`
// broadcasts.
int64_t BroadcastPosition(int64_t i, const std::vector<int64_t>& wide,
                          const std::vector<int64_t>& dims) {
  int64_t position = 0;
  int64_t stride = 1;
  for (size_t back = 1; back <= wide.size(); ++back) {
    const int64_t size = wide[wide.size() - back];
    if (back <= dims.size() && dims[dims.size() - back] != 1) {
      position += i % size * stride;
      stride *= size;
    }
    i /= size;
  }
  return position;
}

OutputValues StringConcat(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(ExpectStrings(context, 0));
  TARTAN_RETURN_IF_ERROR(ExpectStrings(context, 1));
  const std::vector<int64_t> a_dims = context.input(0).dims();
  const std::vector<int64_t> b_dims = context.input(1).dims();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, BroadcastDims(a_dims, b_dims));
  const TensorShape shape{DataType::kInt64, dims};
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  if (shape.element_count() > kMaxStrings) {
    return absl::ResourceExhaustedError(absl::StrCat("strings ", DimsToString(dims)));
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> a, StringsOf(context, 0));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> b, StringsOf(context, 1));
  std::vector<std::string> joined;
  size_t characters = 0;
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    joined.push_back(absl::StrCat(a[static_cast<size_t>(BroadcastPosition(i, dims, a_dims))],
                                  b[static_cast<size_t>(BroadcastPosition(i, dims, b_dims))]));
    characters += joined.back().size();
    if (characters > kMaxCharacters) {
      return absl::ResourceExhaustedError("the joined strings are too long");
    }
  }
  return std::vector<Value>{StringsValue(dims, joined)};
}

// --- StringSplit

constexpr absl::string_view kSpaces = " \t\n\v\f\r";

// Splits at white space; leading and trailing white space is ignored. After `most` parts the rest
// is one more part.
std::vector<std::string> SplitAtSpaces(absl::string_view text, size_t most) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t begin = text.find_first_not_of(kSpaces);
    if (begin == absl::string_view::npos) return parts;
    text.remove_prefix(begin);
    const size_t end = text.find_first_of(kSpaces);
    if (end == absl::string_view::npos || parts.size() == most) {
      parts.emplace_back(text);
      return parts;
    }
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// Splits at each delimiter. After `most` parts the rest is one more part.
std::vector<std::string> SplitAt(absl::string_view text, const std::string& delimiter,
                                 size_t most) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(delimiter);
    if (end == absl::string_view::npos || parts.size() == most) {
      parts.emplace_back(text);
      return parts;
    }
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
}

// The parts of each string along a new last dimension, padded with empty strings, and their counts.
OutputValues StringSplit(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string delimiter, context.String("delimiter", ""));
  TARTAN_ASSIGN_OR_RETURN(const int64_t maxsplit, context.Int("maxsplit", -1));
  const size_t most = maxsplit < 0 ? std::string::npos : static_cast<size_t>(maxsplit);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> texts, StringsOf(context, 0));
  std::vector<std::vector<std::string>> parts;
  std::vector<int64_t> counts;
  size_t width = 0;
  for (const std::string& text : texts) {
    parts.push_back(delimiter.empty() ? SplitAtSpaces(text, most) : SplitAt(text, delimiter, most));
    counts.push_back(static_cast<int64_t>(parts.back().size()));
    width = std::max(width, parts.back().size());
  }
  if (texts.size() * width > static_cast<size_t>(kMaxStrings)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(texts.size(), " strings of up to ", width, " parts"));
  }
  std::vector<std::string> filled;
  for (std::vector<std::string>& row : parts) {
    row.resize(width);
    filled.insert(filled.end(), row.begin(), row.end());
  }
  std::vector<int64_t> dims = context.input(0).dims();
  const TensorShape counted{DataType::kInt64, dims};
  dims.push_back(static_cast<int64_t>(width));
  return std::vector<Value>{StringsValue(dims, filled),
                            Tensor::Constant(HostTensor::FromVector(counted, counts))};
}

// --- StringNormalizer

// Strings [C] or [1, C] without the stop words, in upper or lower case. An empty result becomes one
// empty string.
OutputValues StringNormalizer(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(ExpectStrings(context, 0));
  TARTAN_ASSIGN_OR_RETURN(const std::string action,
                          context.OneOf("case_change_action", "NONE", {"NONE", "LOWER", "UPPER"}));
  TARTAN_ASSIGN_OR_RETURN(const int64_t is_case_sensitive, context.Int("is_case_sensitive", 0));
  TARTAN_ASSIGN_OR_RETURN(const std::string locale, context.String("locale", ""));
  std::vector<std::string> stopwords;
  if (context.HasAttribute("stopwords")) {
    TARTAN_ASSIGN_OR_RETURN(stopwords, context.Strings("stopwords"));
  }
  std::vector<int64_t> dims = context.input(0).dims();
  if (dims.empty() || dims.size() > 2 || (dims.size() == 2 && dims[0] != 1)) {
    return Invalid("strings ", DimsToString(dims), ", expected [C] or [1, C]");
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> texts, StringsOf(context, 0));
  const TextCase text_case(locale);
  const auto key = [&](const std::string& text) {
    return is_case_sensitive != 0 ? text : text_case.Lower(text);
  };
  for (std::string& word : stopwords) word = key(word);
  std::sort(stopwords.begin(), stopwords.end());
  std::vector<std::string> kept;
  for (const std::string& text : texts) {
    if (std::binary_search(stopwords.begin(), stopwords.end(), key(text))) continue;
    kept.push_back(action == "LOWER"   ? text_case.Lower(text)
                   : action == "UPPER" ? text_case.Upper(text)
                                       : text);
  }
  if (kept.empty()) kept.emplace_back();
  dims.back() = static_cast<int64_t>(kept.size());
  return std::vector<Value>{StringsValue(dims, kept)};
}

constexpr OperatorRow kOperators[] = {
    ValueRow("RegexFullMatch", 20, {1, 1}, RegexFullMatch),
    ValueRow("StringConcat", 20, {2, 2}, StringConcat),
    ValueRow("StringNormalizer", 10, {1, 1}, StringNormalizer),
    ValueRow("StringSplit", 20, {1, 1}, StringSplit),
};

}  // namespace

absl::Span<const OperatorRow> StringOperators() { return kOperators; }

}  // namespace tartan::onnx
