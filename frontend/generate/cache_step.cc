// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/cache_step.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

using api::Tensor;

// The first `rows` along an axis, with zeros behind up to `room`; or cut off.
HostTensor Resized(const HostTensor& value, int64_t axis, int64_t rows, int64_t room) {
  TensorShape shape = value.shape();
  const int64_t had = shape.dims[static_cast<size_t>(axis)];
  shape.dims[static_cast<size_t>(axis)] = room;
  int64_t outer = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= shape.dims[static_cast<size_t>(d)];
  int64_t row = ByteWidth(shape.type);
  for (size_t d = static_cast<size_t>(axis) + 1; d < shape.dims.size(); ++d) row *= shape.dims[d];
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  const int64_t copied = std::min(rows, std::min(had, room)) * row;
  for (int64_t o = 0; o < outer && copied > 0; ++o) {
    std::memcpy(bytes.data() + o * room * row, value.bytes().data() + o * had * row,
                static_cast<size_t>(copied));
  }
  return HostTensor(shape, bytes);
}

// A model bound to a cache with room.
struct BoundStep {
  std::vector<api::InputBinding> bindings;
  std::vector<std::unique_ptr<api::HostValue>> values;  // of inputs that decide the graph
  onnx::DecodingMode mode;
  api::BoundGraph graph;
};

void BindInputs(const onnx::OnnxModel& model, const std::map<std::string, HostTensor>& fed,
                BoundStep* step) {
  step->bindings.resize(model.inputs().size());
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const auto value = fed.find(model.inputs()[i].name);
    step->bindings[i].given = value != fed.end();
    if (value == fed.end()) continue;
    step->bindings[i].shape = value->second.shape();
    if (value->second.type() != DataType::kBool || value->second.element_count() != 1) continue;
    // Which branch of a model that begins in another.
    step->values.push_back(std::make_unique<api::HostValue>(value->second));
    step->bindings[i].value = step->values.back().get();
  }
}

// The first axis of a joint cache away.
TensorShape PartOf(TensorShape joint) {
  joint.dims.erase(joint.dims.begin());
  return joint;
}

// `memory`: of the whole cache.
void BindState(const std::string& name, const GrowingState& state, const TensorShape& memory,
               BoundStep* step) {
  TensorShape before = memory;
  before.dims[static_cast<size_t>(state.axis)] -= step->mode.step;
  api::InputBinding& binding = step->bindings[state.place.input];
  binding.given = true;
  binding.shape = before;
  binding.tensor = Tensor::Placeholder(name, before);
  std::vector<onnx::DecodingMode::Cache>& caches = step->mode.caches;
  if (!state.is_joint()) {
    caches.push_back({binding.tensor, Tensor::Placeholder(name, memory)});
    return;
  }
  step->mode.joints.push_back({binding.tensor, caches.size()});
  for (const char* part : {"_keys", "_values"}) {
    caches.push_back({Tensor::Placeholder(name + part, PartOf(before)),
                      Tensor::Placeholder(name + part, PartOf(memory))});
  }
}

// The memory of a state on the device.
absl::Status Allocate(const api::Device& device, const GrowingState& state, const HostTensor& start,
                      std::vector<api::DeviceTensor>* memory) {
  const size_t parts = state.is_joint() ? 2 : 1;
  const size_t bytes = start.bytes().size() / parts;
  for (size_t p = 0; p < parts; ++p) {
    const HostTensor part(parts == 2 ? PartOf(start.shape()) : start.shape(),
                          start.bytes().subspan(p * bytes, bytes));
    TARTAN_ASSIGN_OR_RETURN(memory->emplace_back(), api::DeviceTensor::FromHost(device, part));
  }
  return absl::OkStatus();
}

// The states with their next values.
absl::StatusOr<std::vector<api::ProgramState>> NextStates(const onnx::OnnxModel& model,
                                                          const std::vector<GrowingState>& states,
                                                          const BoundStep& step) {
  std::vector<api::ProgramState> next;
  for (const GrowingState& state : states) {
    const size_t parts = state.is_joint() ? 2 : 1;
    for (size_t p = 0; p < parts; ++p) {
      const onnx::DecodingMode::Cache& cache = step.mode.caches[next.size()];
      const api::Value& present = step.graph.outputs[state.place.output];
      // Of a joint one, what was appended to its parts.
      const Tensor made = parts == 2            ? cache.appended
                          : present.is_tensor() ? present.tensor()
                                                : Tensor();
      if (!made.defined() || made.shape() != cache.memory.shape()) {
        return absl::UnimplementedError(
            absl::StrCat("'", model.outputs()[state.place.output].name,
                         "' is not its cache with what is new behind it"));
      }
      next.push_back({cache.memory, made});
    }
  }
  return next;
}

absl::Status Bind(const onnx::OnnxModel& model, BoundStep* step) {
  absl::StatusOr<api::BoundGraph> graph = model.BindToDecode(step->bindings, step->mode);
  // What does not fit a cache with room fits one without.
  if (absl::IsInvalidArgument(graph.status())) {
    return absl::UnimplementedError(graph.status().message());
  }
  TARTAN_ASSIGN_OR_RETURN(step->graph, std::move(graph));
  if (step->graph.needed_values.empty()) return absl::OkStatus();
  return absl::UnimplementedError("values that are known at run time decide its graph");
}

}  // namespace

