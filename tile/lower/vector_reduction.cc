#include "tile/lower/vector_reduction.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"

namespace tartan::lower {
namespace {

using sem::ExprPtr;
using sem::StmtPtr;

class Reducer {
 public:
  explicit Reducer(const VectorContext& context)
      : flat_(context.flat), plan_(context.plan), context_(context) {
    blocks_ = plan_.block_index >= 0 ? plan_.tile[plan_.block_index] : 1;
    vectors_ = plan_.vector_reduced ? 1 : plan_.tile[plan_.register_index] / plan_.lanes;
  }

  std::vector<StmtPtr> Run() {
    std::vector<StmtPtr> statements;
    ForEachAccumulator([&](int64_t block, int64_t vector) {
      statements.push_back(sem::MakeDeclare(
          VectorType(), Name(block, vector),
          sem::Splat(sem::Float(0, DataType::kFloat32), plan_.lanes), true));
    });
    if (HasTail()) {
      for (int64_t block = 0; block < blocks_; ++block) {
        statements.push_back(sem::MakeDeclare(ScalarType(), TailName(block),
                                              sem::Float(0, DataType::kFloat32), true));
      }
    }
    statements.push_back(Loops(flat_.output_index_count));
    const int64_t size = plan_.vector_reduced ? blocks_ : blocks_ * vectors_ * plan_.lanes;
    statements.push_back(sem::MakeArray(ScalarType(), "acc", size));
    ForEachAccumulator([&](int64_t block, int64_t vector) {
      const ExprPtr sum = sem::Var(Name(block, vector), VectorType());
      const int64_t at =
          plan_.vector_reduced ? block : (block * vectors_ + vector) * plan_.lanes;
      statements.push_back(sem::MakeStore("acc", DataType::kFloat32, context_.indices.Number(at),
                                          plan_.vector_reduced ? Total(block, sum) : sum));
    });
    return statements;
  }

 private:
  sem::Type ScalarType() const { return {DataType::kFloat32, 1}; }
  sem::Type VectorType() const { return {DataType::kFloat32, plan_.lanes}; }
  static std::string Name(int64_t block, int64_t vector) {
    return absl::StrCat("sum", block, "_", vector);
  }
  static std::string TailName(int64_t block) { return absl::StrCat("tail", block); }
  int last() const { return static_cast<int>(flat_.indices.size()) - 1; }

  // Along a reduced index the elements that fill no vector are added one by one.
  bool HasTail() const {
    return plan_.vector_reduced && flat_.indices[last()].range % plan_.lanes != 0;
  }

  template <class F>
  void ForEachAccumulator(F visit) const {
    for (int64_t block = 0; block < blocks_; ++block) {
      for (int64_t vector = 0; vector < vectors_; ++vector) visit(block, vector);
    }
  }

  StmtPtr Loops(int i) {
    if (i > last()) return Accumulate(plan_.lanes);
    const std::string& name = context_.index_name(i);
    const int64_t range = flat_.indices[i].range;
    context_.indices.Set(i, sem::Var(name, {context_.indices.type(), 1}));
    if (!plan_.vector_reduced || i < last()) {
      return sem::MakeFor(name, Number(0), Number(range), Loops(i + 1));
    }
    const int64_t whole = range / plan_.lanes * plan_.lanes;
    StmtPtr vectors =
        sem::MakeFor(name, Number(0), Number(whole), Accumulate(plan_.lanes), plan_.lanes);
    if (!HasTail()) return vectors;
    return sem::MakeBlock(
        {std::move(vectors), sem::MakeFor(name, Number(whole), Number(range), Accumulate(1))});
  }

  ExprPtr Number(int64_t value) const { return context_.indices.Number(value); }

  // One step of every accumulator, with `lanes` elements each.
  StmtPtr Accumulate(int lanes) {
    statements_.clear();
    loads_.clear();
    std::vector<StmtPtr> updates;
    ForEachAccumulator([&](int64_t block, int64_t vector) {
      if (plan_.block_index >= 0) {
        context_.indices.Set(plan_.block_index,
                             sem::Add(context_.block_begin, Number(block)));
      }
      if (!plan_.vector_reduced) {
        context_.indices.Set(plan_.register_index,
                             sem::Add(context_.register_begin, Number(vector * plan_.lanes)));
      }
      const std::string name = lanes > 1 ? Name(block, vector) : TailName(block);
      const ExprPtr old = sem::Var(name, {DataType::kFloat32, lanes});
      updates.push_back(sem::MakeAssign(name, Add(old, flat_.body, block, vector, lanes)));
    });
    std::vector<StmtPtr> all = std::move(statements_);
    all.insert(all.end(), updates.begin(), updates.end());
    return sem::MakeBlock(std::move(all));
  }

