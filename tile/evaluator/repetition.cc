// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/repetition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/frame.h"
#include "tile/evaluator/recorded_repetition.h"

namespace tartan::evaluator {
namespace {

using compiler::BufferKind;

// Initial capacity, in rows, if the number of rows is unknown.
constexpr int64_t kFirstRows = 64;

// The element of `whole` at `index` of its first dimension, sharing its memory.
HostTensor RowOf(const HostTensor& whole, int64_t index) {
  TensorShape shape = whole.shape();
  shape.dims.erase(shape.dims.begin());
  const auto bytes = static_cast<size_t>(shape.byte_size());
  return HostTensor(shape, whole.bytes().subspan(static_cast<size_t>(index) * bytes, bytes),
                    std::make_shared<const HostTensor>(whole));
}

HostTensor Scalar(int64_t value) {
  return HostTensor::FromVector(TensorShape{DataType::kInt64, {}}, std::vector<int64_t>{value});
}

// Repeat for a program that the host computes.
absl::StatusOr<RepetitionResult> RepeatOnHost(LoadedProgram& program, const RepetitionForm& form,
                                              absl::Span<const HostTensor> operands) {
  const auto first_state = static_cast<size_t>(form.has_iteration ? 1 : 0);
  const auto first_made = static_cast<size_t>(form.has_condition ? 1 : 0);
  const auto states = static_cast<size_t>(form.states);
  const auto slices = static_cast<size_t>(form.slices_in);
  std::vector<HostTensor> inputs(first_state);
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  std::vector<std::vector<uint8_t>> rows(static_cast<size_t>(form.slices_out));
  RepetitionResult result;
  result.condition = true;
  int64_t iteration = 0;
  for (; result.condition && iteration < form.iterations; ++iteration) {
    if (form.has_iteration) inputs[0] = Scalar(iteration);
    for (size_t s = 0; s < slices; ++s) {
      inputs[first_state + states + s] = RowOf(operands[states + s], iteration);
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> made, program.Run(inputs));
    std::copy_n(made.begin() + static_cast<int64_t>(first_made), states,
                inputs.begin() + static_cast<int64_t>(first_state));
    for (size_t r = 0; r < rows.size(); ++r) {
      const absl::Span<const uint8_t> row = made[first_made + states + r].bytes();
      rows[r].insert(rows[r].end(), row.begin(), row.end());
    }
    if (form.has_condition) result.condition = made[0].GetInt(0) != 0;
  }
  for (size_t s = 0; s < states; ++s) result.tensors.push_back(inputs[first_state + s]);
  for (size_t r = 0; r < rows.size(); ++r) {
    TensorShape shape = program.program().host()->output_shape(first_made + states + r);
    shape.dims.insert(shape.dims.begin(), iteration);
    result.tensors.emplace_back(shape, rows[r]);
  }
  return result;
}

}  // namespace

class Repetition {
 public:
  Repetition(LoadedProgram& program, const RepetitionForm& form)
      : program_(program), list_(program.program().list()), form_(form) {}

  absl::StatusOr<RepetitionResult> Run(absl::Span<const HostTensor> operands) {
    TARTAN_ASSIGN_OR_RETURN(frame_, program_.TakeFrame());
    TARTAN_ASSIGN_OR_RETURN(const auto recorded, Recorded(form_.iterations));
    absl::StatusOr<RepetitionResult> result =
        recorded == nullptr ? RunOneByOne(operands) : RunRecorded(operands);
    // After a failure the frame is dropped, because its queue may still hold the error.
    if (result.ok()) program_.ReturnFrame(std::move(frame_));
    return result;
  }

 private:
  using RecordedPtr = std::shared_ptr<const RecordedRepetition>;

  // A recording of `iterations` iterations, or of the maximum number; null if it cannot be
  // recorded.
  absl::StatusOr<RecordedPtr> Recorded(int64_t iterations) {
    RepetitionForm form = form_;
    form.iterations = std::min(iterations, RecordedRepetition::kMaxIterations);
    std::vector<RecordedPtr>& known = frame_->repetitions;
    for (const RecordedPtr& recorded : known) {
      if (recorded->form() == form) return recorded;
    }
    TARTAN_ASSIGN_OR_RETURN(RecordedPtr recorded,
                            RecordedRepetition::Record(program_.program(), form, frame_->buffers));
    if (recorded == nullptr) return recorded;
    constexpr size_t kMaxKept = 2;  // a large one, and one for the remaining iterations
    if (known.size() == kMaxKept) known.erase(known.begin());
    known.push_back(recorded);
    return recorded;
  }

