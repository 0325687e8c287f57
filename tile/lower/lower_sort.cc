#include "tile/lower/lower_sort.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tartan::lower {
namespace {

using sem::ExprPtr;
using sem::StmtPtr;

// Runs that are sorted by counting, and elements that a work-item merges: at most two runs.
constexpr int64_t kCpuRun = 16;
constexpr int64_t kGpuRun = 32;
constexpr int64_t kCpuMerged = 32;
constexpr int64_t kGpuMerged = 8;

// Lines of keys and, where wanted, of their positions.
struct Lines {
  int keys = -1;
  int positions = -1;
  int64_t inner = 1;
};

class Sorter {
 public:
  Sorter(const SortTask& task, SpecialContext* context)
      : task_(task),
        context_(*context),
        stored_(context->shape(task.keys).type),
        compared_(ComputeType(stored_) == DataType::kBool ? DataType::kInt32
                                                          : ComputeType(stored_)),
        count_(context->shape(task.keys).element_count()),
        run_(context->is_cpu() ? kCpuRun : kGpuRun) {}

  void Sort() {
    const Lines result = {task_.sorted_keys, task_.sorted_positions, task_.inner};
    if (task_.size <= run_) return SortRuns(result);
    // Merging reads keys, whether they are wanted in the end or not.
    const auto scratch = [&] {
      const std::vector<int64_t> dims = {count_};
      Lines lines = {context_.AddScratch({stored_, dims}), -1, 1};
      if (result.positions >= 0) {
        lines.positions = context_.AddScratch({context_.index_type(), dims});
      }
      return lines;
    };
    Lines from = scratch();
    Lines to;
    SortRuns(from);
    int shift = 0;
    while (int64_t{1} << shift < run_) ++shift;
    for (; int64_t{2} << shift < task_.size; ++shift) {
      if (to.keys < 0) to = scratch();
      Merge(from, to, shift);
      std::swap(from, to);
    }
    Merge(from, result, shift);
  }

 private:
  using Argument = SpecialContext::Argument;

  ExprPtr Number(int64_t value) const { return context_.Number(value); }
  ExprPtr Index(const std::string& name) const { return context_.Index(name); }

  sem::Type KeyType() const { return {compared_, 1}; }
  ExprPtr Key(const std::string& buffer, ExprPtr index) const {
    return sem::Cast(sem::LoadFrom(buffer, stored_, std::move(index)), compared_);
  }

  // Key `a` comes before key `b`, wherever they are.
  ExprPtr Before(const ExprPtr& a, const ExprPtr& b) const {
    ExprPtr less = task_.descending ? sem::Less(b, a) : sem::Less(a, b);
    if (!IsFloat(compared_)) return less;
    const ExprPtr& greater = task_.descending ? a : b;
    const ExprPtr& smaller = task_.descending ? b : a;
    const ExprPtr only_greater_is_nan =
        sem::And(sem::ApplyOp(ScalarOp::kIsNan, {greater}),
                 sem::Not(sem::ApplyOp(ScalarOp::kIsNan, {smaller})));
    return sem::Or(less, only_greater_is_nan);
  }

  ExprPtr NotBefore(const ExprPtr& a, const ExprPtr& b) const {
    if (IsFloat(compared_)) return sem::Not(Before(a, b));
    return task_.descending ? sem::LessEqual(a, b) : sem::LessEqual(b, a);
  }

  // Where the line numbered `line` begins.
  ExprPtr LineBase(const ExprPtr& line, int64_t inner) const {
    if (inner == 1) return sem::Mul(line, Number(task_.size));
    return sem::Add(sem::Mul(sem::Div(line, Number(inner)), Number(inner * task_.size)),
                    sem::Mod(line, Number(inner)));
  }

  static void AddOutputs(const Lines& lines, std::vector<Argument>* arguments) {
    if (lines.keys >= 0) arguments->push_back({"keys", lines.keys, true});
    if (lines.positions >= 0) arguments->push_back({"positions", lines.positions, true});
  }

  // Stores a key, as loaded from memory, and its position in the line at an index.
  void Put(const Lines& lines, const ExprPtr& at, const ExprPtr& key, const ExprPtr& position,
           std::vector<StmtPtr>* body) const {
    if (lines.keys >= 0) {
      body->push_back(sem::MakeStore("keys", context_.shape(lines.keys).type, at, key));
    }
    if (lines.positions >= 0) {
      const DataType stored = context_.shape(lines.positions).type;
      body->push_back(
          sem::MakeStore("positions", stored, at, sem::Cast(position, ComputeType(stored))));
    }
  }

