// SPDX-License-Identifier: Apache-2.0
// One step of a decoder whose cache has room: the cache stays on the device, a step writes the rows
// of one token behind those that are there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resident/state_pairs.h"
#include "frontend/api/resident/step_program.h"
#include "frontend/api/session.h"
#include "frontend/generate/decoder_inputs.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::generate {

// A state that grows along an axis.
struct GrowingState {
  api::StatePlaces place;
  int64_t axis = 0;
  HostTensor value;  // what is there

  // Keys and values, one behind the other along the first axis.
  bool is_joint() const {
    return value.shape().dims.size() == 5 && value.shape().dims[0] == 2 && axis > 1;
  }
};

// The last row of a tensor along an axis that has one.
HostTensor LastRow(const HostTensor& value, int64_t axis);

class CacheStep {
 public:
  // With room for `capacity` tokens; the cache begins as the first `length` rows of `states`.
  // Unimplemented, with the reason, for models that cannot be run so.
  static absl::StatusOr<std::unique_ptr<CacheStep>> Create(
      const onnx::OnnxModel& model, std::shared_ptr<api::Device> device,
      const api::SessionOptions& options, const DecoderInputs& inputs, size_t scores_output,
      const std::vector<GrowingState>& states, int64_t length, int64_t capacity);

  // A size that is no other of the model's, at least `least`; few sizes serve all.
  static int64_t FreeCapacity(const onnx::OnnxModel& model, const std::vector<GrowingState>& states,
                              int64_t least);

  // Reads a token: length() must be less than capacity().
  absl::StatusOr<std::vector<float>> Read(int64_t token);
  int64_t length() const { return length_; }
  int64_t capacity() const { return capacity_; }
  int64_t axis(size_t state) const { return axes_[state]; }
  // What is there of each state.
  absl::StatusOr<std::vector<HostTensor>> Values() const;
  absl::Status MakeExact() { return program_->MakeExact(); }
  api::ProgramMemory memory() const { return program_->memory(); }

 private:
  explicit CacheStep(const DecoderInputs& inputs) : inputs_(inputs) {}

  const DecoderInputs& inputs_;
  std::vector<std::string> fed_;  // names of inputs; the length comes last
  std::unique_ptr<api::StepProgram> program_;
  std::vector<api::DeviceTensor> memory_;  // of each state, of joint ones two
  std::vector<int64_t> axes_;
  std::vector<bool> is_joint_;
  int64_t length_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace tartan::generate
