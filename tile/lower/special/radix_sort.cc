// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/special/radix_sort.h"

#include <string>
#include <utility>
#include <vector>

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

constexpr int64_t kDigits = 256;  // values of a radix digit, which is a byte

// The signed integer type of the same width.
DataType BitsOf(DataType type) {
  switch (ByteWidth(type)) {
    case 1:
      return DataType::kInt8;
    case 2:
      return DataType::kInt16;
    case 4:
      return DataType::kInt32;
    default:
      return DataType::kInt64;
  }
}

// The bit pattern of infinity.
int64_t InfinityBits(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return 0x7c00;
    case DataType::kBFloat16:
      return 0x7f80;
    case DataType::kFloat32:
      return 0x7f800000;
    default:
      return 0x7ff0000000000000;
  }
}

class RadixSorter : IndexBuilder {
 public:
  RadixSorter(const SortTask& task, SpecialContext* context)
      : IndexBuilder(context->index_type()),
        task_(task),
        context_(*context),
        stored_(context->shape(task.keys).type),
        bits_(BitsOf(stored_)),
        key_{ByteWidth(bits_) == 8 ? DataType::kInt64 : DataType::kInt32, 1},
        lines_(context->shape(task.keys).element_count() / task.size) {}

  void Sort() {
    // A heap reads most elements once, but inserting one takes several dependent steps. The heap is
    // used if lines have kFewest or more elements per wanted one (empirical).
    constexpr int64_t kFewest = 8;
    task_.count* kFewest <= task_.size ? ByHeap() : ByDigits();
  }

 private:
  using Argument = SpecialContext::Argument;

  ExprPtr Size(const std::string& role, int64_t value) const { return context_.Size(role, value); }
  // The stride between adjacent elements of a line: 1 along the last axis, whatever the sizes.
  ExprPtr Inner() const { return task_.inner == 1 ? Number(1) : Size("inner", task_.inner); }
  StmtPtr DeclareMutable(const std::string& name, ExprPtr value) const {
    return Declare(name, std::move(value), /*is_mutable=*/true);
  }
  ExprPtr LoadIndex(const std::string& buffer, ExprPtr at) const {
    return loop::LoadFrom(buffer, index_type(), std::move(at));
  }
  StmtPtr StoreIndex(const std::string& buffer, ExprPtr at, ExprPtr value) const {
    return loop::MakeStore(buffer, index_type(), std::move(at), std::move(value));
  }
  ExprPtr KeyVar(const std::string& name) const { return loop::Var(name, key_); }
  ExprPtr KeyNumber(int64_t value) const { return loop::Int(value, key_.element); }
  ExprPtr LoadKey(ExprPtr at) const { return loop::LoadFrom("keys", key_.element, std::move(at)); }
  StmtPtr StoreKey(ExprPtr at, ExprPtr value) const {
    return loop::MakeStore("keys", key_.element, std::move(at), std::move(value));
  }

  // The first element of line "item" in lines of `size` elements, laid out like the keys.
  ExprPtr LineBase(const std::string& role, int64_t size) const {
    const ExprPtr plane = Size(role, task_.inner * size);
    if (task_.inner == 1) return loop::Mul(Var("item"), plane);
    return loop::Add(loop::Mul(loop::Div(Var("item"), Inner()), plane),
                     loop::Mod(Var("item"), Inner()));
  }

  // Declares "key" of element `position` of the line. Keys are integers that sort ascending in the
  // order of the elements, and are equal for equal elements.
  std::vector<StmtPtr> MakeKey(const ExprPtr& position) const {
    const ExprPtr at = loop::Add(Var("base"), loop::Mul(position, Inner()));
    const ExprPtr loaded = loop::Cast(loop::LoadFrom("bits", bits_, at), key_.element);
    std::vector<StmtPtr> statements = {loop::MakeDeclare(key_, "raw", loaded)};
    ExprPtr key = KeyVar("raw");
    if (IsFloat(stored_)) {
      const ExprPtr greatest = KeyNumber(MaxInteger(bits_));
      statements.push_back(loop::MakeDeclare(
          key_, "magnitude", loop::ApplyOp(ScalarOp::kBitAnd, {KeyVar("raw"), greatest})));
      const ExprPtr magnitude = KeyVar("magnitude");
      const ExprPtr ordered = loop::Select(loop::Less(KeyVar("raw"), KeyNumber(0)),
                                           loop::Sub(KeyNumber(0), magnitude), magnitude);
      const ExprPtr is_nan = loop::Less(KeyNumber(InfinityBits(stored_)), magnitude);
      key = loop::Select(is_nan, greatest, ordered);
    } else if (IsUnsignedInteger(stored_)) {
      key = loop::ApplyOp(ScalarOp::kBitXor, {key, KeyNumber(MinInteger(bits_))});
    }
    if (task_.descending) key = loop::ApplyOp(ScalarOp::kBitNot, {key});
    statements.push_back(loop::MakeDeclare(key_, "key", key));
    return statements;
  }

