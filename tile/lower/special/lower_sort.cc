// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/special/lower_sort.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tile/lower/special/radix_sort.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

// Maximum length of a run that is sorted by rank (empirical). CPUs radix-sort longer lines.
constexpr int64_t kRun = 32;
// Elements that a GPU work-item merges (empirical).
constexpr int64_t kMerged = 8;

// Buffers of lines of keys and, if wanted, of their positions.
struct Lines {
  int keys = -1;
  int positions = -1;
  int64_t inner = 1;
  int64_t size = 1;  // of a line
};

class Sorter : IndexBuilder {
 public:
  Sorter(const SortTask& task, SpecialContext* context)
      : IndexBuilder(context->index_type()),
        task_(task),
        context_(*context),
        stored_(context->shape(task.keys).type),
        compared_(ComputeType(stored_) == DataType::kBool ? DataType::kInt32
                                                          : ComputeType(stored_)),
        count_(context->shape(task.keys).element_count()) {}

  void Sort() {
    const Lines result = {task_.sorted_keys, task_.sorted_positions, task_.inner, task_.count};
    if (task_.size <= kRun) return SortRuns(result);
    // Merging reads keys, even if only positions are wanted.
    const auto scratch = [&] {
      const std::vector<int64_t> dims = {count_};
      Lines lines = {context_.AddScratch({stored_, dims}), -1, 1, task_.size};
      if (result.positions >= 0) {
        lines.positions = context_.AddScratch({index_type(), dims});
      }
      return lines;
    };
    Lines from = scratch();
    Lines to;
    SortRuns(from);
    int shift = 0;
    while (int64_t{1} << shift < kRun) ++shift;
    for (; int64_t{2} << shift < task_.size; ++shift) {
      if (to.keys < 0) to = scratch();
      Merge(from, to, shift);
      std::swap(from, to);
    }
    Merge(from, result, shift);
  }

 private:
  using Argument = SpecialContext::Argument;

  ExprPtr Size(const std::string& role, int64_t value) const { return context_.Size(role, value); }
  // The stride between adjacent elements of a line: 1 along the last axis, whatever the sizes.
  ExprPtr Inner(int64_t inner) const { return inner == 1 ? Number(1) : Size("inner", inner); }

  loop::Type KeyType() const { return {compared_, 1}; }
  ExprPtr Key(const std::string& buffer, ExprPtr index) const {
    return loop::Cast(loop::LoadFrom(buffer, stored_, std::move(index)), compared_);
  }

  // Returns whether key `a` comes before key `b`, regardless of their positions.
  ExprPtr Before(const ExprPtr& a, const ExprPtr& b) const {
    ExprPtr less = task_.descending ? loop::Less(b, a) : loop::Less(a, b);
    if (!IsFloat(compared_)) return less;
    const ExprPtr& greater = task_.descending ? a : b;
    const ExprPtr& smaller = task_.descending ? b : a;
    const ExprPtr only_greater_is_nan =
        loop::And(loop::ApplyOp(ScalarOp::kIsNan, {greater}),
                  loop::Not(loop::ApplyOp(ScalarOp::kIsNan, {smaller})));
    return loop::Or(less, only_greater_is_nan);
  }

  ExprPtr NotBefore(const ExprPtr& a, const ExprPtr& b) const {
    if (IsFloat(compared_)) return loop::Not(Before(a, b));
    return task_.descending ? loop::LessEqual(a, b) : loop::LessEqual(b, a);
  }

  // The first element of line "line" in the keys.
  ExprPtr LineBase(int64_t inner) const { return LineBase(inner, task_.size, "plane"); }
  // The first element of line "line" in the result.
  ExprPtr TargetBase(const Lines& to) const { return LineBase(to.inner, to.size, "to plane"); }
  ExprPtr LineBase(int64_t inner, int64_t size, const std::string& role) const {
    const ExprPtr line = Var("line");
    const ExprPtr plane = Size(role, inner * size);
    if (inner == 1) return loop::Mul(line, plane);
    return loop::Add(loop::Mul(loop::Div(line, Inner(inner)), plane),
                     loop::Mod(line, Inner(inner)));
  }

  static void AddOutputs(const Lines& lines, std::vector<Argument>* arguments) {
    if (lines.keys >= 0) arguments->push_back({"keys", lines.keys, true});
    if (lines.positions >= 0) arguments->push_back({"positions", lines.positions, true});
  }

