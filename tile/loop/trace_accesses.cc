// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/trace_accesses.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tile/base/scalar_value.h"
#include "tile/loop/access_program.h"

namespace tartan::loop {
namespace {

using Action = AccessAction;
using Node = AccessNode;

// A known integer, or nothing if it depends on data. The flag is as wide as the value, because a
// processor waits for a narrow store that a wide load follows, as with std::optional.
class Known {
 public:
  Known() = default;
  Known(std::nullopt_t) {}                            // NOLINT: as std::optional
  Known(int64_t value) : value_(value), known_(1) {}  // NOLINT: as std::optional

  bool has_value() const { return known_ != 0; }
  int64_t operator*() const { return value_; }
  bool is(int64_t value) const { return has_value() && value_ == value; }

 private:
  int64_t value_ = 0;
  int64_t known_ = 0;
};

// Executes the actions, work-item by work-item.
class Tracer {
 public:
  Tracer(const Kernel& kernel, const TraceOptions& options,
         const std::function<void(int, int64_t, int64_t)>& visit)
      : kernel_(kernel),
        options_(options),
        visit_(visit),
        program_(MakeAccessProgram(kernel, options.stores, options.loads)) {
    slots_.resize(program_.slot_count);
    for (size_t s = 0; s < kernel.sizes.size(); ++s) {
      const loop::Size& size = kernel.sizes[s];
      if (size.is_float) continue;
      slots_[s] = options.sizes.empty() ? size.value : options.sizes[s];
    }
    trace_.is_uncertain.resize(kernel.parameters.size());
  }

  Trace Run() {
    if (options_.only_if_complete && CertainSteps() > options_.max_steps) {
      trace_.is_complete = false;
      return std::move(trace_);
    }
    std::vector<int64_t> groups[3];
    for (int d = 0; d < 3; ++d) {
      const int64_t count = ItemCount(d) / kernel_.local_size[d];
      for (int64_t g = 0; g < count; ++g) {
        if (options_.edges_only && g == 2) g = std::max(g, count - 2);
        groups[d].push_back(g);
      }
    }
    for (const int64_t z : groups[2]) {
      for (const int64_t y : groups[1]) {
        for (const int64_t x : groups[0]) {
          if (trace_.is_complete) RunGroup({x, y, z});
        }
      }
    }
    return std::move(trace_);
  }

 private:
  int64_t ItemCount(int d) const {
    return options_.global_size[d] > 0 ? options_.global_size[d] : kernel_.global_size[d];
  }

  // A lower bound of the steps of all work-items.
  int64_t CertainSteps() const {
    int64_t steps = CertainSteps(program_.actions);
    for (int d = 0; d < 3; ++d) steps = Times(steps, ItemCount(d));
    return steps;
  }

  // Counts loops with literal bounds, and no branches.
  int64_t CertainSteps(const std::vector<Action>& actions) const {
    int64_t steps = static_cast<int64_t>(actions.size());
    for (const Action& action : actions) {
      if (action.kind != Action::Kind::kLoop) continue;
      const Node& begin = program_.nodes[action.first];
      const Node& end = program_.nodes[action.second];
      const bool is_literal = begin.kind == Node::Kind::kLiteral && end.kind == begin.kind;
      if (!is_literal || begin.value >= end.value) continue;
      const int64_t iterations = (end.value - begin.value - 1) / action.step + 1;
      steps = std::max(steps, Times(iterations, CertainSteps(action.body)));
    }
    return steps;
  }

  // Multiplies counts; at most 2^62.
  static int64_t Times(int64_t a, int64_t b) {
    constexpr int64_t kMost = int64_t{1} << 62;
    return a > 0 && b > kMost / a ? kMost : a * b;
  }

  void RunGroup(const std::array<int64_t, 3>& group) {
    const int64_t* size = kernel_.local_size;
    for (int64_t item = 0; trace_.is_complete && item < size[0] * size[1] * size[2]; ++item) {
      const int64_t local[] = {item % size[0], item / size[0] % size[1], item / size[0] / size[1]};
      for (int d = 0; d < 3; ++d) {
        work_[3 * static_cast<int>(WorkId::kGlobal) + d] = group[d] * size[d] + local[d];
        work_[3 * static_cast<int>(WorkId::kGroup) + d] = group[d];
        work_[3 * static_cast<int>(WorkId::kLocal) + d] = local[d];
      }
      Do(program_.actions);
    }
  }

  void Do(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (++steps_ > options_.max_steps) trace_.is_complete = false;
      if (!trace_.is_complete) return;
      Do(action);
    }
  }

