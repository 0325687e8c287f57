// SPDX-License-Identifier: Apache-2.0
#include "frontend/bench/parse_problem.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "frontend/bench/workload.h"
#include "tile/base/status_macros.h"

namespace tartan::bench {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 40;

template <class... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::StatusOr<int64_t> ParseSize(absl::string_view text, int64_t least) {
  int64_t value = 0;
  const bool is_number =
      !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (!is_number) return Invalid("'", text, "' is not a size");
  if (!absl::SimpleAtoi(text, &value) || value > kMaxSize) return Invalid(text, " is too large");
  if (value < least) return Invalid(text, " is less than ", least);
  return value;
}

// Values of "n1c64h56w56" by letter.
using Fields = std::map<char, int64_t>;

// Parses one value per letter of `letters`. Letters that are also in `optional` may be missing.
// Padding p may be 0.
absl::StatusOr<Fields> ParseFields(absl::string_view text, absl::string_view letters,
                                   absl::string_view optional) {
  Fields fields;
  size_t at = 0;
  while (at < text.size()) {
    const char letter = text[at++];
    if (letters.find(letter) == absl::string_view::npos) {
      return Invalid("unknown letter '", std::string(1, letter), "'");
    }
    size_t end = at;
    while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
    auto size = ParseSize(text.substr(at, end - at), letter == 'p' ? 0 : 1);
    if (!size.ok()) return Invalid(std::string(1, letter), ": ", size.status().message());
    if (!fields.emplace(letter, *size).second) {
      return Invalid("'", std::string(1, letter), "' is given twice");
    }
    at = end;
  }
  for (const char letter : letters) {
    if (fields.count(letter) > 0 || optional.find(letter) != absl::string_view::npos) continue;
    return Invalid("'", std::string(1, letter), "' is missing");
  }
  return fields;
}

int64_t Get(const Fields& fields, char letter, int64_t otherwise) {
  const auto it = fields.find(letter);
  return it == fields.end() ? otherwise : it->second;
}

absl::StatusOr<std::vector<int64_t>> ParseDims(absl::string_view text) {
  std::vector<int64_t> dims;
  for (absl::string_view part : absl::StrSplit(text, 'x')) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t size, ParseSize(part, 1));
    dims.push_back(size);
  }
  return dims;
}

// Parses "axis1", which must be less than the rank; "all" returns -1 if `may_be_all`.
absl::StatusOr<int> ParseAxis(absl::string_view text, size_t rank, bool may_be_all = false) {
  if (may_be_all && text == "all") return -1;
  int axis = 0;
  if (text.substr(0, 4) != "axis" || !absl::SimpleAtoi(text.substr(4), &axis)) {
    return Invalid("'", text, "' is not an axis");
  }
  if (axis < 0 || axis >= static_cast<int>(rank)) {
    return Invalid("axis ", axis, " is out of range for rank ", rank);
  }
  return axis;
}

// The parts between colons, without the operator's name.
using Parts = std::vector<absl::string_view>;

absl::StatusOr<Operator> ParseMatmul(const Parts& parts) {
  TARTAN_ASSIGN_OR_RETURN(const Fields f, ParseFields(parts[0], "bmnk", "b"));
  return MatmulProblem{Get(f, 'b', 1), f.at('m'), f.at('n'), f.at('k'), DataType::kFloat32};
}

absl::StatusOr<Operator> ParseConvolution(const Parts& parts) {
  TARTAN_ASSIGN_OR_RETURN(const Fields f, ParseFields(parts[0], "nchwkrspgd", "spgd"));
  ConvolutionProblem p{f.at('n'), f.at('c'), f.at('h'), f.at('w'), f.at('k'), f.at('r')};
  p.stride = Get(f, 's', 1);
  p.padding = Get(f, 'p', 0);
  p.groups = Get(f, 'g', 1);
  p.dilation = Get(f, 'd', 1);
  if (p.channels % p.groups != 0 || p.outputs % p.groups != 0) {
    return Invalid("g", p.groups, " does not divide c", p.channels, " and k", p.outputs);
  }
  const int64_t extent = (p.kernel - 1) * p.dilation + 1;
  if (extent > p.height + 2 * p.padding || extent > p.width + 2 * p.padding) {
    return Invalid("the kernel is larger than the padded data");
  }
  return p;
}

absl::StatusOr<Operator> ParsePool(const Parts& parts) {
  if (parts[0] != "max" && parts[0] != "avg") return Invalid("'", parts[0], "' is not a pool");
  TARTAN_ASSIGN_OR_RETURN(const Fields f, ParseFields(parts[1], "nchwrsp", "sp"));
  PoolProblem p{parts[0] == "max" ? PoolKind::kMax : PoolKind::kAverage,
                f.at('n'),
                f.at('c'),
                f.at('h'),
                f.at('w'),
                f.at('r')};
  p.stride = Get(f, 's', 1);
  p.padding = Get(f, 'p', 0);
  if (p.kernel > p.height + 2 * p.padding || p.kernel > p.width + 2 * p.padding) {
    return Invalid("the window is larger than the padded data");
  }
  if (p.padding >= p.kernel)
    return Invalid("padding ", p.padding, " is not smaller than the window");
  return p;
}