  // Stores a key, as loaded from memory, and its position in the line, at index `at`.
  void Put(const Lines& lines, const ExprPtr& at, const ExprPtr& key, const ExprPtr& position,
           std::vector<StmtPtr>* body) const {
    if (lines.keys >= 0) {
      body->push_back(loop::MakeStore("keys", context_.shape(lines.keys).type, at, key));
    }
    if (lines.positions >= 0) {
      const DataType stored = context_.shape(lines.positions).type;
      body->push_back(
          loop::MakeStore("positions", stored, at, loop::Cast(position, ComputeType(stored))));
    }
  }

  // One item per element: its rank in its run is the number of elements that come before it.
  void SortRuns(const Lines& to) {
    const ExprPtr inner = Inner(task_.inner);
    const ExprPtr size = Size("size", task_.size);
    const ExprPtr mine = loop::Var("mine", KeyType());
    const ExprPtr other = loop::Var("other", KeyType());
    const ExprPtr first =
        loop::Or(Before(other, mine),
                 loop::And(loop::Less(Var("step"), Var("position")), NotBefore(mine, other)));
    const StmtPtr count = loop::MakeBlock(
        {loop::MakeDeclare(KeyType(), "other",
                           Key("from", loop::Add(Var("base"), loop::Mul(Var("step"), inner)))),
         loop::MakeAssign("place",
                          loop::Add(Var("place"), loop::Select(first, Number(1), Number(0))))});
    const bool is_one_run = task_.size <= kRun;
    const ExprPtr begin = is_one_run ? Number(0) : Var("begin");
    // The loop's end is not a constant, because drivers would unroll the whole loop.
    const ExprPtr end = loop::Min(loop::Add(begin, Number(kRun)), size);
    const ExprPtr plane = Size("plane", task_.inner * task_.size);

    std::vector<StmtPtr> body = {
        Declare("line", loop::Add(loop::Mul(loop::Div(Var("item"), plane), inner),
                                  loop::Mod(Var("item"), inner))),
        Declare("base", LineBase(task_.inner)),
        Declare("position", loop::Mod(loop::Div(Var("item"), inner), size))};
    if (!is_one_run) {
      body.push_back(
          Declare("begin", loop::Sub(Var("position"), loop::Mod(Var("position"), Number(kRun)))));
    }
    body.insert(body.end(),
                {loop::MakeDeclare(KeyType(), "mine", Key("from", Var("item"))),
                 Declare("place", begin, true), loop::MakeFor("step", begin, end, count)});
    std::vector<StmtPtr> put;
    Put(to, loop::Add(TargetBase(to), loop::Mul(Var("place"), Inner(to.inner))),
        loop::LoadFrom("from", stored_, Var("item")), Var("position"), &put);
    // A line of the result has only the wanted elements.
    if (to.size < task_.size || (is_one_run && context_.takes_sizes())) {
      put = {loop::MakeIf(loop::Less(Var("place"), Size("wanted", to.size)),
                          loop::MakeBlock(std::move(put)))};
    }
    body.insert(body.end(), put.begin(), put.end());
    std::vector<Argument> arguments;
    AddOutputs(to, &arguments);
    arguments.push_back({"from", task_.keys});
    context_.Launch(count_, arguments, std::move(body));
  }

  // Merges pairs of runs of 1 << shift elements. Each item produces kMerged elements of the result:
  // it first searches how many of the preceding elements come from the first run ("merge path":
  // Odeh, Green and others, IPDPS 2012).
  void Merge(const Lines& from, const Lines& to, int shift) {
    const int64_t parts = (to.size + kMerged - 1) / kMerged;
    const ExprPtr part_count = Size("parts", parts);
    const ExprPtr size = Size("size", task_.size);
    // The shift is read from memory, so that all passes but the last share one kernel.
    const ExprPtr loaded = loop::LoadFrom("width", DataType::kInt32, Number(0));
    std::vector<StmtPtr> body = {
        Declare("shift", loop::Cast(loaded, index_type())),
        Declare("run", loop::ApplyOp(ScalarOp::kShiftLeft, {Number(1), Var("shift")})),
        Declare("line", loop::Div(Var("item"), part_count)), Declare("base", LineBase(1)),
        Declare("begin", loop::Mul(loop::Mod(Var("item"), part_count), Number(kMerged))),
        Declare("pair",
                loop::Sub(Var("begin"),
                          loop::ApplyOp(ScalarOp::kBitAnd,
                                        {Var("begin"),
                                         loop::Sub(loop::Mul(Var("run"), Number(2)), Number(1))}))),
        Declare("middle", loop::Min(loop::Add(Var("pair"), Var("run")), size)),
        Declare("end", loop::Min(loop::Add(Var("middle"), Var("run")), size)),
        // The number of elements of the pair before this item's.
        Declare("before", loop::Sub(Var("begin"), Var("pair")))};
    Search(&body);
    MergeFrom(to, &body);
    std::vector<Argument> arguments;
    AddOutputs(to, &arguments);
    arguments.push_back({"from", from.keys});
    if (to.positions >= 0) arguments.push_back({"from_positions", from.positions});
    arguments.push_back({"width", context_.AddScratch({DataType::kInt32, {1}}, shift)});
    context_.Launch(count_ / task_.size * parts, arguments, std::move(body));
  }