  absl::StatusOr<RepetitionResult> RunRecorded(absl::Span<const HostTensor> operands) {
    given_.assign(operands.begin(), operands.end());
    const auto states = static_cast<size_t>(form_.states);
    std::vector<std::vector<HostTensor>> parts(static_cast<size_t>(form_.slices_out));
    while (iteration_ < form_.iterations) {
      TARTAN_ASSIGN_OR_RETURN(const RecordedPtr recorded, Recorded(form_.iterations - iteration_));
      TARTAN_RETURN_IF_ERROR(recorded->Enqueue(given_, iteration_, *frame_->queue));
      TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> made, recorded->Results(*frame_->queue));
      for (size_t r = 0; r < parts.size(); ++r) parts[r].push_back(std::move(made[states + r]));
      std::move(made.begin(), made.begin() + form_.states, given_.begin());
      iteration_ += recorded->form().iterations;
    }
    RepetitionResult result;
    result.condition = true;
    result.tensors.assign(given_.begin(), given_.begin() + form_.states);
    for (std::vector<HostTensor>& rows : parts) result.tensors.push_back(Joined(std::move(rows)));
    return result;
  }

  // Concatenates the parts along their first dimension.
  static HostTensor Joined(std::vector<HostTensor> parts) {
    if (parts.size() == 1) return std::move(parts[0]);
    TensorShape shape = parts[0].shape();
    shape.dims[0] = 0;
    std::vector<uint8_t> bytes;
    for (const HostTensor& part : parts) {
      shape.dims[0] += part.shape().dims[0];
      bytes.insert(bytes.end(), part.bytes().begin(), part.bytes().end());
    }
    return {shape, bytes};
  }

  absl::StatusOr<RepetitionResult> RunOneByOne(absl::Span<const HostTensor> operands) {
    TARTAN_RETURN_IF_ERROR(Prepare(operands));
    bool condition = true;
    while (condition && iteration_ < form_.iterations) {
      TARTAN_RETURN_IF_ERROR(BeginIteration());
      TARTAN_RETURN_IF_ERROR(program_.Execute(*frame_, *frame_->queue, nullptr));
      TARTAN_RETURN_IF_ERROR(EndIteration());
      ++iteration_;
      TARTAN_ASSIGN_OR_RETURN(condition, ReadCondition());
    }
    RepetitionResult result;
    result.condition = condition;
    TARTAN_ASSIGN_OR_RETURN(result.tensors, ReadResults());
    TARTAN_RETURN_IF_ERROR(frame_->queue->Finish());
    return result;
  }

  struct Rows {
    hal::BufferPtr buffer;  // null if rows have no elements
    int64_t row_bytes = 0;
    int64_t capacity = 0;
  };

  int64_t Bytes(int buffer) const { return list_.buffers[static_cast<size_t>(buffer)].bytes; }
  const hal::BufferPtr& Memory(int buffer) const {
    return frame_->buffers[static_cast<size_t>(buffer)];
  }
  int FirstState() const { return form_.has_iteration ? 1 : 0; }
  int FirstSlice() const { return FirstState() + form_.states; }
  int FirstStateOut() const { return form_.has_condition ? 1 : 0; }
  int FirstSliceOut() const { return FirstStateOut() + form_.states; }
  // Buffers of the program's inputs and outputs, by position in the form.
  int Input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  int Output(int i) const { return list_.outputs[static_cast<size_t>(i)]; }

