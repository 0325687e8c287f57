// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/recorded_repetition.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tile/base/status_macros.h"

namespace tartan::evaluator {
namespace {

using compiler::BufferKind;

constexpr size_t kMaxLaunches = 10000;  // maximum per recording

}  // namespace

class RepetitionRecorder {
 public:
  RepetitionRecorder(const CompiledProgram& program, const RepetitionForm& form,
                     const Buffers& buffers)
      : program_(program), list_(program.list()), form_(form), buffers_(buffers) {}

  absl::StatusOr<std::unique_ptr<RecordedRepetition>> Record() {
    if (!IsPossible()) return nullptr;
    result_.reset(new RecordedRepetition(form_));
    TARTAN_RETURN_IF_ERROR(AllocateMemory());
    TARTAN_RETURN_IF_ERROR(RecordIterations());
    return std::move(result_);
  }

 private:
  using Rows = RecordedRepetition::Rows;

  int FirstState() const { return form_.has_iteration ? 1 : 0; }
  int FirstSlice() const { return FirstState() + form_.states; }
  int FirstInvariant() const { return FirstSlice() + form_.slices_in; }
  // Buffer numbers in the list.
  int Input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  int StateIn(int i) const { return Input(FirstState() + i); }
  int StateOut(int i) const { return list_.outputs[static_cast<size_t>(i)]; }
  int RowOut(int i) const { return list_.outputs[static_cast<size_t>(form_.states + i)]; }
  const TensorShape& ShapeOf(int buffer) const {
    return list_.buffers[static_cast<size_t>(buffer)].shape;
  }
  // A row may be a view of its buffer with other dimensions.
  const TensorShape& RowShape(int i) const {
    return list_.output_shapes[static_cast<size_t>(form_.states + i)];
  }

  bool IsPossible() {
    if (form_.has_condition || form_.iterations < 1 ||
        form_.iterations > RecordedRepetition::kMaxIterations) {
      return false;
    }
    for (int input : list_.inputs) {
      const bool is_input = list_.buffers[static_cast<size_t>(input)].kind == BufferKind::kInput;
      if (is_input) inputs_.push_back(input);
    }
    hal::ExecutablePtr executable;
    return LaunchesOf(program_, list_.steps, buffers_, &executable).has_value() && HasElements() &&
           HasPlacesForResults();
  }

  bool HasElements() const {
    bool has_elements = true;
    for (int i = 0; i < FirstInvariant(); ++i) {
      has_elements &= ShapeOf(Input(i)).byte_size() > 0;
    }
    for (int i = 0; i < form_.slices_out; ++i) has_elements &= RowShape(i).byte_size() > 0;
    return has_elements;
  }

  // Returns whether each result that varies by iteration has a buffer of its own that launches
  // write. A state may also be a row, or stay unchanged.
  bool HasPlacesForResults() {
    std::vector<bool> is_free(list_.buffers.size(), false);
    for (const compiler::Step& step : list_.steps) {
      for (int buffer : compiler::BuffersOf(list_, step).written) {
        is_free[static_cast<size_t>(buffer)] = true;
      }
    }
    for (int input : inputs_) is_free[static_cast<size_t>(input)] = false;
    const auto take = [&](int buffer) {
      const bool was_free = is_free[static_cast<size_t>(buffer)];
      is_free[static_cast<size_t>(buffer)] = false;
      return was_free;
    };
    for (int i = 0; i < form_.slices_out; ++i) {
      if (!take(RowOut(i))) return false;
    }
    for (int i = 0; i < form_.states; ++i) {
      int& row = row_of_state_.emplace_back(-1);
      for (int r = 0; r < form_.slices_out; ++r) {
        if (RowOut(r) == StateOut(i)) row = r;
      }
      if (row >= 0 || StateOut(i) == StateIn(i)) continue;
      if (!take(StateOut(i))) return false;
    }
    return true;
  }

  absl::StatusOr<Rows> AllocateRows(const TensorShape& shape) const {
    Rows rows;
    rows.shape = shape;
    const int64_t unit = Device().info().buffer_alignment;
    rows.stride = (rows.row_bytes() + unit - 1) / unit * unit;
    TARTAN_ASSIGN_OR_RETURN(rows.buffer, Device().Allocate(rows.stride * form_.iterations));
    for (int64_t i = 0; i < form_.iterations; ++i) {
      TARTAN_ASSIGN_OR_RETURN(rows.views.emplace_back(),
                              Device().SubBuffer(rows.buffer, i * rows.stride, rows.row_bytes()));
    }
    return rows;
  }