absl::StatusOr<Operator> ParseReduce(const Parts& parts) {
  constexpr std::array<absl::string_view, 4> kKinds = {"sum", "mean", "max", "min"};
  const auto kind = std::find(kKinds.begin(), kKinds.end(), parts[0]);
  if (kind == kKinds.end()) return Invalid("'", parts[0], "' is not a reduction");
  ReduceProblem p{static_cast<ReduceKind>(kind - kKinds.begin()), {}};
  TARTAN_ASSIGN_OR_RETURN(p.dims, ParseDims(parts[1]));
  TARTAN_ASSIGN_OR_RETURN(p.axis, ParseAxis(parts[2], p.dims.size(), true));
  return p;
}

absl::StatusOr<Operator> ParseSoftmax(const Parts& parts) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<int64_t> dims, ParseDims(parts[0]));
  return SoftmaxProblem{std::move(dims)};
}

absl::StatusOr<Operator> ParseLayerNorm(const Parts& parts) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<int64_t> dims, ParseDims(parts[0]));
  return LayerNormProblem{std::move(dims)};
}

absl::StatusOr<Operator> ParseTranspose(const Parts& parts) {
  TransposeProblem p;
  TARTAN_ASSIGN_OR_RETURN(p.dims, ParseDims(parts[0]));
  for (const char digit : parts[1]) p.order.push_back(digit - '0');
  std::vector<int> sorted = p.order;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = sorted.size() == p.dims.size();
  for (size_t i = 0; is_permutation && i < sorted.size(); ++i) {
    is_permutation = sorted[i] == static_cast<int>(i);
  }
  if (!is_permutation)
    return Invalid("'", parts[1], "' is not an order of ", p.dims.size(), " axes");
  return p;
}

absl::StatusOr<Operator> ParseElementwise(const Parts& parts) {
  const std::vector<std::string> known = ElementwiseFunctions();
  if (std::find(known.begin(), known.end(), parts[0]) == known.end()) {
    return Invalid("there is no function '", parts[0], "'; choose one of ",
                   absl::StrJoin(known, ", "));
  }
  TARTAN_ASSIGN_OR_RETURN(std::vector<int64_t> dims, ParseDims(parts[1]));
  return ElementwiseProblem{std::string(parts[0]), std::move(dims)};
}

absl::StatusOr<Operator> ParseGather(const Parts& parts) {
  GatherProblem p;
  TARTAN_ASSIGN_OR_RETURN(p.dims, ParseDims(parts[0]));
  TARTAN_ASSIGN_OR_RETURN(p.axis, ParseAxis(parts[1], p.dims.size()));
  TARTAN_ASSIGN_OR_RETURN(const Fields f, ParseFields(parts[2], "i", ""));
  p.count = f.at('i');
  return p;
}

absl::StatusOr<Operator> ParseScatter(const Parts& parts) {
  if (parts[0] != "add" && parts[0] != "assign")
    return Invalid("'", parts[0], "' is not a scatter");
  ScatterProblem p{parts[0] == "add", {}};
  TARTAN_ASSIGN_OR_RETURN(p.dims, ParseDims(parts[1]));
  TARTAN_ASSIGN_OR_RETURN(const Fields f, ParseFields(parts[2], "i", ""));
  p.count = f.at('i');
  return p;
}

absl::StatusOr<Operator> ParseSort(const Parts& parts) {
  SortProblem p;
  TARTAN_ASSIGN_OR_RETURN(p.dims, ParseDims(parts[0]));
  TARTAN_ASSIGN_OR_RETURN(p.axis, ParseAxis(parts[1], p.dims.size()));
  return p;
}

struct Form {
  absl::string_view name;
  absl::string_view shown;
  size_t parts;
  absl::StatusOr<Operator> (*parse)(const Parts&);
  bool has_gradient;
  bool has_weights;
};

constexpr Form kForms[] = {
    {"matmul", "matmul:[b12]m128n128k64[:bfloat16|:float16]", 1, ParseMatmul, true, true},
    {"conv", "conv:n1c64h56w56k64r3[s1][p1][g64][d2][:nhwc][:direct|:winograd]", 1,
     ParseConvolution, true, true},
    {"pool", "pool:max|avg:n1c64h112w112r3[s2][p1]", 2, ParsePool, true, false},
    {"reduce", "reduce:sum|mean|max|min:1024x1024:axis1|all", 3, ParseReduce, true, false},
    {"softmax", "softmax:128x1024", 1, ParseSoftmax, true, false},
    {"layernorm", "layernorm:128x768", 1, ParseLayerNorm, true, true},
    {"transpose", "transpose:64x128x256:201", 2, ParseTranspose, true, false},
    {"eltwise", "eltwise:gelu:1048576", 2, ParseElementwise, true, false},
    {"gather", "gather:30522x768:axis0:i128", 3, ParseGather, true, false},
    {"scatter", "scatter:add|assign:30522x768:i128", 3, ParseScatter, false, false},
    {"sort", "sort:64x1024:axis1", 2, ParseSort, true, false},
};

