// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/programs/segment.h"

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

// Converts a value that decides how the graph continues to the type that the model declares.
HostTensor InType(DataType type, const HostTensor& value) {
  if (value.type() == type) return value;
  std::vector<uint8_t> bytes(static_cast<size_t>(value.element_count() * ByteWidth(type)));
  for (int64_t i = 0; i < value.element_count(); ++i) {
    StoreElement(type, value.GetDouble(i), i, bytes.data());
  }
  return HostTensor({type, value.shape().dims}, bytes);
}

}  // namespace

Segment::~Segment() {
  // Successors that the outermost destructor on this thread must still release.
  thread_local SegmentList* releasing = nullptr;
  if (releasing != nullptr) {
    releasing->splice(releasing->end(), next);
    return;
  }
  releasing = &next;
  while (!next.empty()) {
    std::shared_ptr<Segment> segment = std::move(next.front().second);
    next.pop_front();
    segment.reset();
  }
  releasing = nullptr;
}

std::string SegmentResult::Guard() const {
  std::string guard;
  for (const HostTensor& result : results) {
    absl::StrAppend(&guard, result.shape().ToString(), ";");
    if (is_call) continue;
    guard.append(reinterpret_cast<const char*>(result.bytes().data()), result.bytes().size());
  }
  return guard;
}

absl::Status RunSegment(const Segment& segment, RunState* state, RunStatistics* statistics,
                        std::vector<KernelProfile>* profile) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> fetched,
                          segment.function.Run(state->values, statistics, profile));
  SegmentResult result;
  result.kept.assign(fetched.begin() + static_cast<int64_t>(segment.operand_count), fetched.end());
  fetched.resize(segment.operand_count);
  if (segment.call == nullptr) {
    result.results = std::move(fetched);
  } else {
    result.is_call = true;
    TARTAN_ASSIGN_OR_RETURN(result.results,
                            segment.runner->Run(*segment.call, fetched, statistics));
    state->values.insert(state->values.end(), result.results.begin(), result.results.end());
  }
  state->values.insert(state->values.end(), result.kept.begin(), result.kept.end());
  state->results.push_back(std::move(result));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostValue>> RunLastSegment(const Segment& segment, const RunState& state,
                                                      RunStatistics* statistics,
                                                      std::vector<KernelProfile>* profile) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> fetched,
                          segment.function.Run(state.values, statistics, profile));
  absl::Span<const HostTensor> rest = fetched;
  std::vector<HostValue> outputs;
  for (const Value& output : segment.outputs) outputs.push_back(Replace(output, &rest));
  return outputs;
}

BreakResult SegmentRecorder::MakeResult(const SegmentResult& given, const GraphBreak& graph_break,
                                        const std::string& name) {
  const auto placeholder = [&](const HostTensor& value, DataType type) {
    state_.placeholders.push_back(Tensor::Placeholder(name, {type, value.shape().dims}));
    return state_.placeholders.back();
  };
  BreakResult result;
  for (size_t i = 0; i < given.results.size(); ++i) {
    const HostTensor& value = given.results[i];
    result.results.push_back(given.is_call
                                 ? placeholder(value, ResultType(value.type(), graph_break))
                                 : Tensor::Constant(InType(graph_break.operands[i].type(), value)));
  }
  for (size_t i = 0; i < given.kept.size(); ++i) {
    result.kept.push_back(placeholder(given.kept[i], graph_break.kept[i].type()));
  }
  return result;
}

// The type of a call's result in the model. If the device computes in float64, it is the type of
// the first float operand.
DataType SegmentRecorder::ResultType(DataType actual, const GraphBreak& graph_break) const {
  if (!programs_.device()->in_float64() || actual != DataType::kFloat64) return actual;
  for (const Tensor& operand : graph_break.operands) {
    if (IsFloat(operand.type())) return operand.type();
  }
  return DataType::kFloat32;
}

void SegmentRecorder::Append(std::shared_ptr<Segment> segment) {
  if (first_made_ == nullptr) {
    first_made_ = segment;
  } else {
    last_->next.emplace_front(state_.results.back().Guard(), segment);
  }
  last_ = std::move(segment);
}

absl::StatusOr<BreakResult> SegmentRecorder::Resolve(const GraphBreak& graph_break) {
  const std::string name = graph_break.name.empty() ? "value" : graph_break.name;
  const size_t index = met_++;
  if (index < known_) return MakeResult(state_.results[index], graph_break, name);
  auto segment = std::make_shared<Segment>();
  segment->operand_count = graph_break.operands.size();
  segment->call = graph_break.call;
  segment->runner = std::make_unique<DeviceRunner>(programs_, is_checked_);
  std::vector<Tensor> wanted = graph_break.operands;
  wanted.insert(wanted.end(), graph_break.kept.begin(), graph_break.kept.end());
  TARTAN_ASSIGN_OR_RETURN(segment->function,
                          CompiledFunction::Make(programs_, state_.placeholders, wanted, name_,
                                                 is_checked_, statistics_));
  Append(segment);
  TARTAN_RETURN_IF_ERROR(RunSegment(*segment, &state_, statistics_, nullptr));
  return MakeResult(state_.results.back(), graph_break, name);
}

absl::StatusOr<std::shared_ptr<Segment>> SegmentRecorder::Finish(std::vector<Value> outputs) {
  auto segment = std::make_shared<Segment>();
  segment->is_last = true;
  std::vector<Tensor> wanted;
  for (const Value& output : outputs) AppendTensors(output, &wanted);
  segment->outputs = std::move(outputs);
  TARTAN_ASSIGN_OR_RETURN(segment->function,
                          CompiledFunction::Make(programs_, state_.placeholders, wanted, name_,
                                                 is_checked_, statistics_));
  Append(std::move(segment));
  return first_made_;
}

}  // namespace tartan::api
