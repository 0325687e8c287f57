// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/update_in_place.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/loop/rename.h"
#include "tile/loop/traverse.h"

namespace tartan::compiler {
namespace {

bool Contains(const std::vector<int>& buffers, int buffer) {
  return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
}

bool Touch(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int buffer) { return Contains(b, buffer); });
}

// Reads of one buffer and writes to another in a kernel, in program order.
class Accesses {
 public:
  Accesses(const loop::Kernel& kernel, std::string read, std::string written)
      : read_(std::move(read)),
        written_(std::move(written)),
        has_several_items_(std::any_of(std::begin(kernel.local_size), std::end(kernel.local_size),
                                       [](int64_t size) { return size > 1; })) {
    Visit(kernel.body);
  }

  bool AreNone() const { return is_simple_ && accesses_.empty(); }

  // Returns true if each element is read in the place where it is written, and not later. Valid for
  // kernels that write each element once.
  bool AreElementwise() const {
    if (!is_simple_) return false;
    for (size_t load = 0; load < accesses_.size(); ++load) {
      if (accesses_[load].is_store) continue;
      bool is_written = false;
      for (size_t store = 0; store < accesses_.size(); ++store) {
        if (!accesses_[store].is_store || accesses_[store].place != accesses_[load].place) continue;
        if (!IsWithin(accesses_[store].scope, accesses_[load].scope)) continue;
        // If only one of several work-items writes, the others may read later.
        if (has_several_items_ && accesses_[store].scope != accesses_[load].scope) return false;
        if (store < load) return false;
        is_written = true;
      }
      if (!is_written) return false;
    }
    return true;
  }

 private:
  struct Access {
    bool is_store = false;
    std::string place;
    std::vector<int> scope;
  };

  void Visit(const loop::StmtPtr& stmt) {
    const bool is_scope = std::holds_alternative<loop::For>(stmt->node) ||
                          std::holds_alternative<loop::If>(stmt->node);
    loop::ForEachChild(*stmt, Overloaded{[&](const loop::ExprPtr& expr) { Visit(expr); },
                                         [&](const loop::StmtPtr& child) {
                                           if (is_scope) scope_.push_back(scopes_++);
                                           Visit(child);
                                           if (is_scope) scope_.pop_back();
                                         }});
    const std::string* name = loop::NameOf(*stmt);
    if (name == nullptr || (*name != written_ && *name != read_)) return;
    if (const auto* store = std::get_if<loop::Store>(&stmt->node)) {
      Add(/*is_store=*/true, store->index, store->value->type.lanes);
    } else if (!std::holds_alternative<loop::Prefetch>(stmt->node)) {
      is_simple_ = false;
    }
  }

  static bool IsWithin(const std::vector<int>& inner, const std::vector<int>& outer) {
    return inner.size() >= outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
  }

  void Visit(const loop::ExprPtr& expr) {
    loop::ForEachChild(*expr, [&](const loop::ExprPtr& child) { Visit(child); });
    const auto* load = std::get_if<loop::Load>(&expr->node);
    if (load == nullptr) return;
    if (load->buffer == written_) is_simple_ = false;
    if (load->buffer == read_) Add(/*is_store=*/false, load->index, expr->type.lanes);
  }

  void Add(bool is_store, const loop::ExprPtr& index, int lanes) {
    accesses_.push_back({is_store, absl::StrCat(lanes, "@", loop::ToString(index)), scope_});
  }

  const std::string read_;
  const std::string written_;
  const bool has_several_items_;  // a work-group has several work-items
  std::vector<int> scope_;
  int scopes_ = 0;
  std::vector<Access> accesses_;
  bool is_simple_ = true;
};

class Updater {
 public:
  Updater(absl::Span<const int> next, KernelList* list) : next_(next), list_(*list) {}

