// SPDX-License-Identifier: Apache-2.0
#include "distributed/training/gradient_exchange.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/host_communicator.h"
#include "distributed/mpi/mpi_transport.h"
#include "distributed/nccl/nccl_transport.h"
#include "distributed/peer/peer_transport.h"
#include "distributed/trace.h"
#include "distributed/training/rank_texts.h"
#include "frontend/api/device_queue.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

// Reductions by processors and by copies between GPUs overlap the backward pass. Reductions by NCCL
// do not: a GPU alternates between kernels of CUDA and of OpenCL every 2 ms, so NCCL adds all
// gradients at the end.
constexpr int64_t kHostBucket = int64_t{4} << 20;
constexpr int64_t kPeerBucket = int64_t{32} << 20;

struct Reduction {
  Range range;
  DataType type = DataType::kFloat32;
};

// Joins adjacent tensors of one buffer, with the padding between them.
std::vector<Reduction> ReductionsOf(absl::Span<const api::DeviceTensor> tensors) {
  std::vector<Reduction> joined;
  for (const api::DeviceTensor& tensor : tensors) {
    const hal::BufferPtr& buffer = tensor.buffer();
    const hal::BufferPtr& whole = buffer->parent() == nullptr ? buffer : buffer->parent();
    const int64_t offset = buffer->parent() == nullptr ? 0 : buffer->offset();
    const int64_t end = offset + tensor.shape().byte_size();
    if (end == offset) continue;
    if (!joined.empty()) {
      Range& last = joined.back().range;
      const int64_t gap = offset - (last.offset + last.size);
      if (last.buffer == whole && joined.back().type == tensor.shape().type && gap >= 0 &&
          gap < whole->device()->info().buffer_alignment) {
        last.size = end - last.offset;
        continue;
      }
    }
    joined.push_back({{whole, offset, end - offset}, tensor.shape().type});
  }
  return joined;
}

Range RangeOf(const train::MemoryRange& memory) {
  return {memory.buffer, memory.offset, memory.bytes};
}

struct Choice {
  Way way;
  const char* name;
  absl::StatusOr<std::unique_ptr<DeviceTransport>> (*join)(HostTransport&, const hal::DevicePtr&);
};
constexpr Choice kChoices[] = {{Way::kPeer, "by copies between GPUs", JoinPeers},
                               {Way::kNccl, "by NCCL", JoinNccl}};

// Null if gradients go through the host.
JoinDevices JoinOf(const ExchangeOptions& options) {
  if (options.join != nullptr) return options.join;
  if (options.way == Way::kHost) return nullptr;
  return
      [options](HostTransport& transport,
                const hal::DevicePtr& device) -> absl::StatusOr<std::unique_ptr<DeviceTransport>> {
        std::string reasons;
        const auto report = [&](const char* name) {
          if (options.on_choice != nullptr)
            options.on_choice(absl::StrCat("gradients are added ", name, reasons));
        };
        for (const Choice& choice : kChoices) {
          if (options.way != Way::kFastest && options.way != choice.way) continue;
          auto joined = choice.join(transport, device);
          if (joined.ok()) {
            report(choice.name);
            return joined;
          }
          if (options.way == choice.way) return joined.status();
          absl::StrAppend(&reasons, "; not ", choice.name, ": ", joined.status().message());
        }
        report("through the host");
        return std::unique_ptr<DeviceTransport>();
      };
}

class Exchange : public train::GradientExchange {
 public:
  Exchange(std::shared_ptr<HostCommunicator> communicator, const ExchangeOptions& options)
      : owner_(std::move(communicator)), communicator_(*owner_), last_end_ns_(NowNs()) {
    if (options.traces) trace_.emplace(last_end_ns_);
  }

  int64_t rank() const override { return communicator_.place().rank; }
  int64_t ranks() const override { return communicator_.place().ranks; }
  int64_t local_rank() const override { return communicator_.place().local_rank; }

  absl::Status Agree(const std::map<std::string, std::string>& facts) override {
    return communicator_.OnTransport(
        [&](HostTransport& transport) { return CompareFacts(transport, facts); });
  }

  absl::Status Open(const api::Device& device) override {
    if (is_open_) return absl::OkStatus();
    is_open_ = true;
    return communicator_.Open(device.hal());
  }
  absl::StatusOr<hal::BufferPtr> Allocate(const api::Device& device, int64_t bytes) override {
    return communicator_.Allocate(device.hal(), bytes);
  }

  int64_t bucket_bytes() const override {
    const DeviceTransport* const direct = communicator_.direct();
    if (direct == nullptr) return kHostBucket;
    return direct->OverlapsKernels() ? kPeerBucket : std::numeric_limits<int64_t>::max();
  }