  void Do(const Action& action) {
    switch (action.kind) {
      case Action::Kind::kEvaluate:
        Evaluate(action.first);
        return;
      case Action::Kind::kAssign:
        slots_[action.place] = Evaluate(action.first);
        return;
      case Action::Kind::kStore: {
        const Known index = action.first < 0 ? Known() : Evaluate(action.first);
        if (!index.has_value()) return Doubt(action.place);
        return visit_(action.place, *index, action.lanes);
      }
      case Action::Kind::kLoop:
        return DoLoop(action);
      case Action::Kind::kBranch: {
        const Known condition = Evaluate(action.first);
        if (condition.has_value()) return Do(*condition != 0 ? action.body : action.otherwise);
        Skip(action.body);
        return Skip(action.otherwise);
      }
    }
  }

  void DoLoop(const Action& loop) {
    const Known begin = Evaluate(loop.first);
    if (!begin.has_value() || !Evaluate(loop.second).has_value()) return Skip(loop.body);
    for (int64_t i = *begin; trace_.is_complete; i += loop.step) {
      const Known end = Evaluate(loop.second);
      if (!end.has_value()) return Skip(loop.body);
      if (i >= *end) return;
      slots_[loop.place] = i;
      Do(loop.body);
    }
  }

  // Marks everything that these conditionally executed actions assign or access as unknown.
  void Skip(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (action.kind == Action::Kind::kAssign) slots_[action.place] = std::nullopt;
      if (action.kind == Action::Kind::kStore) Doubt(action.place);
      for (const int node : {action.first, action.second}) DoubtLoads(node);
      Skip(action.body);
      Skip(action.otherwise);
    }
  }

  void Doubt(int parameter) {
    if (parameter >= 0) trace_.is_uncertain[parameter] = true;
  }

  void DoubtLoads(int position) {
    if (position < 0 || options_.loads.empty()) return;
    const Node& node = program_.nodes[position];
    if (node.kind == Node::Kind::kLoad) Doubt(node.place);
    for (const int child : node.children) DoubtLoads(child);
  }

  Known Evaluate(int position) {
    const Node& node = program_.nodes[position];
    switch (node.kind) {
      case Node::Kind::kLiteral:
        return node.value;
      case Node::Kind::kVariable:
        return slots_[node.place];
      case Node::Kind::kWork:
        return work_[node.place];
      case Node::Kind::kApply:
        return EvaluateApply(node);
      case Node::Kind::kLoad:
        EvaluateLoad(node);
        return std::nullopt;
      case Node::Kind::kOther:
        if (options_.loads.empty()) return std::nullopt;
        for (const int child : node.children) Evaluate(child);
        return std::nullopt;
    }
    return std::nullopt;
  }

  void EvaluateLoad(const Node& node) {
    const Known index = Evaluate(node.children[0]);
    if (node.place < 0) return;
    const Known lanes = node.children.size() > 1 ? Evaluate(node.children[1]) : Known(node.lanes);
    if (!index.has_value() || !lanes.has_value()) return Doubt(node.place);
    if (*lanes > 0) visit_(node.place, *index, *lanes);
  }

  // Evaluates only the operands that a condition selects, as in C.
  Known EvaluateApply(const Node& node) {
    const Known a = Evaluate(node.children[0]);
    if (node.op == ScalarOp::kSelect) {
      if (a.has_value()) return Evaluate(node.children[*a != 0 ? 1 : 2]);
      DoubtLoads(node.children[1]);
      DoubtLoads(node.children[2]);
      return std::nullopt;
    }
    if (node.op == ScalarOp::kLogicalAnd && a.is(0)) return 0;
    if (node.op == ScalarOp::kLogicalOr && a.has_value() && *a != 0) return 1;
    const Known b = node.children.size() > 1 ? Evaluate(node.children[1]) : Known(0);
    if (node.op == ScalarOp::kLogicalAnd && b.is(0)) return 0;
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    return Compute(node, *a, *b);
  }

  // Sums and multiplications of indices do not wrap here. An overflow on a device shows up as an
  // index outside of every buffer.
  static int64_t Compute(const Node& node, int64_t a, int64_t b) {
    switch (node.op) {
      case ScalarOp::kAdd:
        return a + b;
      case ScalarOp::kSub:
        return a - b;
      case ScalarOp::kMul:
        return a * b;
      case ScalarOp::kCast:
        return ConvertScalar({a, 0}, node.type, node.result).integer;
      default: {
        const Scalar operands[] = {{a, 0}, {b, 0}};
        return EvaluateScalar(node.op, node.type, {operands, node.children.size()}).integer;
      }
    }
  }

  const Kernel& kernel_;
  const TraceOptions& options_;
  const std::function<void(int, int64_t, int64_t)>& visit_;
  const AccessProgram program_;
  std::vector<Known> slots_;
  std::array<int64_t, 9> work_ = {};
  int64_t steps_ = 0;
  Trace trace_;
};

}  // namespace

Trace TraceAccesses(const Kernel& kernel, const TraceOptions& options,
                    const std::function<void(int parameter, int64_t index, int64_t lanes)>& visit) {
  return Tracer(kernel, options, visit).Run();
}

}  // namespace tartan::loop
