#include "tile/lower/row_kernel.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tile/sem/build.h"
#include "tile/sem/rename.h"

namespace tartan::lower {
namespace {

using ir::ValueId;
using sem::ExprPtr;
using sem::StmtPtr;

class RowChainLowerer {
 public:
  RowChainLowerer(const std::vector<poly::RowKernel>& kernels,
                  const std::vector<poly::RowTensor>& tensors, const plan::RowPlan& plan,
                  const LowerOptions& options)
      : kernels_(kernels), tensors_(tensors), plan_(plan), options_(options) {
    for (const plan::RowStage& stage : plan.stages) {
      options_.force_64bit_indices |= NeedsWideIndices(stage.block.flat);
    }
    for (const poly::RowKernel& kernel : kernels) {
      options_.force_64bit_indices |= NeedsWideIndices(kernel.flat);
    }
    index_type_ = options_.force_64bit_indices ? DataType::kInt64 : DataType::kInt32;
  }

  RowChainKernel Lower(const std::string& name) {
    RowChainKernel lowered;
    sem::Kernel& kernel = lowered.kernel;
    kernel.name = name;
    for (const poly::RowKernel& row_kernel : kernels_) {
      kernel.comments.insert(kernel.comments.end(), row_kernel.flat.comments.begin(),
                             row_kernel.flat.comments.end());
    }
    for (absl::string_view line : absl::StrSplit(plan_.ToString(), '\n')) {
      kernel.comments.emplace_back(line);
    }
    kernel.index_type = index_type_;
    kernel.global_size[0] = plan_.ItemCount();
    AddParameters(&lowered);
    std::vector<StmtPtr> statements = DecodeItem();
    for (StmtPtr& array : DeclareKept()) statements.push_back(std::move(array));
    for (size_t s = 0; s < plan_.stages.size(); ++s) statements.push_back(Stage(s));
    kernel.body = sem::MakeBlock(std::move(statements));
    return lowered;
  }

 private:
  ExprPtr Number(int64_t value) const { return sem::Int(value, index_type_); }
  sem::Type IndexType() const { return {index_type_, 1}; }
  static std::string KeptName(int tensor) { return absl::StrCat("kept", tensor); }
  static std::string OriginName(size_t axis) { return absl::StrCat("row", axis); }

  // What is written first.
  void AddParameters(RowChainKernel* lowered) {
    const auto add = [&](ValueId value, DataType type, bool is_output, const std::string& name) {
      if (!names_.emplace(value, name).second) return;
      lowered->kernel.parameters.push_back({name, type, is_output});
      lowered->parameters.push_back(value);
    };
    for (const poly::RowKernel& kernel : kernels_) {
      if (kernel.output >= 0) continue;
      for (const poly::Output& output : kernel.flat.outputs) {
        add(output.value, output.shape.type, true, absl::StrCat("out", names_.size()));
      }
    }
    const size_t outputs = names_.size();
    for (const poly::RowKernel& kernel : kernels_) {
      for (size_t t = 0; t < kernel.flat.tensors.size(); ++t) {
        if (kernel.tensors[t] >= 0) continue;
        const poly::Tensor& tensor = kernel.flat.tensors[t];
        add(tensor.value, tensor.shape.type, false, absl::StrCat("in", names_.size() - outputs));
      }
    }
  }

  // Declares where the work-item's block begins; the last row axis varies fastest. The last block
  // is drawn back over its neighbour where blocks do not divide an axis.
  std::vector<StmtPtr> DecodeItem() const {
    std::vector<StmtPtr> statements;
    const ExprPtr item = sem::Var("item", IndexType());
    statements.push_back(
        sem::MakeDeclare(IndexType(), "item", sem::Work(sem::WorkId::kGlobal, 0, index_type_)));
    int64_t below = 1;
    for (size_t a = plan_.rows.size(); a-- > 0;) {
      const int64_t count = plan_.BlockCount(static_cast<int>(a));
      if (count == 1) continue;
      ExprPtr position = sem::Div(item, Number(below));
      if (below * count < plan_.ItemCount()) position = sem::Mod(position, Number(count));
      ExprPtr begin = sem::Mul(position, Number(plan_.block[a]));
      if (plan_.rows[a] % plan_.block[a] != 0) {
        begin = sem::Min(begin, Number(plan_.rows[a] - plan_.block[a]));
      }
      statements.push_back(sem::MakeDeclare(IndexType(), OriginName(a), std::move(begin)));
      below *= count;
    }
    return statements;
  }

  // The arrays that hold a block of what only the chain reads.
  std::vector<StmtPtr> DeclareKept() const {
    std::vector<StmtPtr> arrays;
    for (const poly::RowKernel& kernel : kernels_) {
      if (kernel.output < 0) continue;
      const TensorShape shape =
          tensors_[kernel.output].Shape(kernel.flat.outputs[0].shape.type, plan_.block);
      arrays.push_back(
          sem::MakeArray({shape.type, 1}, KeptName(kernel.output), shape.element_count()));
    }
    return arrays;
  }

  StmtPtr Stage(size_t s) const {
    const plan::RowStage& stage = plan_.stages[s];
    const poly::FlatContraction& flat = stage.block.flat;
    std::vector<ExprPtr> begins(flat.output_index_count, Number(0));
    for (size_t a = 0; a < stage.block.origins.size(); ++a) {
      const int origin = stage.block.origins[a];
      if (origin >= 0) begins[origin] = sem::Var(OriginName(a), IndexType());
    }
    const StmtPtr task = LowerTask(flat, stage.plan, begins, options_);
    std::unordered_map<std::string, std::string> names;
    for (const std::string& declared : sem::DeclaredNames(task)) {
      names[declared] = absl::StrCat("s", s, "_", declared);
    }
    for (size_t t = 0; t < flat.tensors.size(); ++t) {
      const int kept = kernels_[s].tensors[t];
      names[absl::StrCat("in", t)] = kept >= 0 ? KeptName(kept) : names_.at(flat.tensors[t].value);
    }
    for (size_t o = 0; o < flat.outputs.size(); ++o) {
      names[absl::StrCat("out", o)] =
          kernels_[s].output >= 0 ? KeptName(kernels_[s].output) : names_.at(flat.outputs[o].value);
    }
    return sem::MakeBlock({sem::MakeComment(flat.name), sem::Rename(task, names)});
  }

  const std::vector<poly::RowKernel>& kernels_;
  const std::vector<poly::RowTensor>& tensors_;
  const plan::RowPlan& plan_;
  LowerOptions options_;
  DataType index_type_;
  std::map<ValueId, std::string> names_;  // of parameters
};

}  // namespace

RowChainKernel LowerRowChain(const std::vector<poly::RowKernel>& kernels,
                             const std::vector<poly::RowTensor>& tensors, const plan::RowPlan& plan,
                             const std::string& name, const LowerOptions& options) {
  return RowChainLowerer(kernels, tensors, plan, options).Lower(name);
}

}  // namespace tartan::lower
