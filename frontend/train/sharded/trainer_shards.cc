// SPDX-License-Identifier: Apache-2.0
// The part of a trainer that keeps a rank's part of the state.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/device_queue.h"
#include "frontend/train/ranks/gradient_order.h"
#include "frontend/train/ranks/joined_sums.h"
#include "frontend/train/ranks/norms.h"
#include "frontend/train/sharded/build_norms.h"
#include "frontend/train/trainer_programs.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// Bytes; the same on all ranks, whose devices may align less.
constexpr int64_t kAlignment = 512;
constexpr int64_t kFewElements = 1 << 16;  // of a small parameter
// Bytes of a bucket of parameters where the exchange has no limit: more than two are in memory.
constexpr int64_t kLargestGather = int64_t{64} << 20;

TensorShape Floats(int64_t count) { return {DataType::kFloat32, {count}}; }

HostTensor SliceOf(const HostTensor& whole, const ShardLayout::Segment& segment) {
  const TensorShape shape = Floats(segment.count);
  return HostTensor(
      shape, whole.bytes().subspan(static_cast<size_t>(segment.first * ByteWidth(shape.type)),
                                   static_cast<size_t>(shape.byte_size())));
}

absl::Status CheckDevice(const hal::DeviceInfo& info) {
  if (kAlignment % info.buffer_alignment != 0) {
    return absl::UnimplementedError(absl::StrCat("parts of the state need an alignment of ",
                                                 kAlignment, " bytes, not ",
                                                 info.buffer_alignment));
  }
  if (info.sub_buffers_may_overlap) return absl::OkStatus();
  return absl::UnimplementedError(
      "parts of the state need overlapping sub-buffers, which the device does not have");
}

// A rank's part of a bucket, in memory that has this rank's parts only.
absl::StatusOr<api::DeviceTensor> PartOf(const api::Device& device, const hal::BufferPtr& parts,
                                         const ShardLayout::Bucket& bucket, int64_t ranks) {
  return api::DeviceTensor::Within(device, parts, bucket.offset / ranks,
                                   Floats(bucket.size / ranks / 4));
}

// A bucket at `offset` of `whole`, and the part of this rank.
absl::StatusOr<GradientBucket> BucketOf(const api::Device& device, const hal::BufferPtr& whole,
                                        const ShardLayout::Bucket& bucket,
                                        const GradientExchange& exchange) {
  GradientBucket made;
  const int64_t part = bucket.size / exchange.ranks();
  TARTAN_ASSIGN_OR_RETURN(
      made.tensors.emplace_back(),
      api::DeviceTensor::Within(device, whole, bucket.offset, Floats(bucket.size / 4)));
  TARTAN_ASSIGN_OR_RETURN(
      made.part, api::DeviceTensor::Within(device, whole, bucket.offset + exchange.rank() * part,
                                           Floats(part / 4)));
  return made;
}

}  // namespace

absl::Status TrainerPrograms::MakeShards() {
  if (!joined.empty()) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(CheckDevice(device->hal()->info()));
  std::vector<const Parameter*> ordered = InOrderOfGradients(*model, parameters);
  // Programs complete the gradients of some biases and of narrow last layers late, and a bucket
  // with one of them would be in use until then. So small parameters are last.
  std::stable_partition(ordered.begin(), ordered.end(), [](const Parameter* parameter) {
    return parameter->shape.element_count() >= kFewElements;
  });
  std::vector<int64_t> counts;
  for (const Parameter* parameter : ordered) {
    shards->whole.push_back(*parameter);
    counts.push_back(parameter->shape.element_count());
    shards->names.push_back(parameter->name);
    shards->shapes.push_back({DataType::kFloat32, parameter->shape.dims});
  }
  int64_t full = options.bucket_bytes;
  if (full == 0) {
    full = exchange()->bucket_bytes();
    if (DividesParameters()) full = std::min(full, kLargestGather);
  }
  shards->alignment = kAlignment;
  shards->layout = LayOutShards(counts, exchange()->ranks(), kAlignment, full);
  const ShardLayout& layout = shards->layout;
  shards->owned = layout.SegmentsOf(exchange()->rank());
  const int64_t gradient_bytes =
      PassesGradients() ? layout.bytes / exchange()->ranks() : layout.bytes;
  TARTAN_ASSIGN_OR_RETURN(shards->gradient_memory,
                          exchange()->Allocate(*device, gradient_bytes + kAlignment));
  const int64_t parameter_bytes =
      DividesParameters() ? layout.bytes / exchange()->ranks() : layout.bytes;
  TARTAN_ASSIGN_OR_RETURN(shards->parameter_memory, exchange()->Allocate(*device, parameter_bytes));
  TARTAN_RETURN_IF_ERROR(MakeShardBuckets());
  TARTAN_RETURN_IF_ERROR(MakeSegments());
  TARTAN_RETURN_IF_ERROR(DividesParameters() ? AssignSegments() : MakeWholeTensors());
  TARTAN_ASSIGN_OR_RETURN(
      tensors[kJoined], api::DeviceTensor::Within(*device, shards->gradient_memory, gradient_bytes,
                                                  Floats(kJoinedCount)));
  joined.push_back({{tensors[kJoined]}, nullptr, {}});
  joined_states.push_back({kJoined});
  return absl::OkStatus();
}

