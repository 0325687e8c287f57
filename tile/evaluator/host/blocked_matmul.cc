// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/blocked_matmul.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tartan::evaluator {
namespace {

// A tile of sums, which fits the registers of every x86-64 processor.
constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 8;
// Terms that are added in float32.
constexpr int64_t kMaxTerms = 256;

int64_t RoundUp(int64_t count, int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// Cost model of one core, in ns; empirical.
constexpr double kBlockNs = 60;     // starting a block
constexpr double kProductNs = 0.1;  // a multiplication and an addition

// Converting an element of a factor, or adding an element of a tile to the result. Adjacent
// elements are converted in vectors, and distant ones wait for memory.
double ElementNs(int64_t step) {
  if (step == 1) return 0.6;
  return step < 8 ? 1.5 : 3;
}

// The loops of a block; `rows` and `terms` may be absent.
constexpr size_t kNone = ~size_t{0};
struct Roles {
  size_t terms = kNone;
  size_t rows = kNone;
  size_t columns = kNone;
  size_t row_place = 1;  // of the factor with rows

  size_t column_place() const { return 3 - row_place; }
  bool Has(size_t loop) const { return loop == terms || loop == rows || loop == columns; }
};

class Selection {
 public:
  Selection(const std::vector<HostLoop>& loops, const std::vector<HostCondition>& conditions)
      : loops_(loops), conditions_(conditions) {}

  // Each condition may restrict one loop of the block, so that bounds depend on outer loops only.
  bool IsSuitable(const Roles& roles) const {
    return std::all_of(conditions_.begin(), conditions_.end(), [&](const HostCondition& condition) {
      int inner = 0;
      for (size_t l = 0; l < loops_.size(); ++l) {
        if (condition.coefficients[l] != 0 && roles.Has(l)) ++inner;
      }
      return inner <= 1;
    });
  }

  // Returns whether the columns' factor in a block, or the part of it, depends on an outer loop.
  bool MovesColumns(const Roles& roles, size_t loop) const {
    if (loops_[loop].steps[roles.column_place()] != 0) return true;
    return std::any_of(conditions_.begin(), conditions_.end(), [&](const HostCondition& condition) {
      const auto restricts = [&](size_t l) { return l != kNone && condition.coefficients[l] != 0; };
      return restricts(loop) && (restricts(roles.terms) || restricts(roles.columns));
    });
  }

  double Nanoseconds(const Roles& roles) const {
    const auto terms = static_cast<double>(RangeOf(roles.terms));
    const auto rows = static_cast<double>(RoundUp(RangeOf(roles.rows), kRows));
    const auto columns = static_cast<double>(RoundUp(RangeOf(roles.columns), kColumns));
    double blocks = 1;
    double packs = 1;
    for (size_t l = 0; l < loops_.size(); ++l) {
      if (roles.Has(l)) continue;
      blocks *= static_cast<double>(loops_[l].range);
      if (MovesColumns(roles, l)) packs *= static_cast<double>(loops_[l].range);
    }
    if (terms > kMaxTerms) packs = blocks;
    const double pack_rows_ns = terms * rows * ElementNs(StepOf(roles.rows, roles.row_place));
    const double pack_columns_ns =
        terms * columns * ElementNs(StepOf(roles.columns, roles.column_place()));
    const double sums_ns = rows * columns * ElementNs(StepOf(roles.columns, 0));
    return packs * pack_columns_ns +
           blocks * (kBlockNs + kProductNs * terms * rows * columns + pack_rows_ns + sums_ns);
  }

 private:
  int64_t StepOf(size_t loop, size_t place) const {
    return loop == kNone ? 1 : std::abs(loops_[loop].steps[place]);
  }
  int64_t RangeOf(size_t loop) const { return loop == kNone ? 1 : loops_[loop].range; }

  const std::vector<HostLoop>& loops_;
  const std::vector<HostCondition>& conditions_;
};

// Element (row, term) or (term, column) of a factor.
struct Factor {
  const double* elements;
  int64_t term_step;
  int64_t other_step;
};

// Converts a block to float32: for each group of `width` rows or columns, term by term. The last
// group is completed with zeros.
template <int64_t width>
void Pack(const Factor& factor, int64_t terms, int64_t count, std::vector<float>& packed) {
  packed.resize(static_cast<size_t>(terms * RoundUp(count, width)));
  float* to = packed.data();
  const int64_t step = factor.other_step;
  for (int64_t first = 0; first < count; first += width) {
    const int64_t present = std::min(width, count - first);
    const double* from = factor.elements + first * step;
    const auto pack = [&](const auto& convert) {
      for (int64_t t = 0; t < terms; ++t, from += factor.term_step, to += width) convert(from, to);
    };
    if (present < width) {
      pack([=](const double* a, float* b) {
        for (int64_t i = 0; i < present; ++i) b[i] = static_cast<float>(a[i * step]);
        std::fill(b + present, b + width, 0.0F);
      });
    } else if (step == 1) {  // the compiler vectorizes it
      pack([](const double* a, float* b) {
        for (int64_t i = 0; i < width; ++i) b[i] = static_cast<float>(a[i]);
      });
    } else {
      pack([=](const double* a, float* b) {
        for (int64_t i = 0; i < width; ++i) b[i] = static_cast<float>(a[i * step]);
      });
    }
  }
}

// Sums begin with -0.0, which keeps the sign of zeros.
void SumTile(const float* rows, const float* columns, int64_t terms, float* sums) {
  float sum[kRows][kColumns];
  for (auto& row : sum) std::fill(std::begin(row), std::end(row), -0.0F);
  for (int64_t t = 0; t < terms; ++t) {
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        sum[r][c] += rows[t * kRows + r] * columns[t * kColumns + c];
      }
    }
  }
  for (int64_t r = 0; r < kRows; ++r) std::copy_n(sum[r], kColumns, sums + r * kColumns);
}

