// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/link_parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/check_bounds.h"
#include "tile/compiler/launches/mark_launch_batches.h"
#include "tile/compiler/memory/lifetimes.h"
#include "tile/compiler/verify_list.h"

namespace tartan::compiler {
namespace {

class Linker {
 public:
  explicit Linker(LinkedProgram program) : program_(std::move(program)) {}

  absl::StatusOr<KernelList> Run() {
    list_.name = program_.name;
    values_.assign(program_.inputs.size(), Result{});
    for (size_t p = 0; p < program_.parts.size(); ++p) {
      ProgramPart& part = program_.parts[p];
      TARTAN_RETURN_IF_ERROR(BeginPart(p, part));
      if (part.iterations == 0) {
        AddOnce(part);
      } else {
        TARTAN_RETURN_IF_ERROR(AddLoop(part));
      }
    }
    return Finish();
  }

 private:
  struct Result {
    int buffer = -1;
    TensorShape shape = {};  // a view may have other dimensions than its buffer
  };

  BufferInfo& Info(int buffer) { return list_.buffers[static_cast<size_t>(buffer)]; }

  int AddBuffer(BufferInfo info) {
    list_.buffers.push_back(std::move(info));
    return static_cast<int>(list_.buffers.size()) - 1;
  }

  int AddTemporary(absl::string_view name, const TensorShape& shape, int64_t bytes) {
    return AddBuffer({std::string(name), BufferKind::kTemporary, shape, bytes});
  }

  int AddView(int base, const BufferInfo& info, int64_t offset) {
    return AddBuffer({info.name, BufferKind::kTemporary, info.shape, info.bytes, base, offset});
  }

  void AddCopy(int from, int to) {
    if (from != to && Info(to).bytes > 0) list_.steps.push_back(CopyStep{from, to});
  }

  int CopyOf(int buffer) {
    const BufferInfo info = Info(buffer);
    const int copy = AddTemporary(info.name, info.shape, info.bytes);
    AddCopy(buffer, copy);
    return copy;
  }

  // Returns the buffer, or a copy of it in memory of the run that has no base.
  int InOwnMemory(int buffer) {
    return IsOfRun(Info(buffer).kind) && Info(buffer).base < 0 ? buffer : CopyOf(buffer);
  }

  // Like InOwnMemory, and no loop divides the memory into another number of rows. The views of a
  // buffer are thus equal or disjoint.
  int InRows(int buffer, int64_t rows) {
    int whole = InOwnMemory(buffer);
    if (rows_.emplace(whole, rows).first->second == rows) return whole;
    whole = CopyOf(whole);
    rows_.emplace(whole, rows);
    return whole;
  }

  // Adds the part's kernels, buffers and setup steps. Sets `map_`.
  absl::Status BeginPart(size_t number, const ProgramPart& part) {
    const KernelList& list = part.list;
    if (list.inputs.size() != part.arguments.size()) {
      return absl::InternalError(absl::StrCat("part ", number, " has ", list.inputs.size(),
                                              " inputs, not ", part.arguments.size()));
    }
    map_.assign(list.buffers.size(), -1);
    for (size_t i = 0; i < list.inputs.size(); ++i) {
      const int argument = part.arguments[i];
      if (argument < 0 || argument >= static_cast<int>(values_.size())) {
        return absl::InternalError(absl::StrCat("part ", number, " reads value ", argument));
      }
      Result& value = values_[static_cast<size_t>(argument)];
      if (value.buffer < 0) {
        BufferInfo info = list.buffers[static_cast<size_t>(list.inputs[i])];
        info.kind = program_.inputs[static_cast<size_t>(argument)];
        value = {AddBuffer(info), info.shape};
      }
      map_[static_cast<size_t>(list.inputs[i])] = value.buffer;
    }
    for (size_t b = 0; b < map_.size(); ++b) {
      if (map_[b] >= 0) continue;
      BufferInfo info = list.buffers[b];
      if (info.kind == BufferKind::kOutput) info.kind = BufferKind::kTemporary;
      map_[b] = AddBuffer(std::move(info));
    }
    first_kernel_ = static_cast<int>(list_.kernels.size());
    for (loop::Kernel kernel : list.kernels) {
      if (number > 0) absl::StrAppend(&kernel.name, "_p", number);
      list_.kernels.push_back(std::move(kernel));
    }
    for (const Step& step : list.setup) list_.setup.push_back(Mapped(step));
    return absl::OkStatus();
  }

