// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/mma_operand.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

ExprPtr Both(const ExprPtr& a, const ExprPtr& b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : loop::And(a, b);
}

}  // namespace

std::vector<ExprPtr> Digits(const poly::FlatContraction& flat, const std::vector<int>& indices,
                            const ExprPtr& number, DataType index_type) {
  std::vector<ExprPtr> values(indices.size());
  ExprPtr rest = number;
  for (size_t d = indices.size(); d-- > 0;) {
    const ExprPtr range = loop::Int(flat.indices[indices[d]].range, index_type);
    values[d] = d == 0 ? rest : loop::Mod(rest, range);
    rest = loop::Div(rest, range);
  }
  return values;
}

MmaOperandLoader::MmaOperandLoader(const poly::FlatContraction& flat, const plan::MatrixPlan& plan,
                                   const plan::MatrixOperand& operand, std::string name,
                                   const std::vector<int>& rows, MatrixTile tile,
                                   std::vector<ExprPtr> batch_values, int64_t begin,
                                   DataType index_type)
    : IndexBuilder(index_type),
      flat_(flat),
      plan_(plan),
      operand_(operand),
      name_(std::move(name)),
      rows_(rows),
      tile_(tile),
      batch_values_(std::move(batch_values)),
      begin_(begin) {
  const poly::TensorAccess& read = flat.accesses[operand.access];
  const TensorShape& shape = flat.tensors[read.tensor].shape;
  buffer_ = absl::StrCat("in", read.tensor);
  stored_ = shape.type;
  access_ = poly::AsAffine(poly::Flatten(flat, operand.access));
}

std::string MmaOperandLoader::Name(const char* what, int64_t round) const {
  return absl::StrCat(name_, "_", what, round);
}

int64_t MmaOperandLoader::VectorCount() const {
  return plan_.slices * tile_.size() / tile_.vector();
}

int64_t MmaOperandLoader::RoundCount() const {
  return (VectorCount() + plan_.threads() - 1) / plan_.threads();
}

ExprPtr MmaOperandLoader::Begin(const ExprPtr& stage) const {
  return loop::Add(loop::Mul(stage, Number(plan_.stage_size())),
                   Number(plan_.resident_size() + begin_));
}

MmaOperandLoader::Vector MmaOperandLoader::VectorOf(int64_t round) const {
  constexpr int64_t kVectors = MatrixTile::kVectors;
  const int64_t v = tile_.vector();
  const ExprPtr item = Var("item");
  const ExprPtr number = loop::Add(item, Number(round * plan_.threads()));
  // A digit of the vector's number: `number / below % count`; count 0: the quotient alone. If the
  // work-group size is a multiple of below * count, the digit depends on the work-item alone.
  const auto digit = [&](int64_t below, int64_t count) {
    if (plan_.threads() % (below * std::max<int64_t>(count, 1)) == 0) {
      const ExprPtr own = loop::Div(item, Number(below));
      return count == 0 ? loop::Add(own, Number(round * plan_.threads() / below))
                        : loop::Mod(own, Number(count));
    }
    const ExprPtr digits = loop::Div(number, Number(below));
    return count == 0 ? digits : loop::Mod(digits, Number(count));
  };
  const auto times = [&](const ExprPtr& value, int64_t factor) {
    return loop::Mul(value, Number(factor));
  };
  Vector vector;
  const bool is_sliced = plan_.slices > 1;
  const int64_t lines = tile_.size() / tile_.line();
  ExprPtr line, in_line, slice;  // the vector's line, its number there, and the line's slice
  if (operand_.spreads_rows) {
    line = digit(1, lines);
    in_line = digit(lines, is_sliced ? kVectors : 0);
  } else {
    line = digit(kVectors, is_sliced ? lines : 0);
    in_line = digit(1, kVectors);
  }
  slice = is_sliced ? digit(lines * kVectors, 0) : Number(0);
  if (tile_.along_rows) {
    // Lines of the same 64 rows are consecutive.
    const ExprPtr rows = loop::Div(line, Number(tile_.depth()));
    vector.row = loop::Add(times(rows, tile_.line()), times(in_line, v));
    vector.k = loop::Mod(line, Number(tile_.depth()));
  } else {
    vector.row = line;
    vector.k = times(in_line, v);
  }
  const ExprPtr swapped = loop::ApplyOp(
      ScalarOp::kBitXor, {in_line, loop::Mod(times(line, tile_.swizzle()), Number(kVectors))});
  vector.place = loop::Add(loop::Add(times(line, tile_.line()), times(swapped, v)),
                           times(slice, plan_.slice_size()));
  vector.k = loop::Add(vector.k, times(slice, tile_.depth()));
  if ((round + 1) * plan_.threads() > VectorCount()) {
    vector.exists = loop::Less(number, Number(VectorCount()));
  }
  return vector;
}