// The packed factors of a block.
struct PackedBlock {
  std::vector<float> rows;
  std::vector<float> columns;
  int64_t terms = 0;
};

struct ResultBlock {
  double* elements;
  int64_t row_step;
  int64_t column_step;
  int64_t rows;
  int64_t columns;
};

void AddRow(const float* sums, int64_t count, int64_t step, double* to) {
  if (count == kColumns && step == 1) {  // the compiler vectorizes it
    for (int64_t j = 0; j < kColumns; ++j) to[j] += sums[j];
  } else {
    for (int64_t j = 0; j < count; ++j) to[j * step] += sums[j];
  }
}

void AddTiles(const PackedBlock& packed, const ResultBlock& to) {
  float sums[kRows * kColumns];
  for (int64_t r = 0; r < to.rows; r += kRows) {
    const int64_t rows = std::min(kRows, to.rows - r);
    for (int64_t c = 0; c < to.columns; c += kColumns) {
      const int64_t columns = std::min(kColumns, to.columns - c);
      SumTile(packed.rows.data() + r * packed.terms, packed.columns.data() + c * packed.terms,
              packed.terms, sums);
      double* const tile = to.elements + r * to.row_step + c * to.column_step;
      for (int64_t i = 0; i < rows; ++i) {
        AddRow(sums + i * kColumns, columns, to.column_step, tile + i * to.row_step);
      }
    }
  }
}

std::optional<Roles> SelectRoles(const Selection& selection, const std::vector<HostLoop>& loops,
                                 size_t outputs) {
  std::optional<Roles> best;
  double best_ns = 0;
  const auto consider = [&](const Roles& roles) {
    if (!selection.IsSuitable(roles)) return;
    const double ns = selection.Nanoseconds(roles);
    if (best.has_value() && ns >= best_ns) return;
    best = roles;
    best_ns = ns;
  };
  for (Roles roles; roles.row_place <= 2; ++roles.row_place) {
    const auto belongs_to = [&](size_t loop, size_t place) {
      return loops[loop].steps[place] != 0 && loops[loop].steps[3 - place] == 0;
    };
    for (roles.columns = 0; roles.columns < outputs; ++roles.columns) {
      if (!belongs_to(roles.columns, roles.column_place())) continue;
      for (roles.terms = outputs; roles.terms < loops.size(); ++roles.terms) {
        roles.rows = kNone;
        consider(roles);
        for (roles.rows = 0; roles.rows < outputs; ++roles.rows) {
          if (belongs_to(roles.rows, roles.row_place)) consider(roles);
        }
      }
    }
  }
  return best;
}