  Step Mapped(const Step& step) const {
    const auto at = [&](int buffer) { return map_[static_cast<size_t>(buffer)]; };
    return Match(
        step,
        [&](const LaunchStep& launch) -> Step {
          LaunchStep mapped = launch;
          mapped.kernel += first_kernel_;
          for (int& buffer : mapped.buffers) buffer = at(buffer);
          return mapped;
        },
        [&](const FillStep& fill) -> Step {
          return FillStep{at(fill.buffer), fill.type, fill.value};
        },
        [&](const CopyStep& copy) -> Step {
          return CopyStep{at(copy.from), at(copy.to)};
        });
  }

  void AddSteps(const std::vector<Step>& steps) {
    for (const Step& step : steps) list_.steps.push_back(Mapped(step));
  }

  void AddOnce(const ProgramPart& part) {
    AddSteps(part.list.steps);
    const bool is_last = &part == &program_.parts.back();
    for (size_t o = 0; o < part.list.outputs.size(); ++o) {
      int buffer = map_[static_cast<size_t>(part.list.outputs[o])];
      // The last part may overwrite the state.
      if (!is_last && Info(buffer).kind == BufferKind::kState) buffer = InOwnMemory(buffer);
      values_.push_back({buffer, part.list.output_shapes[o]});
    }
  }

  // A body's output.
  enum class Place : uint8_t {
    kOwn,   // launches write it where the linker says
    kSame,  // a state that stays as it is
    kRow,   // a state that is also a row
    kCopy,  // copied at the end of an iteration
  };
  struct Output {
    int local = 0;
    Place place = Place::kCopy;
    int row = -1;
  };

  std::vector<Output> OutputsOf(const ProgramPart& part) const {
    const KernelList& list = part.list;
    std::vector<bool> is_free(list.buffers.size(), false);
    for (const Step& step : list.steps) {
      for (const int buffer : BuffersOf(list, step).written) {
        is_free[static_cast<size_t>(buffer)] = true;
      }
    }
    for (const int input : list.inputs) is_free[static_cast<size_t>(input)] = false;
    const auto take = [&](int local) {
      const auto at = static_cast<size_t>(local);
      const bool was_free = is_free[at];
      is_free[at] = false;
      return was_free;
    };
    const auto states = static_cast<size_t>(part.states);
    std::vector<Output> outputs(list.outputs.size());
    for (size_t o = states; o < outputs.size(); ++o) {
      outputs[o].local = list.outputs[o];
      if (take(list.outputs[o])) outputs[o].place = Place::kOwn;
    }
    for (size_t s = 0; s < states; ++s) {
      Output& output = outputs[s];
      output.local = list.outputs[s];
      for (size_t o = states; o < outputs.size(); ++o) {
        if (outputs[o].local != output.local || outputs[o].place != Place::kOwn) continue;
        output.row = static_cast<int>(o - states);
      }
      output.place = output.row >= 0                  ? Place::kRow
                     : output.local == list.inputs[s] ? Place::kSame
                     : take(output.local)             ? Place::kOwn
                                                      : Place::kCopy;
    }
    return outputs;
  }

  struct BodySteps {
    std::vector<Step> once;  // do the same in each iteration, such as packing weights
    std::vector<Step> each;
  };