  absl::StatusOr<hal::EventPtr> StartSum(const train::GradientBucket& bucket) override {
    if (bucket.HasPart()) {
      TARTAN_ASSIGN_OR_RETURN(
          started_.emplace_back(),
          communicator_.ReduceScatter(RangeOf(bucket.whole), RangeOf(bucket.part),
                                      DataType::kFloat32, bucket.computed));
      times_.bytes += bucket.whole.bytes;
      return started_.back();
    }
    for (const Reduction& sum : ReductionsOf(bucket.tensors)) {
      TARTAN_ASSIGN_OR_RETURN(started_.emplace_back(),
                              communicator_.AllReduce(sum.range, sum.type, bucket.computed));
      times_.bytes += sum.range.size;
    }
    return started_.empty() ? bucket.computed : started_.back();
  }

  absl::Status StartSums(const api::Device& device,
                         absl::Span<const train::GradientBucket> buckets) override {
    sums_ = {};
    sums_.start_ns = NowNs();
    TARTAN_ASSIGN_OR_RETURN(sums_.all_computed, device.queue()->Mark());
    for (train::GradientBucket bucket : buckets) {
      if (bucket.computed == nullptr) bucket.computed = sums_.all_computed;
      TARTAN_RETURN_IF_ERROR(StartSum(bucket).status());
      sums_.ends.push_back(started_.size());
    }
    return absl::OkStatus();
  }

  absl::Status WaitForSum(size_t bucket) override {
    if (bucket + 1 == sums_.ends.size()) TARTAN_RETURN_IF_ERROR(WaitUntilComputed());
    for (size_t r = bucket == 0 ? 0 : sums_.ends[bucket - 1]; r < sums_.ends[bucket]; ++r)
      TARTAN_RETURN_IF_ERROR(started_[r]->Wait());
    sums_.received_ns = NowNs();
    return absl::OkStatus();
  }

  absl::Status TraceUpdate(const hal::EventPtr& done) override {
    if (!trace_.has_value()) return absl::OkStatus();
    TARTAN_RETURN_IF_ERROR(done->Wait());
    trace_->Add(Trace::kUpdates, "update", sums_.received_ns, NowNs());
    return absl::OkStatus();
  }

  absl::Status FinishSums() override {
    const std::vector<hal::EventPtr> reduced = std::exchange(started_, {});
    if (reduced.empty()) return absl::OkStatus();
    // The reductions of one bucket begin when all is computed. A second thread that waits for the
    // device would only take the driver's locks.
    const bool is_one_bucket = sums_.ends.size() == 1;
    if (!is_one_bucket) TARTAN_RETURN_IF_ERROR(WaitUntilComputed());
    int64_t computed_ns = sums_.computed_ns;
    std::vector<hal::Timing> timings;
    for (const hal::EventPtr& event : reduced) {
      TARTAN_ASSIGN_OR_RETURN(timings.emplace_back(), event->GetTiming());
    }
    if (is_one_bucket) computed_ns = timings.front().start_ns;
    ++times_.sums;
    const int64_t end = std::max(computed_ns, timings.back().end_ns);
    times_.lost_s += static_cast<double>(end - computed_ns) * 1e-9;
    if (!trace_.has_value()) return absl::OkStatus();
    TARTAN_RETURN_IF_ERROR(TraceGathers());
    trace_->Add(Trace::kTraining, "start steps", last_end_ns_, sums_.start_ns);
    trace_->Add(Trace::kTraining, "wait for gradients", sums_.start_ns, NowNs());
    trace_->Add(Trace::kDevice, "compute", last_end_ns_, computed_ns);
    trace_->Add(Trace::kDevice, "wait for ranks", computed_ns, end);
    for (const hal::Timing& timing : timings)
      trace_->Add(Trace::kCommunication, "all-reduce", timing.start_ns, timing.end_ns);
    last_end_ns_ = NowNs();
    return absl::OkStatus();
  }

  absl::StatusOr<hal::EventPtr> StartGather(const train::GradientBucket& bucket) override {
    TARTAN_ASSIGN_OR_RETURN(
        const hal::EventPtr gathered,
        communicator_.AllGather(RangeOf(bucket.part), RangeOf(bucket.whole), bucket.computed));
    if (trace_.has_value()) gathers_.push_back(gathered);
    return gathered;
  }

  absl::Status Gather(const api::Device& device,
                      absl::Span<const train::GradientBucket> buckets) override {
    TARTAN_ASSIGN_OR_RETURN(const hal::EventPtr computed, device.queue()->Mark());
    std::vector<hal::EventPtr> gathered;
    for (train::GradientBucket bucket : buckets) {
      bucket.computed = computed;
      TARTAN_ASSIGN_OR_RETURN(gathered.emplace_back(), StartGather(bucket));
    }
    TARTAN_RETURN_IF_ERROR(computed->Wait());
    const int64_t start = NowNs();
    for (const hal::EventPtr& event : gathered) {
      TARTAN_RETURN_IF_ERROR(event->Wait());
    }
    TARTAN_RETURN_IF_ERROR(TraceGathers());
    times_.lost_s += static_cast<double>(NowNs() - start) * 1e-9;
    return absl::OkStatus();
  }