  absl::Status AllocateMemory() {
    if (form_.has_iteration) {
      TARTAN_ASSIGN_OR_RETURN(result_->numbers_, AllocateRows(ShapeOf(Input(0))));
    }
    for (int i = 0; i < form_.slices_in; ++i) {
      TARTAN_ASSIGN_OR_RETURN(result_->in_.emplace_back(),
                              AllocateRows(ShapeOf(Input(FirstSlice() + i))));
    }
    for (int i = 0; i < form_.slices_out; ++i) {
      TARTAN_ASSIGN_OR_RETURN(result_->out_.emplace_back(), AllocateRows(RowShape(i)));
    }
    for (int i = 0; i < form_.states; ++i) {
      TARTAN_RETURN_IF_ERROR(AllocateState(i));
    }
    for (int i = FirstInvariant(); i < static_cast<int>(inputs_.size()); ++i) {
      result_->invariants_.push_back(buffers_[static_cast<size_t>(Input(i))]);
    }
    return absl::OkStatus();
  }

  absl::Status AllocateState(int i) {
    RecordedRepetition::State& state = result_->states_.emplace_back();
    state.shape = ShapeOf(StateIn(i));
    std::array<hal::BufferPtr, 2>& places = places_.emplace_back();
    TARTAN_ASSIGN_OR_RETURN(places[0], Device().Allocate(state.shape.byte_size()));
    state.first = state.last = places[0];
    if (const int row = row_of_state_[static_cast<size_t>(i)]; row >= 0) {
      state.last = result_->out_[static_cast<size_t>(row)].views.back();
    } else if (StateOut(i) != StateIn(i)) {
      TARTAN_ASSIGN_OR_RETURN(places[1], Device().Allocate(state.shape.byte_size()));
      state.last = places[static_cast<size_t>(form_.iterations % 2)];
    }
    return absl::OkStatus();
  }

  // The buffers of iteration `n`.
  Buffers BuffersOf(int64_t n) const {
    Buffers buffers = buffers_;
    const auto number = static_cast<size_t>(n);
    const auto set = [&](int buffer, const hal::BufferPtr& memory) {
      buffers[static_cast<size_t>(buffer)] = memory;
    };
    if (form_.has_iteration) set(Input(0), result_->numbers_.views[number]);
    for (int i = 0; i < form_.slices_in; ++i) {
      set(Input(FirstSlice() + i), result_->in_[static_cast<size_t>(i)].views[number]);
    }
    for (int i = 0; i < form_.slices_out; ++i) {
      set(RowOut(i), result_->out_[static_cast<size_t>(i)].views[number]);
    }
    for (int i = 0; i < form_.states; ++i) {
      const auto& places = places_[static_cast<size_t>(i)];
      if (const int row = row_of_state_[static_cast<size_t>(i)]; row >= 0) {
        const Rows& rows = result_->out_[static_cast<size_t>(row)];
        set(StateIn(i), n == 0 ? places[0] : rows.views[number - 1]);
      } else if (StateOut(i) == StateIn(i)) {
        set(StateIn(i), places[0]);
      } else {
        set(StateIn(i), places[number % 2]);
        set(StateOut(i), places[(number + 1) % 2]);
      }
    }
    return buffers;
  }

  absl::Status RecordIterations() {
    for (int64_t n = 0; n < form_.iterations;) {
      std::vector<hal::Launch> launches;
      hal::ExecutablePtr executable;
      for (; n < form_.iterations && launches.size() < kMaxLaunches; ++n) {
        const auto body = LaunchesOf(program_, list_.steps, BuffersOf(n), &executable);
        launches.insert(launches.end(), body->begin(), body->end());
      }
      TARTAN_ASSIGN_OR_RETURN(result_->recordings_.emplace_back(),
                              Device().Record(executable, launches));
    }
    return absl::OkStatus();
  }

  hal::Device& Device() const { return *program_.device(); }