  static BodySteps StepsOf(const ProgramPart& part) {
    const KernelList& list = part.list;
    std::vector<int> writers(list.buffers.size(), 0);
    std::vector<bool> varies(list.buffers.size(), false);
    for (const Step& step : list.steps) {
      for (const int buffer : BuffersOf(list, step).written) {
        ++writers[static_cast<size_t>(buffer)];
        varies[static_cast<size_t>(buffer)] = true;
      }
    }
    const auto rows = static_cast<size_t>(part.states + part.slices);
    for (size_t i = 0; i < rows; ++i) varies[static_cast<size_t>(list.inputs[i])] = true;
    for (const int output : list.outputs) writers[static_cast<size_t>(output)] = 0;
    BodySteps steps;
    for (const Step& step : list.steps) {
      const StepBuffers buffers = BuffersOf(list, step);
      const bool is_same =
          std::none_of(buffers.read.begin(), buffers.read.end(),
                       [&](int buffer) { return varies[static_cast<size_t>(buffer)]; }) &&
          std::all_of(buffers.written.begin(), buffers.written.end(),
                      [&](int buffer) { return writers[static_cast<size_t>(buffer)] == 1; });
      (is_same ? steps.once : steps.each).push_back(step);
      if (!is_same) continue;
      for (const int buffer : buffers.written) varies[static_cast<size_t>(buffer)] = false;
    }
    return steps;
  }

  absl::Status AddLoop(const ProgramPart& part) {
    const auto states = static_cast<size_t>(part.states);
    const auto slices = static_cast<size_t>(part.slices);
    const KernelList& list = part.list;
    if (list.inputs.size() < states + slices ||
        list.outputs.size() != states + part.row_elements.size()) {
      return absl::InternalError(absl::StrCat("a loop's body has ", list.inputs.size(),
                                              " inputs and ", list.outputs.size(), " outputs"));
    }
    LoopBuffers loop = BuffersOfLoop(part);
    const BodySteps steps = StepsOf(part);
    AddSteps(steps.once);
    const std::vector<int> map = map_;
    for (int64_t n = 0; n < part.iterations; ++n) {
      map_ = map;
      AddIteration(part, steps.each, n, &loop);
    }
    for (size_t s = 0; s < states; ++s) {
      int buffer = loop.current[s];
      if (Info(buffer).kind == BufferKind::kState) buffer = InOwnMemory(buffer);
      values_.push_back({buffer, list.output_shapes[s]});
    }
    for (const int buffer : loop.stacked) values_.push_back({buffer, Info(buffer).shape});
    return absl::OkStatus();
  }

  struct LoopBuffers {
    std::vector<Output> outputs;
    std::vector<int> scanned;  // tensors whose rows are read
    std::vector<int> stacked;  // tensors whose rows are written
    std::vector<int> current;  // the states before an iteration
    std::vector<std::array<int, 2>> places;
  };

  LoopBuffers BuffersOfLoop(const ProgramPart& part) {
    const auto states = static_cast<size_t>(part.states);
    const KernelList& list = part.list;
    LoopBuffers loop;
    loop.outputs = OutputsOf(part);
    for (size_t i = states; i < states + static_cast<size_t>(part.slices); ++i) {
      const int whole = map_[static_cast<size_t>(list.inputs[i])];
      loop.scanned.push_back(InRows(whole, part.iterations));
    }
    for (size_t r = 0; r < part.row_elements.size(); ++r) {
      const DataType type = list.output_shapes[states + r].type;
      const TensorShape shape{type, {part.iterations, part.row_elements[r]}};
      const int local = loop.outputs[states + r].local;
      loop.stacked.push_back(
          AddTemporary(list.buffers[static_cast<size_t>(local)].name, shape, shape.byte_size()));
      rows_.emplace(loop.stacked.back(), part.iterations);
    }
    for (size_t s = 0; s < states; ++s) {
      loop.current.push_back(map_[static_cast<size_t>(list.inputs[s])]);
      const BufferInfo info = list.buffers[static_cast<size_t>(list.inputs[s])];
      const Place place = loop.outputs[s].place;
      loop.places.push_back({-1, -1});
      for (int& buffer : loop.places.back()) {
        if (place != Place::kOwn && place != Place::kCopy) continue;
        buffer = AddTemporary(info.name, info.shape, info.bytes);
      }
    }
    return loop;
  }