  void Run() {
    SaveOldValues();
    std::vector<Step> copies;
    for (size_t i = 0; i < next_.size(); ++i) {
      if (next_[i] < 0) continue;
      const int state = list_.inputs[i];
      int& made = list_.outputs[next_[i]];
      if (made == state || WriteInPlace(state, made) || WriteIntoCopy(state, made)) continue;
      if (list_.buffers[state].bytes > 0) copies.push_back(CopyStep{made, state});
      if (list_.buffers[made].kind == BufferKind::kOutput && !IsOtherOutput(next_[i]))
        list_.buffers[made].kind = BufferKind::kTemporary;
      made = state;
    }
    list_.steps.insert(list_.steps.end(), copies.begin(), copies.end());
    RemoveUnusedKernels();
  }

 private:
  bool IsState(int buffer) const { return list_.buffers[buffer].kind == BufferKind::kState; }

  // Returns true if another output shares this output's buffer.
  bool IsOtherOutput(int output) const {
    for (size_t o = 0; o < list_.outputs.size(); ++o) {
      if (static_cast<int>(o) != output && list_.outputs[o] == list_.outputs[output]) return true;
    }
    return false;
  }

  // Returns true if the buffer is a state whose value changes.
  bool IsChanged(int buffer) const {
    for (size_t i = 0; i < next_.size(); ++i) {
      if (list_.inputs[i] == buffer) return next_[i] >= 0 && list_.outputs[next_[i]] != buffer;
    }
    return false;
  }

  // Outputs that return a state which changes return a copy of its old value.
  void SaveOldValues() {
    std::map<int, int> copies;
    std::vector<Step> steps;
    const std::vector<int> outputs = list_.outputs;
    for (size_t o = 0; o < outputs.size(); ++o) {
      const int state = outputs[o];
      if (!IsState(state) || !IsChanged(state)) continue;
      const auto [copy, is_new] = copies.emplace(state, static_cast<int>(list_.buffers.size()));
      if (is_new) {
        BufferInfo info = list_.buffers[state];
        info.kind = BufferKind::kOutput;
        absl::StrAppend(&info.name, "_before");
        list_.buffers.push_back(std::move(info));
        if (list_.buffers[state].bytes > 0) steps.push_back(CopyStep{state, copy->second});
      }
      saved_.emplace_back(static_cast<int>(o), copy->second);
    }
    for (const auto& [output, copy] : saved_) list_.outputs[output] = copy;
    list_.steps.insert(list_.steps.begin(), steps.begin(), steps.end());
  }

  // Returns false if the next value cannot be written in place.
  bool WriteInPlace(int state, int made) {
    if (list_.buffers[made].kind != BufferKind::kOutput ||
        list_.buffers[made].bytes != list_.buffers[state].bytes) {
      return false;
    }
    int writer = -1;
    int last_reader = -1;
    for (size_t s = 0; s < list_.steps.size(); ++s) {
      const StepBuffers used = BuffersOf(list_, list_.steps[s]);
      if (Contains(used.written, state)) return false;
      if (Contains(used.read, state)) last_reader = static_cast<int>(s);
      if (!Contains(used.written, made)) continue;
      if (writer >= 0) return false;
      writer = static_cast<int>(s);
    }
    if (writer < 0 || !std::holds_alternative<LaunchStep>(list_.steps[writer])) return false;
    if (last_reader > writer && !CanMove(writer, last_reader)) return false;
    if (!MergeParameters(state, made, &std::get<LaunchStep>(list_.steps[writer]))) return false;
    if (last_reader > writer) {
      const auto first = list_.steps.begin() + writer;
      std::rotate(first, first + 1, list_.steps.begin() + last_reader + 1);
    }
    ReplaceBuffer(made, state);
    return true;
  }

