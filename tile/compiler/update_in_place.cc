// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/update_in_place.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tile/compiler/merge_parameters.h"

namespace tartan::compiler {
namespace {

bool Contains(const std::vector<int>& buffers, int buffer) {
  return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
}

bool Touch(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int buffer) { return Contains(b, buffer); });
}

class Updater {
 public:
  Updater(absl::Span<const int> next, KernelList* list)
      : next_(next), list_(*list), merger_(list) {}

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
    DropUnusedKernels(&list_);
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
    if (!merger_.Merge(state, made, &std::get<LaunchStep>(list_.steps[writer]))) return false;
    if (last_reader > writer) {
      const auto first = list_.steps.begin() + writer;
      std::rotate(first, first + 1, list_.steps.begin() + last_reader + 1);
    }
    merger_.ReplaceBuffer(made, state);
    return true;
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
      if (is_changed && Contains(used.read, state) &&
          !(writes && merger_.IgnoresParameter(*step, state))) {
        return false;
      }
    }
    if (copied == list_.steps.end()) return false;
    for (Step& step : list_.steps) {
      auto* launch = std::get_if<LaunchStep>(&step);
      if (launch == nullptr || !Contains(BuffersOf(list_, step).written, made)) continue;
      merger_.Drop(state, launch);
    }
    list_.steps.erase(copied);
    merger_.ReplaceBuffer(made, state);
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

  const absl::Span<const int> next_;
  KernelList& list_;
  std::vector<std::pair<int, int>> saved_;  // pairs of output and buffer with the state's old value
  ParameterMerger merger_;
};

}  // namespace

bool HasStates(const ir::Program& program) {
  return std::any_of(program.inputs.begin(), program.inputs.end(), [&](ir::ValueId input) {
    return std::get<ir::Input>(program.values[input].op).next >= 0;
  });
}

void UpdateInPlace(absl::Span<const int> next, KernelList* list) {
  if (std::all_of(next.begin(), next.end(), [](int output) { return output < 0; })) return;
  Updater(next, list).Run();
}

}  // namespace tartan::compiler