  // for (name = begin; name < end; ++name) body.
  static StmtPtr For(const std::string& name, const ExprPtr& begin, const ExprPtr& end,
                     std::vector<StmtPtr> body) {
    return loop::MakeFor(name, begin, end, loop::MakeBlock(std::move(body)));
  }

  // Stores element "position" of the line at rank "rank".
  void Put(std::vector<StmtPtr>* body) const {
    const ExprPtr at = loop::Add(Var("target"), loop::Mul(Var("rank"), Inner()));
    if (task_.sorted_positions >= 0) {
      const DataType stored = context_.shape(task_.sorted_positions).type;
      body->push_back(loop::MakeStore("sorted_positions", stored, at,
                                      loop::Cast(Var("position"), ComputeType(stored))));
    }
    if (task_.sorted_keys >= 0) {
      const ExprPtr from = loop::Add(Var("base"), loop::Mul(Var("position"), Inner()));
      body->push_back(
          loop::MakeStore("sorted_keys", stored_, at, loop::LoadFrom("values", stored_, from)));
    }
  }

  void Launch(std::vector<Argument> arguments, std::vector<StmtPtr> body) const {
    if (task_.sorted_positions >= 0) {
      arguments.push_back({"sorted_positions", task_.sorted_positions, true});
    }
    arguments.push_back({"bits", task_.keys, false, bits_});
    if (task_.sorted_keys >= 0) {
      arguments.push_back({"sorted_keys", task_.sorted_keys, true});
      arguments.push_back({"values", task_.keys});
    }
    body.insert(body.begin(), {Declare("base", LineBase("plane", task_.size)),
                               Declare("target", LineBase("target plane", task_.count))});
    context_.Launch(lines_, arguments, std::move(body));
  }

  // Radix sort, one pass per byte from the lowest: each pass stably orders positions by the byte's
  // value. "order" has two buffers; a pass reads one and writes the other.

  int64_t Passes() const { return ByteWidth(bits_); }
  ExprPtr Slot(const ExprPtr& key, const ExprPtr& pass) const {
    const ExprPtr shift = loop::Cast(loop::Mul(pass, Number(8)), key_.element);
    const ExprPtr digit =
        loop::ApplyOp(ScalarOp::kBitAnd,
                      {loop::ApplyOp(ScalarOp::kShiftRight, {key, shift}), KeyNumber(kDigits - 1)});
    // The highest byte contains the sign.
    const ExprPtr sign = loop::Select(loop::Equals(pass, Number(Passes() - 1)),
                                      KeyNumber(kDigits / 2), KeyNumber(0));
    const ExprPtr value = loop::ApplyOp(ScalarOp::kBitXor, {digit, sign});
    return loop::Add(loop::Mul(pass, Number(kDigits)), loop::Cast(value, index_type()));
  }
  StmtPtr AddToCount(const ExprPtr& number) const {
    return StoreIndex("counts", Var("slot"), loop::Add(LoadIndex("counts", Var("slot")), number));
  }