  absl::Status Prepare(absl::Span<const HostTensor> operands) {
    for (int input : list_.inputs) {
      const bool is_input = list_.buffers[static_cast<size_t>(input)].kind == BufferKind::kInput;
      if (is_input) inputs_.push_back(input);
    }
    size_t next = 0;
    for (int i = FirstState(); i < static_cast<int>(inputs_.size()); ++i) {
      const HostTensor& operand = operands[next++];
      const bool is_slice = i >= FirstSlice() && i < FirstSlice() + form_.slices_in;
      if (is_slice) {
        TARTAN_RETURN_IF_ERROR(UploadRows(operand, Input(i)));
      } else if (!operand.bytes().empty()) {
        TARTAN_RETURN_IF_ERROR(frame_->queue->Write(Memory(Input(i)), 0, operand.bytes()));
      }
    }
    for (int i = 0; i < form_.slices_out; ++i) {
      Rows& rows = rows_out_.emplace_back();
      rows.row_bytes = Bytes(Output(FirstSliceOut() + i));
      TARTAN_RETURN_IF_ERROR(Reserve(rows, std::min(form_.iterations, kFirstRows)));
    }
    return AllocateBackups();
  }

  absl::Status UploadRows(const HostTensor& whole, int input) {
    Rows& rows = rows_in_.emplace_back();
    rows.row_bytes = Bytes(input);
    if (whole.bytes().empty()) return absl::OkStatus();
    TARTAN_ASSIGN_OR_RETURN(rows.buffer,
                            Device()->Allocate(static_cast<int64_t>(whole.bytes().size())));
    return frame_->queue->Write(rows.buffer, 0, whole.bytes());
  }

  // A state whose new value is another state's input buffer would be overwritten before it is read.
  absl::Status AllocateBackups() {
    backups_.resize(static_cast<size_t>(form_.states));
    for (int i = 0; i < form_.states; ++i) {
      const hal::BufferPtr& made = Memory(Output(FirstStateOut() + i));
      for (int j = 0; j < form_.states; ++j) {
        if (j == i || Memory(Input(FirstState() + j)) != made) continue;
        TARTAN_ASSIGN_OR_RETURN(backups_[static_cast<size_t>(i)],
                                Device()->Allocate(std::max<int64_t>(1, made->size())));
        break;
      }
    }
    return absl::OkStatus();
  }

  const hal::DevicePtr& Device() const { return program_.program().device(); }