  // One item per element: its place in its run is the number of elements that come before it.
  void SortRuns(const Lines& to) {
    const int64_t inner = task_.inner;
    const auto at = [&](const ExprPtr& base, const ExprPtr& position, int64_t stride) {
      return sem::Add(base, sem::Mul(position, Number(stride)));
    };
    const ExprPtr mine = sem::Var("mine", KeyType());
    const ExprPtr other = sem::Var("other", KeyType());
    const ExprPtr first =
        sem::Or(Before(other, mine),
                sem::And(sem::Less(Index("step"), Index("position")), NotBefore(mine, other)));
    const StmtPtr count = sem::MakeBlock(
        {sem::MakeDeclare(KeyType(), "other", Key("from", at(Index("base"), Index("step"), inner))),
         sem::MakeAssign("place",
                         sem::Add(Index("place"), sem::Select(first, Number(1), Number(0))))});
    const bool is_one_run = task_.size <= run_;
    const ExprPtr begin = is_one_run ? Number(0) : Index("begin");
    // The end is unknown to drivers, which would otherwise unroll the loop as a whole.
    const ExprPtr end = sem::Min(sem::Add(begin, Number(run_)), Number(task_.size));

    std::vector<StmtPtr> body = {
        context_.DeclareIndex(
            "line",
            sem::Add(sem::Mul(sem::Div(Index("item"), Number(inner * task_.size)), Number(inner)),
                     sem::Mod(Index("item"), Number(inner)))),
        context_.DeclareIndex("base", LineBase(Index("line"), inner)),
        context_.DeclareIndex(
            "position", sem::Mod(sem::Div(Index("item"), Number(inner)), Number(task_.size)))};
    if (!is_one_run) {
      body.push_back(context_.DeclareIndex(
          "begin", sem::Sub(Index("position"), sem::Mod(Index("position"), Number(run_)))));
    }
    body.insert(body.end(), {sem::MakeDeclare(KeyType(), "mine", Key("from", Index("item"))),
                             context_.DeclareIndex("place", begin, true),
                             sem::MakeFor("step", begin, end, count)});
    const ExprPtr target = to.inner == inner ? Index("base") : LineBase(Index("line"), to.inner);
    Put(to, at(target, Index("place"), to.inner), sem::LoadFrom("from", stored_, Index("item")),
        Index("position"), &body);
    std::vector<Argument> arguments;
    AddOutputs(to, &arguments);
    arguments.push_back({"from", task_.keys});
    context_.Launch(count_, arguments, std::move(body));
  }

  // Merges pairs of runs of 1 << shift elements. One item per `merged` elements of the result: it
  // searches how many of the elements before its own come from the first run, and goes on from
  // there ("merge path": Odeh, Green and others, IPDPS 2012).
  void Merge(const Lines& from, const Lines& to, int shift) {
    const int64_t merged = context_.is_cpu() ? kCpuMerged : kGpuMerged;
    const int64_t parts = (task_.size + merged - 1) / merged;
    // From memory, so that all passes but the last are one kernel.
    const ExprPtr loaded = sem::LoadFrom("width", DataType::kInt32, Number(0));
    std::vector<StmtPtr> body = {
        context_.DeclareIndex("shift", sem::Cast(loaded, context_.index_type())),
        context_.DeclareIndex("run",
                              sem::ApplyOp(ScalarOp::kShiftLeft, {Number(1), Index("shift")})),
        context_.DeclareIndex("line", sem::Div(Index("item"), Number(parts))),
        context_.DeclareIndex("base", LineBase(Index("line"), 1)),
        context_.DeclareIndex("begin",
                              sem::Mul(sem::Mod(Index("item"), Number(parts)), Number(merged))),
        context_.DeclareIndex(
            "pair",
            sem::Sub(Index("begin"),
                     sem::ApplyOp(ScalarOp::kBitAnd,
                                  {Index("begin"),
                                   sem::Sub(sem::Mul(Index("run"), Number(2)), Number(1))}))),
        context_.DeclareIndex("middle",
                              sem::Min(sem::Add(Index("pair"), Index("run")), Number(task_.size))),
        context_.DeclareIndex(
            "end", sem::Min(sem::Add(Index("middle"), Index("run")), Number(task_.size))),
        // Elements of the pair before this item's.
        context_.DeclareIndex("before", sem::Sub(Index("begin"), Index("pair")))};
    Search(&body);
    MergeFrom(to, merged, &body);
    std::vector<Argument> arguments;
    AddOutputs(to, &arguments);
    arguments.push_back({"from", from.keys});
    if (to.positions >= 0) arguments.push_back({"from_positions", from.positions});
    arguments.push_back({"width", context_.AddScratch({DataType::kInt32, {1}}, shift)});
    context_.Launch(count_ / task_.size * parts, arguments, std::move(body));
  }

