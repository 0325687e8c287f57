// SPDX-License-Identifier: Apache-2.0
// Iterations of a repetition, recorded once as launches and executed any number of times. Internal
// to this folder.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hal/hal.h"
#include "tile/base/host_tensor.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/repetition_form.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {

// No copies between iterations: each iteration reads its input rows where they were uploaded,
// writes its output rows in place, and reads states where the previous iteration wrote them.
class RecordedRepetition {
 public:
  // Maximum iterations: each has buffers and launches of its own.
  static constexpr int64_t kMaxIterations = 4096;

  // `buffers` belong to a frame of the program, and must outlive the recording. Null if recording
  // is impossible: a condition decides about the next iteration, there are too many iterations, or
  // launches of one executable do not write all results.
  static absl::StatusOr<std::unique_ptr<RecordedRepetition>> Record(const CompiledProgram& program,
                                                                    const RepetitionForm& form,
                                                                    const Buffers& buffers);

  const RepetitionForm& form() const { return form_; }
  // `operands` as in Repeat, but rows begin with iteration number `first`. They must stay unchanged
  // until Results returns.
  absl::Status Enqueue(absl::Span<const HostTensor> operands, int64_t first,
                       hal::Queue& queue) const;
  // The results of the last execution, as in Repeat. Waits for it.
  absl::StatusOr<std::vector<HostTensor>> Results(hal::Queue& queue) const;

 private:
  friend class RepetitionRecorder;

  // The rows of one tensor, each at an offset where a buffer may begin.
  struct Rows {
    TensorShape shape;  // of one row
    int64_t stride = 0;
    hal::BufferPtr buffer;
    std::vector<hal::BufferPtr> views;  // one per row

    int64_t row_bytes() const { return shape.byte_size(); }
  };

  struct State {
    TensorShape shape;
    hal::BufferPtr first, last;  // before the first and after the last iteration
  };

  explicit RecordedRepetition(const RepetitionForm& form) : form_(form) {}

  static absl::Status Upload(const Rows& rows, absl::Span<const uint8_t> bytes, hal::Queue& queue);

  const RepetitionForm form_;
  Rows numbers_;  // iteration numbers, if the form has them
  std::vector<Rows> in_, out_;
  std::vector<State> states_;
  std::vector<hal::BufferPtr> invariants_;
  std::vector<hal::RecordingPtr> recordings_;
};

}  // namespace tartan::evaluator
