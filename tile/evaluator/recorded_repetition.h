// SPDX-License-Identifier: Apache-2.0
// Iterations of a repetition, recorded once as launches and run as often as wanted. Internal to
// this folder.
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

// Nothing is copied between iterations: each reads its rows where they were uploaded and writes its
// rows where they are read in the end. A state is read where the iteration before has written it.
class RecordedRepetition {
 public:
  // Each iteration has buffers and launches of its own.
  static constexpr int64_t kMostIterations = 4096;

  // `buffers`: of a frame of the program, which must live as long. Null where that cannot be: an
  // iteration decides whether another follows, there are many, or its results are not all written
  // by launches of one executable.
  static absl::StatusOr<std::unique_ptr<RecordedRepetition>> Record(const CompiledProgram& program,
                                                                    const RepetitionForm& form,
                                                                    const Buffers& buffers);

  const RepetitionForm& form() const { return form_; }
  // Operands as Repeat has them, but that rows begin with `first`, the number of the first
  // iteration. They must stay as they are until Results returns.
  absl::Status Enqueue(absl::Span<const HostTensor> operands, int64_t first,
                       hal::Queue& queue) const;
  // Of the last run, as Repeat gives them. Waits for it.
  absl::StatusOr<std::vector<HostTensor>> Results(hal::Queue& queue) const;

 private:
  friend class RepetitionRecorder;

  // Rows of one tensor, each where a buffer may begin.
  struct Rows {
    TensorShape shape;  // of a row
    int64_t stride = 0;
    hal::BufferPtr buffer;
    std::vector<hal::BufferPtr> views;  // of each row

    int64_t row_bytes() const { return shape.byte_size(); }
  };

  struct State {
    TensorShape shape;
    hal::BufferPtr first, last;  // before the first iteration, behind the last
  };

  explicit RecordedRepetition(const RepetitionForm& form) : form_(form) {}

  static absl::Status Upload(const Rows& rows, absl::Span<const uint8_t> bytes, hal::Queue& queue);

  const RepetitionForm form_;
  Rows numbers_;  // of the iterations, where the form has them
  std::vector<Rows> in_, out_;
  std::vector<State> states_;
  std::vector<hal::BufferPtr> invariants_;
  std::vector<hal::RecordingPtr> recordings_;
};

}  // namespace tartan::evaluator