  // Declares "low", how many of the elements before the item's come from the first run.
  void Search(std::vector<StmtPtr>* body) const {
    const ExprPtr low = Index("low");
    const ExprPtr high = Index("high");
    const ExprPtr guess = Index("guess");
    const ExprPtr shift = Index("shift");
    const ExprPtr left = Key("from", sem::Add(Index("base"), sem::Add(Index("pair"), guess)));
    const ExprPtr right =
        Key("from", sem::Add(Index("base"), sem::Sub(sem::Add(Index("middle"), Index("before")),
                                                     sem::Add(guess, Number(1)))));
    const StmtPtr halve = sem::MakeBlock(
        {context_.DeclareIndex(
             "guess", sem::ApplyOp(ScalarOp::kShiftRight, {sem::Add(low, high), Number(1)})),
         sem::MakeDeclare(KeyType(), "left", left), sem::MakeDeclare(KeyType(), "right", right),
         sem::MakeIf(Before(sem::Var("right", KeyType()), sem::Var("left", KeyType())),
                     sem::MakeAssign("high", guess),
                     sem::MakeAssign("low", sem::Add(guess, Number(1))))});
    body->insert(
        body->end(),
        {context_.DeclareIndex(
             "low",
             sem::Max(sem::Sub(Index("before"), sem::Sub(Index("end"), Index("middle"))),
                      Number(0)),
             true),
         context_.DeclareIndex(
             "high", sem::Min(Index("before"), sem::Sub(Index("middle"), Index("pair"))), true),
         sem::MakeFor("search", Number(0), sem::Add(shift, Number(1)),
                      sem::MakeIf(sem::Less(low, high), halve))});
  }

  void MergeFrom(const Lines& to, int64_t merged, std::vector<StmtPtr>* body) const {
    const ExprPtr left = Index("at_left");
    const ExprPtr right = Index("at_right");
    const ExprPtr last = Number(task_.size - 1);
    const ExprPtr from_left = Index("from_left");
    // An exhausted run is read at some element of the line that nobody asks for.
    const ExprPtr comes_first = sem::Or(
        sem::LessEqual(Index("end"), right),
        sem::And(sem::Less(left, Index("middle")),
                 NotBefore(sem::Var("right_key", KeyType()), sem::Var("left_key", KeyType()))));
    std::vector<StmtPtr> step = {
        sem::MakeDeclare(KeyType(), "left_key", Key("from", sem::Add(Index("base"), left))),
        sem::MakeDeclare(KeyType(), "right_key",
                         Key("from", sem::Add(Index("base"), sem::Min(right, last)))),
        context_.DeclareIndex("from_left", sem::Select(comes_first, Number(1), Number(0))),
        context_.DeclareIndex(
            "taken",
            sem::Add(Index("base"), sem::Select(sem::Equals(from_left, Number(1)), left, right)))};
    ExprPtr target = LineBase(Index("line"), to.inner);
    target = sem::Add(target, sem::Mul(Index("at"), Number(to.inner)));
    const ExprPtr position =
        to.positions < 0 ? nullptr
                         : sem::LoadFrom("from_positions", context_.index_type(), Index("taken"));
    Put(to, target, sem::LoadFrom("from", stored_, Index("taken")), position, &step);
    step.push_back(sem::MakeAssign("at_left", sem::Add(left, from_left)));
    step.push_back(sem::MakeAssign("at_right", sem::Add(right, sem::Sub(Number(1), from_left))));
    body->insert(
        body->end(),
        {context_.DeclareIndex("at_left", sem::Add(Index("pair"), Index("low")), true),
         context_.DeclareIndex(
             "at_right", sem::Add(Index("middle"), sem::Sub(Index("before"), Index("low"))), true),
         sem::MakeFor("at", Index("begin"),
                      sem::Min(sem::Add(Index("begin"), Number(merged)), Number(task_.size)),
                      sem::MakeBlock(std::move(step)))});
  }

  const SortTask& task_;
  SpecialContext& context_;
  const DataType stored_;
  const DataType compared_;
  const int64_t count_;
  const int64_t run_;
};

}  // namespace

void AddSort(const SortTask& task, SpecialContext* context) { Sorter(task, context).Sort(); }

}  // namespace tartan::lower