  // Returns true for a launch whose kernel has the buffer as a parameter but never accesses it.
  bool IgnoresParameter(const Step& step, int buffer) const {
    const auto* launch = std::get_if<LaunchStep>(&step);
    if (launch == nullptr) return false;
    const loop::Kernel& kernel = list_.kernels[launch->kernel];
    for (size_t p = 0; p < launch->buffers.size(); ++p) {
      if (launch->buffers[p] != buffer) continue;
      if (!Accesses(kernel, kernel.parameters[p].name, "").AreNone()) return false;
    }
    return true;
  }

  // Removes an unused buffer from a launch, with the parameter of its kernel.
  void DropParameters(int buffer, LaunchStep* launch) {
    for (size_t p = launch->buffers.size(); p-- > 0;) {
      if (launch->buffers[p] != buffer) continue;
      const auto key = std::tuple(launch->kernel, -1, std::vector<int>{static_cast<int>(p)});
      auto found = merged_.find(key);
      if (found == merged_.end()) {
        loop::Kernel kernel = list_.kernels[launch->kernel];
        kernel.name = VariantName(kernel.name);
        kernel.parameters.erase(kernel.parameters.begin() + static_cast<int64_t>(p));
        list_.kernels.push_back(std::move(kernel));
        found = merged_.emplace(key, static_cast<int>(list_.kernels.size()) - 1).first;
      }
      launch->kernel = found->second;
      launch->buffers.erase(launch->buffers.begin() + static_cast<int64_t>(p));
    }
  }

  // Handles a scatter: its result begins as a copy of the state, and then a few elements change.
  // Returns false if it cannot be written in place.
  bool WriteIntoCopy(int state, int made) {
    if (list_.buffers[made].kind != BufferKind::kOutput) return false;
    auto copied = list_.steps.end();
    bool is_changed = false;
    for (auto step = list_.steps.begin(); step != list_.steps.end(); ++step) {
      const auto* copy = std::get_if<CopyStep>(&*step);
      const bool is_copy = copy != nullptr && copy->from == state && copy->to == made;
      if (is_copy && copied == list_.steps.end()) {
        copied = step;
        continue;
      }
      const StepBuffers used = BuffersOf(list_, *step);
      const bool writes = Contains(used.written, made);
      if (Contains(used.written, state)) return false;
      if (copied == list_.steps.end() && (writes || Contains(used.read, made))) return false;
      is_changed |= writes;
      // Later readers of the state need its old value.
      if (is_changed && Contains(used.read, state) && !(writes && IgnoresParameter(*step, state))) {
        return false;
      }
    }
    if (copied == list_.steps.end()) return false;
    for (Step& step : list_.steps) {
      auto* launch = std::get_if<LaunchStep>(&step);
      if (launch == nullptr || !Contains(BuffersOf(list_, step).written, made)) continue;
      DropParameters(state, launch);
    }
    list_.steps.erase(copied);
    ReplaceBuffer(made, state);
    return true;
  }

  // Returns true if a step may move after a later step.
  bool CanMove(int step, int behind) const {
    const StepBuffers moved = BuffersOf(list_, list_.steps[step]);
    for (int s = step + 1; s <= behind; ++s) {
      const StepBuffers passed = BuffersOf(list_, list_.steps[s]);
      if (Touch(moved.written, passed.read) || Touch(moved.written, passed.written) ||
          Touch(moved.read, passed.written)) {
        return false;
      }
    }
    return true;
  }