  ExprPtr Add(const ExprPtr& old, const poly::ExprPtr& body, int64_t block, int64_t vector,
              int lanes) {
    const auto* apply = std::get_if<poly::Apply>(&body->node);
    if (apply != nullptr && apply->op == ScalarOp::kMul) {
      return sem::MulAdd(Emit(apply->operands[0], block, vector, lanes),
                         Emit(apply->operands[1], block, vector, lanes), old);
    }
    return sem::ApplyOp(ScalarOp::kAdd, {old, Emit(body, block, vector, lanes)});
  }

  ExprPtr Emit(const poly::ExprPtr& expr, int64_t block, int64_t vector, int lanes) {
    return Match(
        expr->node,
        [&](const poly::Literal& literal) {
          const double value =
              std::visit([](auto v) { return static_cast<double>(v); }, literal.value);
          return sem::Splat(sem::Float(value, DataType::kFloat32), lanes);
        },
        [&](const poly::Read& read) { return Load(read.access, block, vector, lanes); },
        [&](const poly::Apply& apply) {
          std::vector<ExprPtr> operands;
          for (const poly::ExprPtr& operand : apply.operands) {
            operands.push_back(Emit(operand, block, vector, lanes));
          }
          return sem::ApplyOp(apply.op, std::move(operands));
        },
        [](const auto&) { return ExprPtr(); });  // not in a vector body
  }

  // A read is made once for all accumulators it serves.
  ExprPtr Load(int number, int64_t block, int64_t vector, int lanes) {
    const poly::TensorAccess& access = flat_.accesses[number];
    const poly::FlatAccess flat =
        poly::Flatten(access.coords, flat_.tensors[access.tensor].shape.dims, last() + 1);
    const int along = plan_.vector_reduced ? last() : plan_.register_index;
    const bool contiguous = flat.strides[along] == 1;
    const bool varies_by_block =
        plan_.block_index >= 0 && flat.strides[plan_.block_index] != 0;
    const std::string key = absl::StrCat(number, "_", varies_by_block ? block : 0, "_",
                                         contiguous && !plan_.vector_reduced ? vector : 0);
    if (auto it = loads_.find(key); it != loads_.end()) return it->second;
    const int width = contiguous ? lanes : 1;
    const sem::Type type = {DataType::kFloat32, width};
    const std::string name = absl::StrCat("x", key);
    statements_.push_back(sem::MakeDeclare(
        type, name,
        sem::LoadFrom(absl::StrCat("in", access.tensor), DataType::kFloat32,
                      context_.indices.Emit(flat), width)));
    ExprPtr value = sem::Var(name, type);
    if (width < lanes) value = sem::Splat(value, lanes);
    loads_.emplace(key, value);
    return value;
  }

  // The sum of a vector's lanes, by halves, and of the elements after the last vector.
  ExprPtr Total(int64_t block, const ExprPtr& sum) const {
    std::vector<ExprPtr> parts;
    for (int lane = 0; lane < plan_.lanes; ++lane) parts.push_back(sem::LaneOf(sum, lane));
    for (; parts.size() > 1; parts.resize(parts.size() / 2)) {
      for (size_t i = 0; i < parts.size() / 2; ++i) {
        parts[i] = sem::ApplyOp(ScalarOp::kAdd, {parts[i], parts[i + parts.size() / 2]});
      }
    }
    if (!HasTail()) return parts[0];
    return sem::ApplyOp(ScalarOp::kAdd, {parts[0], sem::Var(TailName(block), ScalarType())});
  }

  const poly::FlatContraction& flat_;
  const plan::KernelPlan& plan_;
  const VectorContext& context_;
  int64_t blocks_ = 1;   // values of the block index
  int64_t vectors_ = 1;  // along the register index
  std::vector<StmtPtr> statements_;
  std::map<std::string, ExprPtr> loads_;
};

}  // namespace

std::vector<StmtPtr> VectorReduction(const VectorContext& context) { return Reducer(context).Run(); }

}  // namespace tartan::lower
