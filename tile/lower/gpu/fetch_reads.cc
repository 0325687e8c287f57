// SPDX-License-Identifier: Apache-2.0
// The part of GroupReduction that preloads reads into registers before the reduction.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/lower/gpu/group_reduction.h"
#include "tile/plan/rows/prefetch_gemm_operands.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

std::string FetchedName(int access) { return absl::StrCat("in", access, "_fetched"); }

}  // namespace

std::vector<StmtPtr> GroupReduction::Fetch() const {
  std::vector<StmtPtr> statements;
  for (int access : fetched_) statements.push_back(FetchAccess(access));
  return statements;
}

StmtPtr GroupReduction::FetchAccess(int access) const {
  const poly::ExprPtr read = poly::FindRead(context_.flat().body, access);
  const std::vector<int> differing =
      plan::PrefetchedIndices(context_.flat(), context_.plan(), access);
  const auto differs = [&](int i) {
    return std::find(differing.begin(), differing.end(), i) != differing.end();
  };
  std::vector<int> outputs;
  for (int i : outputs_) {
    if (differs(i)) outputs.push_back(i);
  }
  for (int i : unrolling_.loops) {
    if (differs(i)) context_.SetOwn(i, context_.Var(absl::StrCat(context_.name(i), "_block")));
  }
  DataType type = DataType::kInvalid;
  int lanes = 1;
  StmtPtr loops = context_.ForOwn(outputs, [&] {
    std::vector<StmtPtr> statements;
    const IndexEmitter indices = context_.Indices();
    ExprEmitter emitter =
        Emitter(!unfilled_.empty(), indices, absl::StrCat("f", access, "_"), &statements);
    const ExprPtr value = emitter.Emit(read);
    type = value->type.element;
    lanes = value->type.lanes;
    statements.push_back(loop::MakeStore(FetchedName(access), type, FetchedSlot(access), value));
    return loop::MakeBlock(std::move(statements));
  });
  for (size_t l = unrolling_.loops.size(); l-- > 0;) {
    const int i = unrolling_.loops[l];
    if (!differs(i)) continue;
    context_.SetOwn(i, context_.Number(0));
    loops = loop::MakeFor(absl::StrCat(context_.name(i), "_block"), context_.Number(0),
                          context_.Number(context_.split(i).blocks), std::move(loops), 1, true);
  }
  const int64_t vectors = plan::PrefetchedVectors(context_.flat(), context_.plan(), access);
  return loop::MakeBlock({loop::MakeArray({type, lanes}, FetchedName(access), vectors), loops});
}

// The register slot of the value at the current position.
ExprPtr GroupReduction::FetchedSlot(int access) const {
  ExprPtr slot = context_.Number(0);
  for (int i : plan::PrefetchedIndices(context_.flat(), context_.plan(), access)) {
    slot = loop::Add(loop::Mul(slot, context_.Number(context_.OwnCount(i))), context_.own(i));
  }
  return slot;
}

ExprPtr GroupReduction::Fetched(int access) const {
  const auto lanes =
      static_cast<int>(plan::PrefetchedLanes(context_.flat(), context_.plan(), access));
  const DataType type = poly::FindRead(context_.flat().body, access)->type;
  return loop::LoadFrom(FetchedName(access), type, FetchedSlot(access), lanes);
}

}  // namespace tartan::lower