  const CompiledProgram& program_;
  const compiler::KernelList& list_;
  const RepetitionForm form_;
  const Buffers& buffers_;
  std::vector<int> inputs_;        // non-constant inputs
  std::vector<int> row_of_state_;  // the row that is the same buffer as the state, or -1
  // The buffers of each state before even and odd iterations. A state that is also a row, or stays
  // unchanged, has only the first.
  std::vector<std::array<hal::BufferPtr, 2>> places_;
  std::unique_ptr<RecordedRepetition> result_;
};

absl::StatusOr<std::unique_ptr<RecordedRepetition>> RecordedRepetition::Record(
    const CompiledProgram& program, const RepetitionForm& form, const Buffers& buffers) {
  return RepetitionRecorder(program, form, buffers).Record();
}

// Uploads `bytes` for all rows; they must stay unchanged until the queue is finished.
absl::Status RecordedRepetition::Upload(const Rows& rows, absl::Span<const uint8_t> bytes,
                                        hal::Queue& queue) {
  if (rows.stride == rows.row_bytes()) return queue.WriteAsync(rows.buffer, 0, bytes);
  const auto count = static_cast<int64_t>(rows.views.size());
  std::vector<uint8_t> apart(static_cast<size_t>(rows.stride * count));
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(apart.data() + i * rows.stride, bytes.data() + i * rows.row_bytes(),
                static_cast<size_t>(rows.row_bytes()));
  }
  return queue.Write(rows.buffer, 0, apart);
}

absl::Status RecordedRepetition::Enqueue(absl::Span<const HostTensor> operands, int64_t first,
                                         hal::Queue& queue) const {
  if (form_.has_iteration) {
    std::vector<int64_t> numbers(static_cast<size_t>(numbers_.stride / sizeof(int64_t)) *
                                 numbers_.views.size());
    const size_t step = numbers.size() / numbers_.views.size();
    for (size_t i = 0; i < numbers_.views.size(); ++i) {
      numbers[i * step] = first + static_cast<int64_t>(i);
    }
    TARTAN_RETURN_IF_ERROR(queue.Write(
        numbers_.buffer, 0,
        {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size() * sizeof(int64_t)}));
  }
  size_t next = 0;
  for (const State& state : states_) {
    TARTAN_RETURN_IF_ERROR(queue.WriteAsync(state.first, 0, operands[next++].bytes()));
  }
  for (const Rows& rows : in_) {
    const auto offset = static_cast<size_t>(first * rows.row_bytes());
    const auto size = static_cast<size_t>(form_.iterations * rows.row_bytes());
    const absl::Span<const uint8_t> bytes = operands[next++].bytes();
    if (bytes.size() < offset + size) {
      return absl::InvalidArgumentError("a tensor has fewer rows than there are iterations");
    }
    TARTAN_RETURN_IF_ERROR(Upload(rows, bytes.subspan(offset, size), queue));
  }
  for (const hal::BufferPtr& invariant : invariants_) {
    const HostTensor& operand = operands[next++];
    if (operand.bytes().empty()) continue;
    TARTAN_RETURN_IF_ERROR(queue.WriteAsync(invariant, 0, operand.bytes()));
  }
  for (const hal::RecordingPtr& recording : recordings_) {
    TARTAN_RETURN_IF_ERROR(queue.Replay(recording));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> RecordedRepetition::Results(hal::Queue& queue) const {
  std::vector<std::shared_ptr<std::vector<uint8_t>>> read;
  const auto read_later = [&](const hal::BufferPtr& buffer, int64_t bytes) {
    read.push_back(std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(bytes)));
    return queue.ReadAsync(buffer, 0, absl::MakeSpan(*read.back()));
  };
  absl::Status status;
  for (const State& state : states_) {
    if (status.ok()) status = read_later(state.last, state.shape.byte_size());
  }
  for (const Rows& rows : out_) {
    if (status.ok()) status = read_later(rows.buffer, rows.stride * form_.iterations);
  }
  // Also after a failure: pending reads write to memory owned by this function.
  status.Update(queue.Finish());
  TARTAN_RETURN_IF_ERROR(status);
  std::vector<HostTensor> results;
  for (const State& state : states_) {
    auto& bytes = read[results.size()];
    results.emplace_back(state.shape, absl::Span<const uint8_t>(*bytes), bytes);
  }
  for (const Rows& rows : out_) {
    auto& bytes = read[results.size()];
    for (int64_t i = 1; rows.stride != rows.row_bytes() && i < form_.iterations; ++i) {
      std::memmove(bytes->data() + i * rows.row_bytes(), bytes->data() + i * rows.stride,
                   static_cast<size_t>(rows.row_bytes()));
    }
    TensorShape shape = rows.shape;
    shape.dims.insert(shape.dims.begin(), form_.iterations);
    const absl::Span<const uint8_t> view(*bytes);
    results.emplace_back(shape, view.first(static_cast<size_t>(shape.byte_size())), bytes);
  }
  return results;
}

}  // namespace tartan::evaluator