absl::Status TrainerPrograms::MakeShardBuckets() {
  for (const ShardLayout::Bucket& bucket : shards->layout.buckets) {
    if (PassesGradients()) {
      TARTAN_ASSIGN_OR_RETURN(shards->parts.emplace_back(), PartOf(*device, shards->gradient_memory,
                                                                   bucket, exchange()->ranks()));
    } else {
      TARTAN_ASSIGN_OR_RETURN(joined.emplace_back(),
                              BucketOf(*device, shards->gradient_memory, bucket, *exchange()));
    }
    if (DividesParameters()) {
      TARTAN_ASSIGN_OR_RETURN(
          shards->parameter_parts.emplace_back(),
          PartOf(*device, shards->parameter_memory, bucket, exchange()->ranks()));
    } else {
      TARTAN_ASSIGN_OR_RETURN(shards->parameters.emplace_back(),
                              BucketOf(*device, shards->parameter_memory, bucket, *exchange()));
    }
    std::set<std::string>& states = joined_states.emplace_back();
    for (const size_t t : bucket.tensors) states.insert(StateName("gradient", shards->names[t]));
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::MakeSegments() {
  const int64_t ranks = exchange()->ranks();
  for (const ShardLayout::Segment& owned : shards->owned) {
    Parameter& segment = shards->segments.emplace_back(shards->whole[owned.tensor]);
    absl::StrAppend(&segment.name, "[", owned.first, ":", owned.first + owned.count, "]");
    segment.shape = Floats(owned.count);
    const ShardLayout::Bucket& bucket = shards->layout.buckets[owned.bucket];
    const int64_t in_whole = bucket.offset + owned.offset;
    const int64_t in_parts =
        bucket.offset / ranks + owned.offset - exchange()->rank() * (bucket.size / ranks);
    TARTAN_ASSIGN_OR_RETURN(
        shards->views[StateName("gradient", segment.name)],
        api::DeviceTensor::Within(*device, shards->gradient_memory,
                                  PassesGradients() ? in_parts : in_whole, segment.shape));
    TARTAN_ASSIGN_OR_RETURN(
        shards->views[StateName("parameter", segment.name)],
        api::DeviceTensor::Within(*device, shards->parameter_memory,
                                  DividesParameters() ? in_parts : in_whole, segment.shape));
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::AssignSegments() {
  for (size_t s = 0; s < shards->owned.size(); ++s) {
    const ShardLayout::Segment& owned = shards->owned[s];
    const StateSpec whole = {StateName("parameter", shards->names[owned.tensor]),
                             shards->shapes[owned.tensor]};
    TARTAN_ASSIGN_OR_RETURN(const std::optional<HostTensor> first, FirstValue(whole));
    api::DeviceTensor& part = shards->views.at(StateName("parameter", shards->segments[s].name));
    TARTAN_RETURN_IF_ERROR(part.Assign(SliceOf(*first, owned)));
  }
  // Other ranks have the rest.
  for (const std::string& name : shards->names)
    shards->restored.erase(StateName("parameter", name));
  return absl::OkStatus();
}

absl::Status TrainerPrograms::MakeWholeTensors() {
  const ShardLayout& layout = shards->layout;
  for (const ShardLayout::Bucket& bucket : layout.buckets) {
    for (const size_t t : bucket.tensors) {
      const std::string& name = shards->names[t];
      const TensorShape& shape = shards->shapes[t];
      const int64_t place = bucket.offset + layout.offsets[t];
      if (!PassesGradients()) {
        TARTAN_ASSIGN_OR_RETURN(
            tensors[StateName("gradient", name)],
            api::DeviceTensor::Within(*device, shards->gradient_memory, place, shape));
      }
      api::DeviceTensor& parameter = tensors[StateName("parameter", name)];
      TARTAN_ASSIGN_OR_RETURN(
          parameter, api::DeviceTensor::Within(*device, shards->parameter_memory, place, shape));
      TARTAN_ASSIGN_OR_RETURN(const std::optional<HostTensor> first,
                              FirstValue({StateName("parameter", name), shape}));
      TARTAN_RETURN_IF_ERROR(parameter.Assign(*first));
    }
  }
  return absl::OkStatus();
}

std::optional<HostTensor> TrainerPrograms::TakeRestored(const StateSpec& spec) {
  std::map<std::string, HostTensor>& restored = shards->restored;
  if (auto found = restored.extract(spec.name); !found.empty())
    return Converted(found.mapped(), spec.shape);
  const size_t slash = spec.name.find('/');
  for (size_t s = 0; s < shards->segments.size(); ++s) {
    if (spec.name.compare(slash + 1, std::string::npos, shards->segments[s].name) != 0) continue;
    const ShardLayout::Segment& owned = shards->owned[s];
    const std::string kind = spec.name.substr(0, slash);
    auto found = restored.extract(StateName(kind, shards->names[owned.tensor]));
    if (!found.empty()) return SliceOf(found.mapped(), owned);
  }
  return std::nullopt;
}

absl::Status TrainerPrograms::ApplyShard(double rate) {
  if (plan.NeedsNorms()) {
    if (norms.program == nullptr) {
      TARTAN_ASSIGN_OR_RETURN(StepGraph graph, BuildNorms(shards->segments, plan));
      TARTAN_ASSIGN_OR_RETURN(norms, Make(std::move(graph), "norm"));
    }
    TARTAN_RETURN_IF_ERROR(norms.program->Start({}));
    api::DeviceTensor& tensor = tensors.at(kNorms);
    TARTAN_ASSIGN_OR_RETURN(const HostTensor own, tensor.ToHost());
    std::vector<double> sums = own.ToDoubles();
    TARTAN_RETURN_IF_ERROR(exchange()->SumNumbers(absl::MakeSpan(sums)));
    TARTAN_RETURN_IF_ERROR(tensor.Assign(
        HostTensor::FromVector(own.shape(), std::vector<float>(sums.begin(), sums.end()))));
  }
  TARTAN_RETURN_IF_ERROR(apply.program->Start({Numbers(rate)}));
  if (!PassesGradients()) {  // the update resets its own part only
    const std::vector<uint8_t> zero(4);
    TARTAN_RETURN_IF_ERROR(device->queue()->Enqueue([&](hal::Queue& queue) {
      return queue.Fill(shards->gradient_memory, 0, shards->layout.bytes, zero);
    }));
  }
  return DividesParameters() ? absl::OkStatus() : exchange()->Gather(*device, shards->parameters);
}

absl::StatusOr<HostTensor> TrainerPrograms::ReadSegment(absl::string_view kind, size_t segment) {
  const std::string name = StateName(kind, shards->segments[segment].name);
  const auto view = shards->views.find(name);
  return view != shards->views.end() ? view->second.ToHost() : tensors.at(name).ToHost();
}

absl::Status TrainerPrograms::GatherKind(absl::string_view kind,
                                         std::map<std::string, HostTensor>* states) {
  const ShardLayout& layout = shards->layout;
  for (size_t b = 0; b < layout.buckets.size(); ++b) {
    const ShardLayout::Bucket& bucket = layout.buckets[b];
    const int64_t part = bucket.size / layout.ranks;
    std::vector<uint8_t> own(static_cast<size_t>(part));
    for (size_t s = 0; s < shards->owned.size(); ++s) {
      const ShardLayout::Segment& owned = shards->owned[s];
      if (owned.bucket != b) continue;
      TARTAN_ASSIGN_OR_RETURN(const HostTensor value, ReadSegment(kind, s));
      const absl::Span<const uint8_t> bytes = value.bytes();
      std::copy(bytes.begin(), bytes.end(),
                own.begin() + (owned.offset - exchange()->rank() * part));
    }
    std::vector<uint8_t> all(static_cast<size_t>(bucket.size));
    TARTAN_RETURN_IF_ERROR(exchange()->GatherBytes(own, absl::MakeSpan(all)));
    for (const size_t t : bucket.tensors) {
      const TensorShape& shape = shards->shapes[t];
      (*states)[StateName(kind, shards->names[t])] = HostTensor(
          shape, absl::MakeConstSpan(all).subspan(static_cast<size_t>(layout.offsets[t]),
                                                  static_cast<size_t>(shape.byte_size())));
    }
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::GatherStates(std::map<std::string, HostTensor>* states) {
  for (const auto& [name, value] : shards->restored) states->insert({name, value});
  if (DividesParameters()) TARTAN_RETURN_IF_ERROR(GatherKind("parameter", states));
  if (apply.program == nullptr) return absl::OkStatus();
  for (const std::string& kind : SlotNames(plan.optimizer))
    TARTAN_RETURN_IF_ERROR(GatherKind(kind, states));
  return absl::OkStatus();
}

absl::Status TrainerPrograms::RestoreShard(const std::string& name, const HostTensor& value) {
  if (const auto found = tensors.find(name); found != tensors.end())
    return found->second.Assign(value);
  const std::string kind = name.substr(0, name.find('/'));
  // Are there parts on the device, maybe of other ranks?
  const bool has_parts = kind == "parameter" ? !shards->views.empty() : apply.program != nullptr;
  const bool is_on_device =
      has_parts && std::any_of(shards->names.begin(), shards->names.end(),
                               [&](const auto& n) { return name == StateName(kind, n); });
  if (!is_on_device) {
    shards->restored[name] = value;
    return absl::OkStatus();
  }
  for (size_t s = 0; s < shards->owned.size(); ++s) {
    const ShardLayout::Segment& owned = shards->owned[s];
    if (name != StateName(kind, shards->names[owned.tensor])) continue;
    const std::string part = StateName(kind, shards->segments[s].name);
    api::DeviceTensor& tensor = kind == "parameter" ? shards->views.at(part) : tensors.at(part);
    TARTAN_RETURN_IF_ERROR(tensor.Assign(SliceOf(value, owned)));
  }
  return absl::OkStatus();
}

}  // namespace tartan::train