  absl::Status GatherBytes(absl::Span<const uint8_t> own, absl::Span<uint8_t> all) override {
    if (own.empty()) return absl::OkStatus();
    return communicator_.OnTransport(
        [&](HostTransport& transport) { return transport.AllGather(own, all); });
  }

  absl::Status SumNumbers(absl::Span<double> numbers) override {
    return communicator_.OnTransport([&](HostTransport& transport) {
      return transport.AllReduce(absl::MakeSpan(reinterpret_cast<uint8_t*>(numbers.data()),
                                                numbers.size() * sizeof(double)),
                                 DataType::kFloat64);
    });
  }

  absl::Status Broadcast(std::string* bytes) override {
    return communicator_.OnTransport(
        [&](HostTransport& transport) { return BroadcastText(transport, bytes); });
  }

  train::ExchangeTimes times() const override { return times_; }

  absl::StatusOr<std::string> CollectTrace() override {
    std::string document;
    if (!trace_.has_value()) return document;
    TARTAN_RETURN_IF_ERROR(communicator_.OnTransport([&](HostTransport& transport) -> absl::Status {
      TARTAN_ASSIGN_OR_RETURN(const auto events, GatherTexts(transport, trace_->EventsOf(rank())));
      if (rank() == 0) document = TraceDocument(events);
      return absl::OkStatus();
    }));
    return document;
  }

  void Fail(const absl::Status& why) override {
    if (!has_finished_) communicator_.Fail(std::string(why.message()));
  }

  absl::Status Finish() override {
    has_finished_ = true;
    return communicator_.OnTransport([](HostTransport& transport) { return transport.Finish(); });
  }

 private:
  absl::Status WaitUntilComputed() {
    if (sums_.computed_ns > 0) return absl::OkStatus();
    TARTAN_RETURN_IF_ERROR(sums_.all_computed->Wait());
    sums_.computed_ns = NowNs();
    return absl::OkStatus();
  }

  // Adds the gathers that were started to the time line. Waits for them.
  absl::Status TraceGathers() {
    for (const hal::EventPtr& event : std::exchange(gathers_, {})) {
      TARTAN_ASSIGN_OR_RETURN(const hal::Timing timing, event->GetTiming());
      trace_->Add(Trace::kCommunication, "all-gather", timing.start_ns, timing.end_ns);
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<HostCommunicator> owner_;
  HostCommunicator& communicator_;
  bool is_open_ = false;
  std::vector<hal::EventPtr> started_;  // reductions that FinishSums waits for
  // The sums of StartSums. Times are 0 until they are known.
  struct Sums {
    hal::EventPtr all_computed;
    std::vector<size_t> ends;  // by bucket: the number of reductions in `started_` up to its last
    int64_t start_ns = 0;
    int64_t computed_ns = 0;
    int64_t received_ns = 0;  // of the last WaitForSum
  };
  Sums sums_;
  std::vector<hal::EventPtr> gathers_;  // for the time line
  train::ExchangeTimes times_;
  std::optional<Trace> trace_;
  int64_t last_end_ns_;  // of the last reduction
  bool has_finished_ = false;
};

}  // namespace

absl::StatusOr<Way> WayNamed(const std::string& name) {
  if (name == "auto") return Way::kFastest;
  if (name == "peer") return Way::kPeer;
  if (name == "nccl") return Way::kNccl;
  if (name == "host") return Way::kHost;
  return absl::InvalidArgumentError(
      absl::StrCat("the transport is '", name, "', not one of 'auto', 'peer', 'nccl' and 'host'"));
}

std::unique_ptr<train::GradientExchange> MakeGradientExchange(
    std::unique_ptr<HostTransport> transport, const ExchangeOptions& options) {
  return std::make_unique<Exchange>(
      std::make_shared<HostCommunicator>(std::move(transport), JoinOf(options)), options);
}

absl::StatusOr<std::shared_ptr<train::GradientExchange>> JoinRanks(const JoinOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(const JoinedRanks joined, JoinRanksAndCommunicator(options));
  return joined.exchange;
}

absl::StatusOr<JoinedRanks> JoinRanksAndCommunicator(const JoinOptions& options) {
  if (!StartedByMpi()) return JoinedRanks();
  MpiOptions mpi;
  mpi.longest_wait_s = options.longest_wait_s;
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<HostTransport> transport, JoinMpi(mpi));
  // Ranks leave this reduction together: their time lines begin then.
  double ready = 1;
  TARTAN_RETURN_IF_ERROR(transport->AllReduce(
      absl::MakeSpan(reinterpret_cast<uint8_t*>(&ready), sizeof(ready)), DataType::kFloat64));
  JoinedRanks joined;
  joined.communicator =
      std::make_shared<HostCommunicator>(std::move(transport), JoinOf(options.exchange));
  joined.exchange = std::make_shared<Exchange>(joined.communicator, options.exchange);
  return joined;
}

}  // namespace tartan::distributed