  absl::Status Reserve(Rows& rows, int64_t count) {
    if (rows.row_bytes == 0 || count <= rows.capacity) return absl::OkStatus();
    if (count > Device()->info().max_allocation_bytes / rows.row_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the results of ", count, " iterations of ", rows.row_bytes,
                       " bytes each do not fit into the device's memory"));
    }
    TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr larger,
                            Device()->Allocate(count * rows.row_bytes));
    if (rows.buffer != nullptr) {
      TARTAN_RETURN_IF_ERROR(
          frame_->queue->Copy(rows.buffer, 0, larger, 0, rows.capacity * rows.row_bytes));
    }
    rows.buffer = larger;
    rows.capacity = count;
    return absl::OkStatus();
  }

  static void AddCopy(const hal::BufferPtr& from, int64_t from_offset, const hal::BufferPtr& to,
                      int64_t to_offset, int64_t bytes, std::vector<hal::Launch>* launches) {
    if (bytes == 0 || from == to) return;
    launches->push_back(hal::Launch::Copy(from, from_offset, to, to_offset, bytes));
  }

  // The copies before the body of an iteration, and those after it.
  void AddBegin(std::vector<hal::Launch>* launches) const {
    for (int i = 0; i < form_.slices_in; ++i) {
      const Rows& rows = rows_in_[static_cast<size_t>(i)];
      AddCopy(rows.buffer, iteration_ * rows.row_bytes, Memory(Input(FirstSlice() + i)), 0,
              rows.row_bytes, launches);
    }
  }

  void AddEnd(std::vector<hal::Launch>* launches) const {
    for (int i = 0; i < form_.slices_out; ++i) {
      const Rows& rows = rows_out_[static_cast<size_t>(i)];
      AddCopy(Memory(Output(FirstSliceOut() + i)), 0, rows.buffer, iteration_ * rows.row_bytes,
              rows.row_bytes, launches);
    }
    for (int i = 0; i < form_.states; ++i) {
      const hal::BufferPtr& backup = backups_[static_cast<size_t>(i)];
      if (backup == nullptr) continue;
      AddCopy(Memory(Output(FirstStateOut() + i)), 0, backup, 0, StateBytes(i), launches);
    }
    for (int i = 0; i < form_.states; ++i) {
      const hal::BufferPtr& backup = backups_[static_cast<size_t>(i)];
      AddCopy(backup != nullptr ? backup : Memory(Output(FirstStateOut() + i)), 0,
              Memory(Input(FirstState() + i)), 0, StateBytes(i), launches);
    }
  }

  absl::Status RunCopies(const std::vector<hal::Launch>& copies) {
    for (const hal::Launch& copy : copies) {
      TARTAN_RETURN_IF_ERROR(frame_->queue->Copy(
          copy.arguments[0], copy.numbers[0], copy.arguments[1], copy.numbers[1], copy.numbers[2]));
    }
    return absl::OkStatus();
  }

  absl::Status BeginIteration() {
    if (form_.has_iteration) {
      const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(&iteration_),
                                            sizeof(iteration_));
      TARTAN_RETURN_IF_ERROR(frame_->queue->Write(Memory(Input(0)), 0, bytes));
    }
    std::vector<hal::Launch> copies;
    AddBegin(&copies);
    return RunCopies(copies);
  }

  absl::Status EndIteration() {
    for (Rows& rows : rows_out_) {
      if (iteration_ < rows.capacity) continue;
      TARTAN_RETURN_IF_ERROR(Reserve(rows, std::min(form_.iterations, 2 * rows.capacity)));
    }
    std::vector<hal::Launch> copies;
    AddEnd(&copies);
    return RunCopies(copies);
  }

  int64_t StateBytes(int i) const { return Bytes(Input(FirstState() + i)); }

  absl::StatusOr<bool> ReadCondition() {
    if (!form_.has_condition) return true;
    uint8_t condition = 0;
    TARTAN_RETURN_IF_ERROR(
        frame_->queue->Read(Memory(Output(0)), 0, absl::MakeSpan(&condition, 1)));
    return condition != 0;
  }

  absl::StatusOr<std::vector<HostTensor>> ReadResults() {
    std::vector<HostTensor> results;
    for (int i = 0; i < form_.states; ++i) {
      const int input = Input(FirstState() + i);
      TARTAN_ASSIGN_OR_RETURN(results.emplace_back(),
                              Read(Memory(input), list_.buffers[static_cast<size_t>(input)].shape));
    }
    for (int i = 0; i < form_.slices_out; ++i) {
      TensorShape shape = list_.output_shapes[static_cast<size_t>(FirstSliceOut() + i)];
      shape.dims.insert(shape.dims.begin(), iteration_);
      TARTAN_ASSIGN_OR_RETURN(results.emplace_back(),
                              Read(rows_out_[static_cast<size_t>(i)].buffer, shape));
    }
    return results;
  }

  absl::StatusOr<HostTensor> Read(const hal::BufferPtr& buffer, const TensorShape& shape) {
    auto bytes = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(shape.byte_size()));
    if (!bytes->empty()) {
      TARTAN_RETURN_IF_ERROR(frame_->queue->Read(buffer, 0, absl::MakeSpan(*bytes)));
    }
    const absl::Span<const uint8_t> view = *bytes;
    return HostTensor(shape, view, std::move(bytes));
  }

  LoadedProgram& program_;
  const compiler::KernelList& list_;
  const RepetitionForm form_;
  // operands of recorded iterations; the frame's queue may read them
  std::vector<HostTensor> given_;
  std::unique_ptr<Frame> frame_;
  std::vector<int> inputs_;  // buffers
  std::vector<Rows> rows_in_;
  std::vector<Rows> rows_out_;
  std::vector<hal::BufferPtr> backups_;
  int64_t iteration_ = 0;
};

absl::StatusOr<RepetitionResult> Repeat(LoadedProgram& program, const RepetitionForm& form,
                                        absl::Span<const HostTensor> operands) {
  if (program.program().host() != nullptr) return RepeatOnHost(program, form, operands);
  return Repetition(program, form).Run(operands);
}

}  // namespace tartan::evaluator