  // Adds iteration `n`. `map_` has the body's buffers that stay.
  void AddIteration(const ProgramPart& part, const std::vector<Step>& steps, int64_t n,
                    LoopBuffers* loop) {
    const auto states = static_cast<size_t>(part.states);
    const KernelList& list = part.list;
    const int64_t row = part.reversed ? part.iterations - 1 - n : n;
    for (size_t s = 0; s < states; ++s) {
      map_[static_cast<size_t>(list.inputs[s])] = loop->current[s];
    }
    for (size_t i = 0; i < loop->scanned.size(); ++i) {
      const auto local = static_cast<size_t>(list.inputs[states + i]);
      map_[local] = RowOf(loop->scanned[i], list.buffers[local], row, part.iterations);
    }
    // Where the outputs are written.
    std::vector<int> to;
    for (size_t o = 0; o < loop->outputs.size(); ++o) {
      const auto local = static_cast<size_t>(loop->outputs[o].local);
      if (o < states) {
        to.push_back(loop->places[o][static_cast<size_t>(n % 2)]);
      } else {
        BufferInfo info = list.buffers[local];
        info.shape = list.output_shapes[o];
        to.push_back(RowOf(loop->stacked[o - states], info, row, part.iterations));
      }
      if (loop->outputs[o].place == Place::kOwn) map_[local] = to.back();
    }
    AddSteps(steps);
    for (size_t o = 0; o < to.size(); ++o) {
      const Output& output = loop->outputs[o];
      if (output.place == Place::kCopy) AddCopy(map_[static_cast<size_t>(output.local)], to[o]);
      if (o >= states || output.place == Place::kSame) continue;
      const bool is_row = output.place == Place::kRow;
      loop->current[o] = is_row ? to[states + static_cast<size_t>(output.row)] : to[o];
    }
  }

  // Row `row` of a tensor of `count` rows.
  int RowOf(int tensor, const BufferInfo& info, int64_t row, int64_t count) {
    return AddView(tensor, info, Info(tensor).bytes / count * row);
  }

  absl::StatusOr<KernelList> Finish() {
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const int buffer = values_[i].buffer;
      if (buffer < 0) return absl::InternalError(absl::StrCat("no part has input ", i));
      list_.inputs.push_back(buffer);
    }
    for (const int output : program_.outputs) {
      if (output < 0 || output >= static_cast<int>(values_.size())) {
        return absl::InternalError(absl::StrCat("output ", output, " of ", values_.size()));
      }
      const Result& value = values_[static_cast<size_t>(output)];
      list_.outputs.push_back(value.buffer);
      list_.output_shapes.push_back(value.shape);
    }
    // Next values of states that earlier parts computed.
    for (size_t i = 0; i < program_.next.size(); ++i) {
      if (program_.next[i] < 0) continue;
      int& output = list_.outputs[static_cast<size_t>(program_.next[i])];
      AddCopy(output, list_.inputs[i]);
      output = list_.inputs[i];
    }
    return std::move(list_);
  }

  LinkedProgram program_;
  KernelList list_;
  std::vector<Result> values_;
  std::vector<int> map_;         // buffer of the list, per buffer of the part
  std::map<int, int64_t> rows_;  // the number of rows of buffers that have views
  int first_kernel_ = 0;
};

}  // namespace

absl::StatusOr<KernelList> LinkParts(LinkedProgram program, const CompileOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(KernelList list, Linker(std::move(program)).Run());
  if (options.check_bounds) {
    for (loop::Kernel& kernel : list.kernels) kernel.in_launch_batch = false;
    CheckBounds(&list);
  } else if (options.tier == Tier::kExact) {
    MarkLaunchBatches(options.settings, &list);
  }
  TARTAN_RETURN_IF_ERROR(VerifyList(list));
  return list;
}

}  // namespace tartan::compiler
