// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer counts the n-grams of a pool in rows of tokens. It runs on the host with one map
// lookup per position and length; a contraction would compare each with the whole pool.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/words.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using HostTensors = absl::StatusOr<std::vector<HostTensor>>;

// Maximum elements of the result; a larger one is an error in the model.
constexpr int64_t kMaxResult = int64_t{1} << 26;

using Gram = std::vector<int64_t>;

struct Counting {
  std::map<Gram, int64_t> coordinates;  // of the n-grams, in the output
  int64_t width = 0;
  int64_t shortest = 1;
  int64_t longest = 1;
  int64_t most_skipped = 0;
  std::vector<float> weights;  // by coordinate; empty: all are 1
  bool is_counted = true;      // false: an n-gram is present or absent
};

// The tokens of the pool as integers: unchanged, or positions in `words` for strings.
absl::StatusOr<std::vector<int64_t>> ReadPool(const NodeContext& context,
                                              std::vector<std::string>* words) {
  const bool is_text = context.HasAttribute("pool_strings");
  if (is_text == context.HasAttribute("pool_int64s")) {
    return Invalid("one of pool_strings and pool_int64s is expected");
  }
  if (is_text != context.value(0).is_strings()) {
    return Invalid("the pool and operand 0 hold different kinds of tokens");
  }
  if (!is_text) return context.Ints("pool_int64s");
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> pool, context.Strings("pool_strings"));
  *words = pool;
  std::sort(words->begin(), words->end());
  words->erase(std::unique(words->begin(), words->end()), words->end());
  std::vector<int64_t> tokens;
  for (const std::string& word : pool) {
    tokens.push_back(std::lower_bound(words->begin(), words->end(), word) - words->begin());
  }
  return tokens;
}