std::string Expected(const Form& form) {
  return absl::StrCat(form.shown, form.has_weights    ? "[:bwd_data|:bwd_weights]"
                                  : form.has_gradient ? "[:bwd_data]"
                                                      : "");
}

const Form* FindForm(absl::string_view name) {
  for (const Form& form : kForms) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

absl::StatusOr<Direction> ParseDirection(absl::string_view text, const Form& form) {
  if (text == "bwd_data" && form.has_gradient) return Direction::kBackwardData;
  if (text == "bwd_weights" && form.has_weights) return Direction::kBackwardWeights;
  return Invalid("unknown modifier ':", text, "'");
}

// Sets the algorithm that the modifier names, if it names one and none is set yet; returns whether
// it did.
bool TakeAlgorithm(absl::string_view modifier, ConvolutionProblem* problem) {
  if (problem->algorithm != ConvolutionAlgorithm::kChosen) return false;
  if (modifier == "direct") problem->algorithm = ConvolutionAlgorithm::kDirect;
  if (modifier == "winograd") problem->algorithm = ConvolutionAlgorithm::kWinograd;
  return problem->algorithm != ConvolutionAlgorithm::kChosen;
}

absl::StatusOr<Problem> ParseWithForm(const Form& form, Parts parts) {
  Problem problem;
  Parts modifiers;
  if (parts.size() > form.parts) {
    modifiers.assign(parts.begin() + form.parts, parts.end());
    parts.resize(form.parts);
  }
  if (parts.size() < form.parts) return Invalid("a part is missing");
  TARTAN_ASSIGN_OR_RETURN(problem.op, form.parse(parts));
  auto* convolution = std::get_if<ConvolutionProblem>(&problem.op);
  auto* matmul = std::get_if<MatmulProblem>(&problem.op);
  for (size_t i = 0; i < modifiers.size(); ++i) {
    if (convolution != nullptr && i == 0 && modifiers[i] == "nhwc") {
      convolution->channels_last = true;
    } else if (matmul != nullptr && i == 0 && modifiers[i] == "bfloat16") {
      matmul->type = DataType::kBFloat16;
    } else if (matmul != nullptr && i == 0 && modifiers[i] == "float16") {
      matmul->type = DataType::kFloat16;
    } else if (convolution != nullptr && problem.direction == Direction::kForward &&
               TakeAlgorithm(modifiers[i], convolution)) {
      continue;
    } else if (problem.direction != Direction::kForward) {
      return Invalid("unexpected text after the direction: ':", modifiers[i], "'");
    } else {
      TARTAN_ASSIGN_OR_RETURN(problem.direction, ParseDirection(modifiers[i], form));
    }
  }
  return problem;
}

}  // namespace

absl::StatusOr<Problem> ParseProblem(absl::string_view spec) {
  Parts parts = absl::StrSplit(spec, ':');
  const Form* form = FindForm(parts[0]);
  if (form == nullptr) {
    return Invalid(spec, ": there is no operator '", parts[0], "'; choose one of ",
                   absl::StrJoin(kForms, ", ", [](std::string* out, const Form& known) {
                     absl::StrAppend(out, known.name);
                   }));
  }
  parts.erase(parts.begin());
  absl::StatusOr<Problem> problem = ParseWithForm(*form, std::move(parts));
  if (problem.ok()) {
    problem->spec = std::string(spec);
    if (absl::Status status = CheckSizes(*problem); !status.ok()) problem = status;
  }
  if (problem.ok()) return problem;
  return Invalid(spec, ": ", problem.status().message(), "; expected ", Expected(*form));
}

absl::StatusOr<std::vector<ProblemSection>> ParseProblemList(absl::string_view text,
                                                             absl::string_view file) {
  std::vector<ProblemSection> sections(1);
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, "##")) {
      if (!sections.back().problems.empty()) sections.emplace_back();
      sections.back().heading = std::string(absl::StripAsciiWhitespace(line));
      continue;
    }
    if (line.empty() || line[0] == '#') continue;
    absl::StatusOr<Problem> problem = ParseProblem(line);
    if (!problem.ok()) return Invalid(file, ":", number, ": ", problem.status().message());
    sections.back().problems.push_back(*std::move(problem));
  }
  if (sections.back().problems.empty()) sections.pop_back();
  return sections;
}

}  // namespace tartan::bench