bool MmaOperandLoader::KIsShared() const {
  // Along rows, the work-items load all K positions of as many rows in each round.
  const bool are_whole = plan_.threads() % (MatrixTile::kVectors * tile_.depth()) == 0;
  return !operand_.spreads_rows && (!tile_.along_rows || are_whole) && plan_.slices == 1;
}

ExprPtr MmaOperandLoader::Part(const math::Affine& poly, const std::vector<int>& indices,
                               const std::vector<ExprPtr>& values) const {
  ExprPtr sum = Number(0);
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t coefficient = poly.coefficient(indices[i]).numerator();
    sum = loop::Add(sum, loop::Mul(values[i], Number(coefficient)));
  }
  return sum;
}

std::vector<StmtPtr> MmaOperandLoader::DeclareRows(const ExprPtr& base) const {
  std::vector<StmtPtr> statements;
  const auto declare = [&](const std::string& name, ExprPtr value) {
    statements.push_back(loop::MakeDeclare({index_type_, 1}, name, std::move(value)));
  };
  const int64_t count = plan::CountOf(flat_, rows_);
  for (int64_t round = 0; round < RoundCount(); ++round) {
    ExprPtr row = loop::Add(base, VectorOf(round).row);
    // Rows past the last one repeat another row; their results are not stored.
    const int64_t step = tile_.along_rows ? tile_.vector() : 1;
    const int64_t last = (count - 1) / step * step;
    if (count % tile_.rows != 0) row = loop::Min(std::move(row), Number(last));
    declare(Name("row", round), row);
    const std::vector<ExprPtr> digits = Digits(flat_, rows_, Var(Name("row", round)), index_type_);
    const auto whole = [&](const math::Affine& poly) {
      return loop::Add(loop::Add(Part(poly, rows_, digits), Part(poly, plan_.batch, batch_values_)),
                       Number(poly.constant.numerator()));
    };
    declare(Name("from", round), whole(access_));
    for (int c : operand_.constraints) {
      declare(absl::StrCat(Name("bound", round), "_", c), whole(flat_.constraints[c].poly));
    }
  }
  return statements;
}

void MmaOperandLoader::DeclareK(const ExprPtr& number, const std::string& suffix,
                                std::vector<StmtPtr>* statements) const {
  const auto declare = [&](const std::string& what, ExprPtr value) {
    statements->push_back(loop::MakeDeclare(
        {index_type_, 1}, absl::StrCat(name_, "_", what, suffix), std::move(value)));
  };
  declare("k", number);
  const std::vector<ExprPtr> digits =
      Digits(flat_, plan_.reduced, Var(absl::StrCat(name_, "_k", suffix)), index_type_);
  declare("further", Part(access_, plan_.reduced, digits));
  for (int c : operand_.constraints) {
    declare(absl::StrCat("bound", c), Part(flat_.constraints[c].poly, plan_.reduced, digits));
  }
}