// The loop of the result with the most tiles; `ordered` are the loops in this order.
DivisibleLoop SelectDivisible(const std::vector<size_t>& order, size_t outputs,
                              const std::vector<HostLoop>& ordered) {
  DivisibleLoop best = {order.size(), 1};
  int64_t most = 1;
  for (size_t l = 0; l < order.size(); ++l) {
    if (order[l] >= outputs) continue;  // a sum's terms, or no loop
    const int64_t multiple = l + 1 == order.size() ? kColumns : l + 2 == order.size() ? kRows : 1;
    const int64_t tiles = RoundUp(ordered[l].range, multiple) / multiple;
    if (tiles <= most) continue;
    most = tiles;
    best = {l, multiple};
  }
  return best;
}

}  // namespace

std::optional<BlockedMatmul> BlockedMatmul::Create(const Places& start,
                                                   const std::vector<HostLoop>& loops,
                                                   size_t outputs,
                                                   const std::vector<HostCondition>& conditions) {
  const Selection selection(loops, conditions);
  const std::optional<Roles> roles = SelectRoles(selection, loops, outputs);
  if (!roles.has_value()) return std::nullopt;
  // Columns stay packed while the innermost of the outer loops do not move them.
  std::vector<size_t> order;
  for (const bool moves : {true, false}) {
    for (size_t l = 0; l < loops.size(); ++l) {
      if (!roles->Has(l) && selection.MovesColumns(*roles, l) == moves) order.push_back(l);
    }
  }
  for (const size_t l : {roles->terms, roles->rows, roles->columns}) order.push_back(l);
  std::vector<HostLoop> ordered;
  for (const size_t l : order) ordered.push_back(l == kNone ? HostLoop{1, {}} : loops[l]);
  std::vector<HostCondition> restrictions = conditions;
  for (HostCondition& condition : restrictions) {
    std::vector<int64_t> coefficients;
    for (const size_t l : order) {
      coefficients.push_back(l == kNone ? 0 : condition.coefficients[l]);
    }
    condition.coefficients = std::move(coefficients);
  }
  const DivisibleLoop divisible = SelectDivisible(order, outputs, ordered);
  return BlockedMatmul(LoopNest(start, std::move(ordered), std::move(restrictions)), divisible,
                       static_cast<int>(roles->row_place) - 1, selection.Nanoseconds(*roles));
}

void BlockedMatmul::Add(const double* const factors[2], double* result) const {
  VisitInParts(nest_, divisible_, nanoseconds_,
               [&](const LoopNest& part) { AddPart(part, factors, result); });
}

void BlockedMatmul::AddPart(const LoopNest& nest, const double* const factors[2],
                            double* result) const {
  const size_t row_place = static_cast<size_t>(row_factor_) + 1;
  const size_t column_place = 3 - row_place;
  const auto& loops = nest_.loops();
  const Places& term = loops[loops.size() - 3].steps;
  const Places& row = loops[loops.size() - 2].steps;
  const Places& column = loops[loops.size() - 1].steps;
  PackedBlock packed;
  std::array<int64_t, 3> of_columns = {-1, 0, 0};  // the packed columns: place, terms, columns
  nest.ForEachBlock<3>([&](const Places& at, const std::array<int64_t, 3>& counts) {
    for (int64_t first = 0; first < counts[0]; first += kMaxTerms) {
      packed.terms = std::min(kMaxTerms, counts[0] - first);
      const auto place = [&](size_t p) { return at[p] + first * term[p]; };
      Pack<kRows>({factors[row_place - 1] + place(row_place), term[row_place], row[row_place]},
                  packed.terms, counts[1], packed.rows);
      const std::array<int64_t, 3> wanted = {place(column_place), packed.terms, counts[2]};
      if (wanted != of_columns) {
        Pack<kColumns>({factors[column_place - 1] + place(column_place), term[column_place],
                        column[column_place]},
                       packed.terms, counts[2], packed.columns);
        of_columns = wanted;
      }
      AddTiles(packed, {result + at[0], row[0], column[0], counts[1], counts[2]});
    }
  });
}

}  // namespace tartan::evaluator