HostTensor LastRow(const HostTensor& value, int64_t axis) {
  TensorShape shape = value.shape();
  const auto along = static_cast<size_t>(axis);
  const int64_t rows = shape.dims[along];
  shape.dims[along] = 1;
  int64_t row = ByteWidth(shape.type);
  for (size_t d = along + 1; d < shape.dims.size(); ++d) row *= shape.dims[d];
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t o = 0; o * row < shape.byte_size(); ++o) {
    std::memcpy(bytes.data() + o * row, value.bytes().data() + (o * rows + rows - 1) * row,
                static_cast<size_t>(row));
  }
  return HostTensor(shape, bytes);
}

int64_t CacheStep::FreeCapacity(const onnx::OnnxModel& model,
                                const std::vector<GrowingState>& states, int64_t least) {
  constexpr int64_t kMultiple = 16;  // of vectors
  constexpr int64_t kLeast = 64;
  const auto is_taken = [&](int64_t size) {
    for (const GrowingState& state : states) {
      const std::vector<int64_t>& dims = state.value.shape().dims;
      if (std::find(dims.begin(), dims.end(), size) != dims.end()) return true;
    }
    return model.HasSize(size);
  };
  // 64, 96, 128, 192, 256 …: kernels for one size alone serve many lengths.
  int64_t power = kLeast;
  while (2 * power <= least) power *= 2;
  int64_t capacity = least <= power ? power : least <= power * 3 / 2 ? power * 3 / 2 : 2 * power;
  while (is_taken(capacity)) capacity += kMultiple;
  return capacity;
}

absl::StatusOr<std::unique_ptr<CacheStep>> CacheStep::Create(
    const onnx::OnnxModel& model, std::shared_ptr<api::Device> device,
    const api::SessionOptions& options, const DecoderInputs& inputs, size_t scores_output,
    const std::vector<GrowingState>& states, int64_t length, int64_t capacity) {
  std::unique_ptr<CacheStep> made(new CacheStep(inputs));
  made->length_ = length;
  made->capacity_ = capacity;
  BoundStep step;
  step.mode.capacity = capacity;
  step.mode.length = Tensor::Placeholder("cache_length", {DataType::kInt32, {1}});
  const std::map<std::string, HostTensor> fed = inputs.Make({0}, capacity - 1, capacity);
  BindInputs(model, fed, &step);
  for (const GrowingState& state : states) {
    const HostTensor start = Resized(state.value, state.axis, length, capacity);
    BindState(model.inputs()[state.place.input].name, state, start.shape(), &step);
    made->axes_.push_back(state.axis);
    made->is_joint_.push_back(state.is_joint());
    TARTAN_RETURN_IF_ERROR(Allocate(*device, state, start, &made->memory_));
  }
  TARTAN_RETURN_IF_ERROR(Bind(model, &step));
  api::StepSource source;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const Tensor& placeholder = step.graph.placeholders[i];
    if (fed.count(model.inputs()[i].name) == 0 || !placeholder.defined()) continue;
    source.inputs.push_back(placeholder);
    made->fed_.push_back(model.inputs()[i].name);
  }
  source.inputs.push_back(step.mode.length);
  TARTAN_ASSIGN_OR_RETURN(source.states, NextStates(model, states, step));
  source.outputs = {step.graph.outputs[scores_output].tensor()};
  source.device = std::move(device);
  source.name = model.name();
  source.tier = options.tier;
  source.exact_after_runs = options.exact_after_runs;
  source.pool = options.pool;
  api::RunStatistics ignored;
  absl::StatusOr<std::unique_ptr<api::StepProgram>> program =
      api::StepProgram::Create(std::move(source), &ignored);
  if (absl::IsInvalidArgument(program.status())) {
    return absl::UnimplementedError(program.status().message());
  }
  TARTAN_RETURN_IF_ERROR(program.status());
  made->program_ = *std::move(program);
  TARTAN_RETURN_IF_ERROR(made->program_->Bind(made->memory_));
  return made;
}

absl::StatusOr<std::vector<float>> CacheStep::Read(int64_t token) {
  const std::map<std::string, HostTensor> values = inputs_.Make({token}, length_, capacity_);
  std::vector<HostTensor> fed;
  for (const std::string& name : fed_) fed.push_back(values.at(name));
  fed.push_back(
      HostTensor::FromVector<int32_t>({DataType::kInt32, {1}}, {static_cast<int32_t>(length_)}));
  api::RunStatistics ignored;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs,
                          program_->Run(fed, &ignored, nullptr));
  ++length_;
  return LastScores(outputs[0]);
}

absl::StatusOr<std::vector<HostTensor>> CacheStep::Values() const {
  std::vector<HostTensor> values;
  size_t next = 0;
  for (size_t s = 0; s < axes_.size(); ++s) {
    TARTAN_ASSIGN_OR_RETURN(HostTensor all, memory_[next++].ToHost());
    if (is_joint_[s]) {
      TARTAN_ASSIGN_OR_RETURN(const HostTensor second, memory_[next++].ToHost());
      TensorShape shape = all.shape();
      shape.dims.insert(shape.dims.begin(), 2);
      std::vector<uint8_t> bytes(all.bytes().begin(), all.bytes().end());
      bytes.insert(bytes.end(), second.bytes().begin(), second.bytes().end());
      all = HostTensor(shape, bytes);
    }
    values.push_back(Resized(all, axes_[s], length_, length_));
  }
  return values;
}

}  // namespace tartan::generate
