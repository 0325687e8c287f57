// SPDX-License-Identifier: Apache-2.0
// The part of GroupReduction that adds up the partial sums of work-items that share an element.
#include <utility>
#include <vector>

#include "tile/lower/gpu/group_reduction.h"

namespace tartan::lower {

using loop::ExprPtr;
using loop::StmtPtr;

// A tree reduction in local memory: in each round the first half of the work-items that share an
// element add the sums of the other half. All sums of an element take part in the same rounds.
std::vector<StmtPtr> GroupReduction::ReducePartials() const {
  const int64_t sharers = context_.plan().partial_threads(context_.flat());
  if (sharers == 1) return {};
  int64_t distance = 1;  // between consecutive work-items that share an element
  for (const plan::ThreadPart& part : context_.plan().thread_parts) {
    if (!context_.is_output(part.index)) break;
    distance *= part.count;
  }
  const loop::Type type = AccumulatorType();
  const int64_t sums = context_.flat().accumulators_per_element();
  const int64_t elements = AccumulatorCount() / sums;
  const ExprPtr sum = sums > 1 ? context_.Var("sum") : context_.Number(0);
  const ExprPtr slot = loop::Add(loop::Mul(sum, context_.Number(elements)), context_.Var("slot"));
  const ExprPtr place =
      loop::Add(loop::Mul(sum, context_.Number(context_.plan().threads())), context_.Var("item"));
  auto partial = [&](const ExprPtr& index) {
    return loop::LoadFrom("partial", type.element, index, type.lanes);
  };
  auto of_each_sum = [&](StmtPtr statement) {
    if (sums == 1) return statement;
    return loop::MakeFor("sum", context_.Number(0), context_.Number(sums), std::move(statement), 1,
                         true);
  };
  std::vector<StmtPtr> body = {
      of_each_sum(loop::MakeStore("partial", type.element, place, GetAccumulator(slot))),
      loop::MakeBarrier()};
  for (int64_t half = sharers / 2; half > 0; half /= 2) {
    const ExprPtr other = loop::Add(place, context_.Number(half * distance));
    const ExprPtr joined = loop::ApplyOp(poly::AggregationOp(context_.flat().aggregation),
                                         {partial(place), partial(other)});
    body.push_back(
        loop::MakeIf(loop::Less(context_.Var("sharer"), context_.Number(half)),
                     of_each_sum(loop::MakeStore("partial", type.element, place, joined))));
    body.push_back(loop::MakeBarrier());
  }
  body.push_back(of_each_sum(SetAccumulator(slot, partial(place))));
  return {loop::MakeArray(type, "partial", sums * context_.plan().threads(), loop::Space::kLocal),
          loop::MakeDeclare(context_.IndexType(), "sharer", context_.PartialThread()),
          loop::MakeFor("slot", context_.Number(0), context_.Number(elements),
                        loop::MakeBlock(std::move(body)), 1, true)};
}

}  // namespace tartan::lower