  // If the launch reads the state, replaces its kernel by one that reads and writes the state
  // through the output parameter. Returns false unless each element is read where it is written.
  bool MergeParameters(int state, int made, LaunchStep* launch) {
    const loop::Kernel& kernel = list_.kernels[launch->kernel];
    std::vector<int> read;
    std::vector<int> written;
    for (size_t p = 0; p < launch->buffers.size(); ++p) {
      if (launch->buffers[p] == state) read.push_back(static_cast<int>(p));
      if (launch->buffers[p] == made) written.push_back(static_cast<int>(p));
    }
    if (written.size() != 1) return false;
    if (read.empty()) return true;
    const auto output = static_cast<size_t>(written[0]);
    if (output >= launch->writes_once.size() || !launch->writes_once[output]) return false;
    const auto key = std::tuple(launch->kernel, written[0], read);
    auto found = merged_.find(key);
    if (found == merged_.end()) {
      for (const int parameter : read) {
        const Accesses accesses(kernel, kernel.parameters[parameter].name,
                                kernel.parameters[written[0]].name);
        if (!accesses.AreElementwise()) return false;
      }
      list_.kernels.push_back(Merge(kernel, written[0], read));
      found = merged_.emplace(key, static_cast<int>(list_.kernels.size()) - 1).first;
    }
    launch->kernel = found->second;
    for (auto p = read.rbegin(); p != read.rend(); ++p) {
      launch->buffers.erase(launch->buffers.begin() + *p);
    }
    return true;
  }

  // The name of the next kernel of the list, which is a form of the kernel `name`. Its length does
  // not grow with the number of changes, because drivers name files by kernels.
  std::string VariantName(const std::string& name) const {
    const size_t end = name.rfind("_form");
    return absl::StrCat(name.substr(0, end), "_form", list_.kernels.size());
  }

  loop::Kernel Merge(loop::Kernel kernel, int written, const std::vector<int>& read) const {
    loop::Renaming renaming;
    kernel.name = VariantName(kernel.name);
    for (auto p = read.rbegin(); p != read.rend(); ++p) {
      renaming.emplace(kernel.parameters[*p].name, kernel.parameters[written].name);
      kernel.parameters.erase(kernel.parameters.begin() + *p);
    }
    kernel.body = loop::Rename(kernel.body, renaming);
    return kernel;
  }

  void ReplaceBuffer(int from, int to) {
    const auto replace = [&](int& buffer) { buffer = buffer == from ? to : buffer; };
    for (Step& step : list_.steps) {
      Match(
          step,
          [&](LaunchStep& launch) {
            std::for_each(launch.buffers.begin(), launch.buffers.end(), replace);
          },
          [&](FillStep& fill) { replace(fill.buffer); },
          [&](CopyStep& copy) {
            replace(copy.from);
            replace(copy.to);
          });
    }
    std::for_each(list_.outputs.begin(), list_.outputs.end(), replace);
    // No step uses the old buffer any more.
    list_.buffers[from].kind = BufferKind::kTemporary;
    list_.buffers[from].bytes = 0;
  }

  void RemoveUnusedKernels() {
    if (merged_.empty()) return;
    std::vector<int> numbers(list_.kernels.size(), -1);
    std::vector<loop::Kernel> kernels;
    for (auto* steps : {&list_.setup, &list_.steps}) {
      for (Step& step : *steps) {
        auto* launch = std::get_if<LaunchStep>(&step);
        if (launch != nullptr) numbers[launch->kernel] = 0;
      }
    }
    for (size_t k = 0; k < numbers.size(); ++k) {
      if (numbers[k] < 0) continue;
      numbers[k] = static_cast<int>(kernels.size());
      kernels.push_back(std::move(list_.kernels[k]));
    }
    for (auto* steps : {&list_.setup, &list_.steps}) {
      for (Step& step : *steps) {
        auto* launch = std::get_if<LaunchStep>(&step);
        if (launch != nullptr) launch->kernel = numbers[launch->kernel];
      }
    }
    list_.kernels = std::move(kernels);
  }

  const absl::Span<const int> next_;
  KernelList& list_;
  std::vector<std::pair<int, int>> saved_;  // pairs of output and buffer with the state's old value
  // Merged kernels by origin: kernel, written parameter, and the read parameters merged into it.
  std::map<std::tuple<int, int, std::vector<int>>, int> merged_;
};

}  // namespace

void UpdateInPlace(absl::Span<const int> next, KernelList* list) {
  if (std::all_of(next.begin(), next.end(), [](int output) { return output < 0; })) return;
  Updater(next, list).Run();
}

}  // namespace tartan::compiler