MmaOperandLoader::Source MmaOperandLoader::SourceOf(int64_t round,
                                                    const std::string& suffix) const {
  Source source;
  // If there are fewer vectors than work-items, the others skip a copy, but loads are
  // unconditional.
  if (!operand_.is_copied) source.valid = VectorOf(round).exists;
  const int64_t k_size = plan::CountOf(flat_, plan_.reduced);
  if (k_size % plan_.step_k() != 0) {
    const ExprPtr is_there = loop::Less(Var(absl::StrCat(name_, "_k", suffix)), Number(k_size));
    source.valid = Both(source.valid, is_there);
  }
  for (int c : operand_.constraints) {
    const ExprPtr bound = loop::Add(Var(absl::StrCat(Name("bound", round), "_", c)),
                                    Var(absl::StrCat(name_, "_bound", c, suffix)));
    source.valid = Both(source.valid, loop::LessEqual(Number(0), bound));
    source.valid = Both(source.valid, loop::Less(bound, Number(flat_.constraints[c].range)));
  }
  source.from = loop::Add(Var(Name("from", round)), Var(absl::StrCat(name_, "_further", suffix)));
  if (source.valid != nullptr) {
    source.from = loop::Select(source.valid, source.from, Number(0));
  }
  return source;
}

std::string MmaOperandLoader::KSuffix(int64_t round) const {
  return absl::StrCat("_at", KIsShared() ? 0 : round);
}

void MmaOperandLoader::DeclareKs(const ExprPtr& step, std::vector<StmtPtr>* statements) const {
  const ExprPtr base = loop::Mul(step, Number(plan_.step_k()));
  const int64_t rounds = KIsShared() ? 1 : RoundCount();
  for (int64_t round = 0; round < rounds; ++round) {
    DeclareK(loop::Add(base, VectorOf(round).k), KSuffix(round), statements);
  }
}

std::vector<StmtPtr> MmaOperandLoader::Copy(const ExprPtr& step, const ExprPtr& stage) const {
  std::vector<StmtPtr> statements;
  DeclareKs(step, &statements);
  const auto lanes = static_cast<int>(tile_.vector());
  const ExprPtr begin = Begin(stage);
  for (int64_t round = 0; round < RoundCount(); ++round) {
    const Vector vector = VectorOf(round);
    const Source source = SourceOf(round, KSuffix(round));
    ExprPtr count;
    if (source.valid != nullptr || operand_.has_tail) {
      count = Number(lanes);
      if (operand_.has_tail) {
        const ExprPtr first =
            Var(tile_.along_rows ? Name("row", round) : absl::StrCat(name_, "_k", KSuffix(round)));
        const std::vector<int>& along = tile_.along_rows ? rows_ : plan_.reduced;
        count = loop::Min(count, loop::Sub(Number(plan::CountOf(flat_, along)), first));
      }
      if (source.valid != nullptr) {
        count = loop::Select(source.valid, std::move(count), Number(0));
      }
    }
    StmtPtr copy = loop::MakeCopyVector(
        loop::LoadFrom("tiles", stored_, loop::Add(begin, vector.place), lanes, true),
        loop::LoadFrom(buffer_, stored_, source.from, lanes, true), std::move(count));
    statements.push_back(vector.exists == nullptr ? copy : loop::MakeIf(vector.exists, copy));
  }
  return statements;
}

std::vector<StmtPtr> MmaOperandLoader::Round(const ExprPtr& stage,
                                             const std::string& suffix) const {
  // All loads precede the first store, because compilers cannot prove that the addresses differ.
  std::vector<StmtPtr> loads, stores;
  const auto lanes = static_cast<int>(tile_.vector());
  const ExprPtr begin = Begin(stage);
  for (int64_t round = 0; round < RoundCount(); ++round) {
    const Vector vector = VectorOf(round);
    const ExprPtr place = loop::Add(begin, vector.place);
    ExprPtr copied = loop::LoadFrom("tiles", stored_, place, lanes, true);
    if (vector.exists == nullptr) {
      const loop::Type type = copied->type;
      const std::string name = absl::StrCat(Name("copied", round), suffix);
      loads.push_back(loop::MakeDeclare(type, name, std::move(copied)));
      copied = loop::Var(name, type);
    }
    StmtPtr put = loop::MakeTileStore("tiles", tile_.format, place, std::move(copied));
    stores.push_back(vector.exists == nullptr ? put : loop::MakeIf(vector.exists, put));
  }
  loads.insert(loads.end(), stores.begin(), stores.end());
  return loads;
}