  void ByDigits() {
    const int64_t count = lines_ * task_.size;
    const Argument keys = {"keys", context_.AddScratch({key_.element, {count}}), true};
    const Argument order = {"order", context_.AddScratch({index_type(), {2 * count}}), true};
    const ExprPtr size = Size("size", task_.size);
    const ExprPtr slots = Number(kDigits * Passes());
    std::vector<StmtPtr> body = {
        Declare("first", loop::Mul(Var("item"), size)),
        loop::MakeArray({index_type(), 1}, "counts", kDigits * Passes()),
        For("cleared", Number(0), slots, {StoreIndex("counts", Var("cleared"), Number(0))})};
    std::vector<StmtPtr> count_digits = MakeKey(Var("step"));
    const ExprPtr at = loop::Add(Var("first"), Var("step"));
    count_digits.insert(
        count_digits.end(),
        {StoreKey(at, KeyVar("key")), StoreIndex("order", at, Var("step")),
         For("pass", Number(0), Number(Passes()),
             {Declare("slot", Slot(KeyVar("key"), Var("pass"))), AddToCount(Number(1))})});
    body.push_back(For("step", Number(0), size, std::move(count_digits)));
    body.push_back(DeclareMutable("offset", Number(0)));
    body.push_back(For("pass", Number(0), Number(Passes()), Pass(count)));
    std::vector<StmtPtr> put = {Declare(
        "position",
        LoadIndex("order", loop::Add(Var("first"), loop::Add(Var("offset"), Var("rank")))))};
    Put(&put);
    body.push_back(For("rank", Number(0), Size("wanted", task_.count), std::move(put)));
    Launch({keys, order}, std::move(body));
  }

  std::vector<StmtPtr> Pass(int64_t count) const {
    const ExprPtr size = Size("size", task_.size);
    const ExprPtr other_half = loop::Sub(Size("offset", count), Var("offset"));
    const ExprPtr begin = loop::Mul(Var("pass"), Number(kDigits));
    const std::vector<StmtPtr> add_up = {
        Declare("here", LoadIndex("counts", Var("slot"))),
        StoreIndex("counts", Var("slot"), Var("sum")),
        loop::MakeAssign("sum", loop::Add(Var("sum"), Var("here")))};
    const std::vector<StmtPtr> move = {
        Declare("position", LoadIndex("order", loop::Add(Var("from"), Var("step")))),
        Declare("slot", Slot(LoadKey(loop::Add(Var("first"), Var("position"))), Var("pass"))),
        Declare("place", LoadIndex("counts", Var("slot"))),
        StoreIndex("counts", Var("slot"), loop::Add(Var("place"), Number(1))),
        StoreIndex("order", loop::Add(Var("to"), Var("place")), Var("position"))};
    const StmtPtr all = loop::MakeBlock(
        {DeclareMutable("sum", Number(0)),
         For("slot", begin, loop::Add(begin, Number(kDigits)), add_up),
         Declare("from", loop::Add(Var("first"), Var("offset"))),
         Declare("to", loop::Add(Var("first"), other_half)), For("step", Number(0), size, move),
         loop::MakeAssign("offset", other_half)});
    // If all keys have the same digit, nothing moves.
    return {Declare("common", Slot(LoadKey(Var("first")), Var("pass"))),
            loop::MakeIf(loop::Less(LoadIndex("counts", Var("common")), size), all)};
  }

  // Max-heap of the wanted elements so far: the last in sorting order is at the root. The
  // children of i are 2 i + 1 and 2 i + 2; a child never comes after its parent.

  // Returns whether heap element a (key, position) comes after b (other_key, other_position).
  ExprPtr IsAfter(const ExprPtr& key, const ExprPtr& position, const ExprPtr& other_key,
                  const ExprPtr& other_position) const {
    return loop::Or(loop::Less(other_key, key),
                    loop::And(loop::Equals(key, other_key), loop::Less(other_position, position)));
  }
  ExprPtr InHeap(const ExprPtr& place) const { return loop::Add(Var("heap"), place); }