  // Declares "low": how many of the elements before the item's come from the first run.
  void Search(std::vector<StmtPtr>* body) const {
    const ExprPtr low = Var("low");
    const ExprPtr high = Var("high");
    const ExprPtr guess = Var("guess");
    const ExprPtr shift = Var("shift");
    const ExprPtr left = Key("from", loop::Add(Var("base"), loop::Add(Var("pair"), guess)));
    const ExprPtr right =
        Key("from", loop::Add(Var("base"), loop::Sub(loop::Add(Var("middle"), Var("before")),
                                                     loop::Add(guess, Number(1)))));
    const StmtPtr halve = loop::MakeBlock(
        {Declare("guess", loop::ApplyOp(ScalarOp::kShiftRight, {loop::Add(low, high), Number(1)})),
         loop::MakeDeclare(KeyType(), "left", left), loop::MakeDeclare(KeyType(), "right", right),
         loop::MakeIf(Before(loop::Var("right", KeyType()), loop::Var("left", KeyType())),
                      loop::MakeAssign("high", guess),
                      loop::MakeAssign("low", loop::Add(guess, Number(1))))});
    body->insert(
        body->end(),
        {Declare(
             "low",
             loop::Max(loop::Sub(Var("before"), loop::Sub(Var("end"), Var("middle"))), Number(0)),
             true),
         Declare("high", loop::Min(Var("before"), loop::Sub(Var("middle"), Var("pair"))), true),
         loop::MakeFor("search", Number(0), loop::Add(shift, Number(1)),
                       loop::MakeIf(loop::Less(low, high), halve))});
  }

  void MergeFrom(const Lines& to, std::vector<StmtPtr>* body) const {
    const ExprPtr left = Var("at_left");
    const ExprPtr right = Var("at_right");
    const ExprPtr last = Size("last", task_.size - 1);
    const ExprPtr from_left = Var("from_left");
    // For an exhausted run some arbitrary element of the line is loaded; it is not used.
    const ExprPtr comes_first = loop::Or(
        loop::LessEqual(Var("end"), right),
        loop::And(loop::Less(left, Var("middle")),
                  NotBefore(loop::Var("right_key", KeyType()), loop::Var("left_key", KeyType()))));
    std::vector<StmtPtr> step = {
        loop::MakeDeclare(KeyType(), "left_key", Key("from", loop::Add(Var("base"), left))),
        loop::MakeDeclare(KeyType(), "right_key",
                          Key("from", loop::Add(Var("base"), loop::Min(right, last)))),
        Declare("from_left", loop::Select(comes_first, Number(1), Number(0))),
        Declare("taken", loop::Add(Var("base"),
                                   loop::Select(loop::Equals(from_left, Number(1)), left, right)))};
    const ExprPtr target = loop::Add(TargetBase(to), loop::Mul(Var("at"), Inner(to.inner)));
    const ExprPtr position =
        to.positions < 0 ? nullptr : loop::LoadFrom("from_positions", index_type(), Var("taken"));
    Put(to, target, loop::LoadFrom("from", stored_, Var("taken")), position, &step);
    step.push_back(loop::MakeAssign("at_left", loop::Add(left, from_left)));
    step.push_back(loop::MakeAssign("at_right", loop::Add(right, loop::Sub(Number(1), from_left))));
    body->insert(
        body->end(),
        {Declare("at_left", loop::Add(Var("pair"), Var("low")), true),
         Declare("at_right", loop::Add(Var("middle"), loop::Sub(Var("before"), Var("low"))), true),
         loop::MakeFor("at", Var("begin"),
                       loop::Min(loop::Add(Var("begin"), Number(kMerged)), Size("wanted", to.size)),
                       loop::MakeBlock(std::move(step)))});
  }

  const SortTask& task_;
  SpecialContext& context_;
  const DataType stored_;
  const DataType compared_;
  const int64_t count_;
};

}  // namespace

void AddSort(const SortTask& task, SpecialContext* context) {
  if (context->is_cpu() && task.size > kRun) return AddRadixSort(task, context);
  Sorter(task, context).Sort();
}

}  // namespace tartan::lower