// Part k of the pool, from counts[k] to counts[k + 1], holds the n-grams of k + 1 tokens.
absl::Status AddGrams(const std::vector<int64_t>& pool, const std::vector<int64_t>& counts,
                      const std::vector<int64_t>& indexes, Counting* counting) {
  const int64_t size = static_cast<int64_t>(pool.size());
  size_t gram = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    const int64_t begin = counts[k];
    const int64_t end = k + 1 < counts.size() ? counts[k + 1] : size;
    const int64_t length = static_cast<int64_t>(k) + 1;
    if (begin < 0 || end < begin || end > size || (end - begin) % length != 0) {
      return Invalid("attribute 'ngram_counts': ", begin, " to ", end, " of ", size,
                     " tokens are not a whole number of ", length, "-grams");
    }
    for (int64_t first = begin; first < end; first += length, ++gram) {
      if (gram >= indexes.size()) return Invalid("attribute 'ngram_indexes' is too short");
      if (length < counting->shortest || length > counting->longest) continue;
      counting->coordinates[Gram(pool.begin() + first, pool.begin() + first + length)] =
          indexes[gram];
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Counting> ReadCounting(const NodeContext& context,
                                      const std::vector<int64_t>& pool) {
  Counting counting;
  TARTAN_ASSIGN_OR_RETURN(const std::string mode, context.String("mode"));
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    return Invalid("attribute 'mode': expected TF, IDF or TFIDF, got ", mode);
  }
  counting.is_counted = mode != "IDF";
  TARTAN_ASSIGN_OR_RETURN(counting.shortest, context.Int("min_gram_length"));
  TARTAN_ASSIGN_OR_RETURN(counting.longest, context.Int("max_gram_length"));
  TARTAN_ASSIGN_OR_RETURN(counting.most_skipped, context.Int("max_skip_count"));
  if (counting.shortest < 1 || counting.longest < counting.shortest || counting.most_skipped < 0) {
    return Invalid("n-grams of ", counting.shortest, " to ", counting.longest, " tokens, skipping ",
                   counting.most_skipped);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, context.Ints("ngram_counts"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> indexes, context.Ints("ngram_indexes"));
  // No n-gram is longer than the longest of the pool.
  counting.longest = std::min(counting.longest, static_cast<int64_t>(counts.size()));
  for (int64_t index : indexes) {
    if (index < 0 || index >= kMaxResult) return Invalid("attribute 'ngram_indexes': ", index);
    counting.width = std::max(counting.width, index + 1);
  }
  TARTAN_RETURN_IF_ERROR(AddGrams(pool, counts, indexes, &counting));
  if (mode == "TF" || !context.HasAttribute("weights")) return counting;
  TARTAN_ASSIGN_OR_RETURN(counting.weights, context.Floats("weights"));
  if (static_cast<int64_t>(counting.weights.size()) != counting.width) {
    return Invalid("attribute 'weights' has ", counting.weights.size(), " elements for ",
                   counting.width, " coordinates");
  }
  return counting;
}

void CountRow(const Counting& counting, absl::Span<const int64_t> tokens, float* row) {
  const int64_t size = static_cast<int64_t>(tokens.size());
  for (int64_t length = counting.shortest; length <= counting.longest; ++length) {
    const int64_t most_skipped = length == 1 ? 0 : std::min(counting.most_skipped, size);
    for (int64_t step = 1; step <= most_skipped + 1; ++step) {
      for (int64_t first = 0; first + (length - 1) * step < size; ++first) {
        Gram gram;
        for (int64_t k = 0; k < length; ++k) {
          gram.push_back(tokens[static_cast<size_t>(first + k * step)]);
        }
        const auto found = counting.coordinates.find(gram);
        if (found != counting.coordinates.end()) row[found->second] += 1;
      }
    }
  }
  for (int64_t i = 0; i < counting.width; ++i) {
    if (!counting.is_counted) row[i] = std::min(row[i], 1.0F);
    if (!counting.weights.empty()) row[i] *= counting.weights[static_cast<size_t>(i)];
  }
}

OutputValues TfIdfVectorizer(NodeContext& context) {
  if (!context.value(0).is_tensor()) return Invalid("operand 0 is not a tensor");
  std::vector<std::string> words;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> pool, ReadPool(context, &words));
  TARTAN_ASSIGN_OR_RETURN(const Counting counting, ReadCounting(context, pool));
  std::vector<int64_t> dims = context.input(0).dims();
  if (dims.size() > 2) return Invalid("tokens ", DimsToString(dims), ", expected [C] or [N, C]");
  Tensor tokens = context.input(0);
  if (context.value(0).is_strings()) {
    std::vector<int64_t> numbers;
    for (const std::string& word : *context.value(0).words()) {
      const auto found = std::lower_bound(words.begin(), words.end(), word);
      const bool is_known = found != words.end() && *found == word;
      numbers.push_back(is_known ? found - words.begin() : -1);
    }
    const TensorShape shape{DataType::kInt64, {static_cast<int64_t>(numbers.size())}};
    TARTAN_ASSIGN_OR_RETURN(
        tokens, LookUp(context, context.value(0), HostTensor::FromVector(shape, numbers)));
  } else if (!IsInteger(tokens.type())) {
    return Invalid("tokens of type ", Name(tokens.type()));
  }
  const int64_t rows = dims.size() == 2 ? dims[0] : 1;
  const int64_t length = dims.empty() ? 1 : dims.back();
  TensorShape result{DataType::kFloat32, {counting.width}};
  if (dims.size() == 2) result.dims.insert(result.dims.begin(), rows);
  if (rows * counting.width > kMaxResult) {
    return absl::ResourceExhaustedError(absl::StrCat("a result ", result.ToString()));
  }
  TARTAN_ASSIGN_OR_RETURN(
      std::vector<Tensor> y,
      context.RunOnHost({tokens}, [=](absl::Span<const HostTensor> operands) -> HostTensors {
        const std::vector<int64_t> all = operands[0].ToInts();
        std::vector<float> counts(static_cast<size_t>(rows * counting.width));
        for (int64_t row = 0; row < rows; ++row) {
          CountRow(counting,
                   absl::MakeSpan(all).subspan(static_cast<size_t>(row * length),
                                               static_cast<size_t>(length)),
                   counts.data() + row * counting.width);
        }
        return std::vector<HostTensor>{HostTensor::FromVector(result, counts)};
      }));
  return std::vector<Value>{Value(std::move(y[0]))};
}

constexpr OperatorRow kOperators[] = {
    ValueRow("TfIdfVectorizer", 9, {1, 1}, TfIdfVectorizer),
};

}  // namespace

absl::Span<const OperatorRow> TextFeatureOperators() { return kOperators; }

}  // namespace tartan::onnx