std::vector<StmtPtr> MmaOperandLoader::DeclareNext() const {
  const auto lanes = static_cast<int>(tile_.vector());
  return {loop::MakeArray({DataType::kFloat32, lanes}, absl::StrCat(name_, "_next"), RoundCount())};
}

ExprPtr MmaOperandLoader::FetchVector(int64_t round, const ExprPtr& base,
                                      std::vector<StmtPtr>* statements) const {
  const auto lanes = static_cast<int>(tile_.vector());
  // Loads unconditionally: a compiler would turn a conditional load into a branch, and wait in it.
  const auto read = [&](const Source& source, int count, const std::string& name) {
    const ExprPtr value = loop::LoadFrom(buffer_, stored_, source.from, count, count > 1);
    if (source.valid == nullptr) return value;
    statements->push_back(loop::MakeDeclare(value->type, name, value));
    return loop::Select(source.valid, loop::Var(name, value->type),
                        loop::Splat(loop::Float(0), count));
  };
  if (operand_.loads_vectors) {
    return read(SourceOf(round, KSuffix(round)), lanes, Name("read", round));
  }
  const std::string array = Name("lanes", round);
  statements->push_back(loop::MakeArray({DataType::kFloat32, 1}, array, lanes));
  for (int lane = 0; lane < lanes; ++lane) {
    const std::string suffix = absl::StrCat(KSuffix(KIsShared() ? 0 : round), "_", lane);
    if (round == 0 || !KIsShared()) {
      DeclareK(loop::Add(loop::Add(base, VectorOf(round).k), Number(lane)), suffix, statements);
    }
    const ExprPtr value =
        read(SourceOf(round, suffix), 1, absl::StrCat(Name("read", round), "_", lane));
    statements->push_back(loop::MakeStore(array, DataType::kFloat32, Number(lane), value));
  }
  return loop::LoadFrom(array, DataType::kFloat32, Number(0), lanes);
}

std::vector<StmtPtr> MmaOperandLoader::Fetch(const ExprPtr& step) const {
  std::vector<StmtPtr> statements;
  const ExprPtr base = loop::Mul(step, Number(plan_.step_k()));
  if (operand_.loads_vectors) DeclareKs(step, &statements);
  for (int64_t round = 0; round < RoundCount(); ++round) {
    const ExprPtr value = FetchVector(round, base, &statements);
    statements.push_back(
        loop::MakeStore(absl::StrCat(name_, "_next"), DataType::kFloat32, Number(round), value));
  }
  return statements;
}

std::vector<StmtPtr> MmaOperandLoader::Put(const ExprPtr& stage) const {
  std::vector<StmtPtr> statements;
  const auto lanes = static_cast<int>(tile_.vector());
  const ExprPtr begin = Begin(stage);
  for (int64_t round = 0; round < RoundCount(); ++round) {
    const Vector vector = VectorOf(round);
    const ExprPtr value =
        loop::LoadFrom(absl::StrCat(name_, "_next"), DataType::kFloat32, Number(round), lanes);
    StmtPtr put = loop::MakeTileStore("tiles", tile_.format, loop::Add(begin, vector.place), value);
    statements.push_back(vector.exists == nullptr ? put : loop::MakeIf(vector.exists, put));
  }
  return statements;
}

}  // namespace tartan::lower