  // Puts the element ("moved_key", "moved") at the root of a heap of `size` elements, and sifts it
  // down.
  std::vector<StmtPtr> Sift(const ExprPtr& size) const {
    int64_t depth = 0;
    while (int64_t{1} << depth <= task_.count) ++depth;
    const auto of_child = [&](const char* name) {
      return std::vector<StmtPtr>{
          loop::MakeDeclare(key_, std::string(name) + "_key", LoadKey(InHeap(Var(name)))),
          Declare(std::string(name) + "_position", LoadIndex("positions", InHeap(Var(name))))};
    };
    // Select the later child; if there is only one child, both names refer to it.
    std::vector<StmtPtr> step = {
        Declare("right", loop::Min(loop::Add(Var("child"), Number(1)), loop::Sub(size, Number(1)))),
        Declare("left", Var("child"))};
    for (const char* name : {"left", "right"}) {
      const std::vector<StmtPtr> loads = of_child(name);
      step.insert(step.end(), loads.begin(), loads.end());
    }
    const ExprPtr is_right = IsAfter(KeyVar("right_key"), Var("right_position"), KeyVar("left_key"),
                                     Var("left_position"));
    step.insert(
        step.end(),
        {Declare("is_right", loop::Select(is_right, Number(1), Number(0))),
         loop::MakeDeclare(key_, "later_key",
                           loop::Select(loop::Equals(Var("is_right"), Number(1)),
                                        KeyVar("right_key"), KeyVar("left_key"))),
         Declare("later", loop::Select(loop::Equals(Var("is_right"), Number(1)),
                                       Var("right_position"), Var("left_position"))),
         loop::MakeIf(
             IsAfter(KeyVar("later_key"), Var("later"), KeyVar("moved_key"), Var("moved")),
             loop::MakeBlock(
                 {StoreKey(InHeap(Var("place")), KeyVar("later_key")),
                  StoreIndex("positions", InHeap(Var("place")), Var("later")),
                  loop::MakeAssign("place", loop::Select(loop::Equals(Var("is_right"), Number(1)),
                                                         Var("right"), Var("left"))),
                  loop::MakeAssign("child",
                                   loop::Add(loop::Mul(Var("place"), Number(2)), Number(1)))}),
             loop::MakeAssign("child", size))});
    return {DeclareMutable("place", Number(0)), DeclareMutable("child", Number(1)),
            For("level", Number(0), Size("depth", depth),
                {loop::MakeIf(loop::Less(Var("child"), size), loop::MakeBlock(step))}),
            StoreKey(InHeap(Var("place")), KeyVar("moved_key")),
            StoreIndex("positions", InHeap(Var("place")), Var("moved"))};
  }

  void ByHeap() {
    if (task_.count == 0) return;
    const Argument keys = {"keys", context_.AddScratch({key_.element, {lines_ * task_.count}}),
                           true};
    const Argument positions = {"positions",
                                context_.AddScratch({index_type(), {lines_ * task_.count}}), true};
    const ExprPtr size = Size("size", task_.size);
    const ExprPtr wanted = Size("wanted", task_.count);
    // Initialize the heap with elements that come after all others.
    std::vector<StmtPtr> body = {
        Declare("heap", loop::Mul(Var("item"), wanted)),
        For("free", Number(0), wanted,
            {StoreKey(InHeap(Var("free")), KeyNumber(MaxInteger(key_.element))),
             StoreIndex("positions", InHeap(Var("free")), size)}),
        loop::MakeDeclare(key_, "last_key", KeyNumber(MaxInteger(key_.element)), true)};
    std::vector<StmtPtr> look = MakeKey(Var("step"));
    std::vector<StmtPtr> take = {loop::MakeDeclare(key_, "moved_key", KeyVar("key")),
                                 Declare("moved", Var("step"))};
    for (StmtPtr& statement : Sift(wanted)) take.push_back(std::move(statement));
    take.push_back(loop::MakeAssign("last_key", LoadKey(Var("heap"))));
    look.push_back(loop::MakeIf(
        loop::Or(loop::Less(KeyVar("key"), KeyVar("last_key")), loop::Less(Var("step"), wanted)),
        loop::MakeBlock(std::move(take))));
    body.push_back(For("step", Number(0), size, std::move(look)));
    // The root is the last of the remaining elements; the heap's last element then replaces it.
    const ExprPtr rank = loop::Sub(loop::Sub(wanted, Number(1)), Var("taken"));
    std::vector<StmtPtr> give = {Declare("rank", rank),
                                 Declare("position", LoadIndex("positions", Var("heap")))};
    Put(&give);
    give.push_back(loop::MakeDeclare(key_, "moved_key", LoadKey(InHeap(Var("rank")))));
    give.push_back(Declare("moved", LoadIndex("positions", InHeap(Var("rank")))));
    for (StmtPtr& statement : Sift(Var("rank"))) give.push_back(std::move(statement));
    body.push_back(For("taken", Number(0), wanted, std::move(give)));
    Launch({keys, positions}, std::move(body));
  }

  const SortTask& task_;
  SpecialContext& context_;
  const DataType stored_;
  const DataType bits_;   // the integer type as which kernels read the elements
  const loop::Type key_;  // integers that have the order of the elements
  const int64_t lines_;
};

}  // namespace

void AddRadixSort(const SortTask& task, SpecialContext* context) {
  RadixSorter(task, context).Sort();
}

}  // namespace tartan::lower
