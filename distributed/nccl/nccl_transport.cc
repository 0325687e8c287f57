// SPDX-License-Identifier: Apache-2.0
#include "distributed/nccl/nccl_transport.h"

#include <string>
#include <thread>
#include <utility>

#include "distributed/nccl/libraries.h"
#include "distributed/nccl/shared_device.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

constexpr int kPollsPerCheck = 1000;

template <class Value>
absl::Span<uint8_t> RawBytes(Value* value) {
  return absl::MakeSpan(reinterpret_cast<uint8_t*>(value), sizeof(Value));
}

NcclType NcclTypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return kNcclFloat32;
    case DataType::kFloat64:
      return kNcclFloat64;
    case DataType::kInt32:
      return kNcclInt32;
    case DataType::kInt64:
      return kNcclInt64;
    case DataType::kBFloat16:
      return kNcclBFloat16;
    default:
      return kNcclInt8;
  }
}

class NcclTransport : public DeviceTransport {
 public:
  NcclTransport(HostTransport& transport, hal::DevicePtr device)
      : transport_(transport), device_(std::move(device)) {}
  ~NcclTransport() override;

  // Does the part of joining that needs no other rank. The first rank makes `id`.
  absl::Status Prepare(NcclId* id);
  absl::Status Join(const NcclId& id);

  absl::StatusOr<hal::BufferPtr> Allocate(int64_t bytes) override { return gpu_->Allocate(bytes); }
  bool Has(const hal::Buffer& buffer) const override { return gpu_->Has(buffer); }
  // A GPU alternates between kernels of CUDA and of OpenCL.
  bool OverlapsKernels() const override { return false; }
  std::string uuid() const { return gpu_->importer().Uuid(); }

  absl::Status AllReduce(const Range& range, DataType type) override {
    void* const data = AddressOf(range);
    return Call("all-reduce", nccl_->all_reduce, data, data, Count(range, type), NcclTypeOf(type),
                kNcclSum, ranks_, gpu_->stream());
  }
  absl::Status AllGather(const Range& from, const Range& to) override {
    return Call("all-gather", nccl_->all_gather, AddressOf(from), AddressOf(to), Size(from),
                kNcclInt8, ranks_, gpu_->stream());
  }
  absl::Status ReduceScatter(const Range& from, const Range& to, DataType type) override {
    return Call("reduce-scatter", nccl_->reduce_scatter, AddressOf(from), AddressOf(to),
                Count(to, type), NcclTypeOf(type), kNcclSum, ranks_, gpu_->stream());
  }
  absl::Status Broadcast(const Range& range, int64_t root) override {
    void* const data = AddressOf(range);
    return Call("broadcast", nccl_->broadcast, data, data, Size(range), kNcclInt8,
                static_cast<int>(root), ranks_, gpu_->stream());
  }
  absl::Status Send(const Range& range, int64_t to) override {
    return Call("send", nccl_->send, AddressOf(range), Size(range), kNcclInt8, static_cast<int>(to),
                ranks_, gpu_->stream());
  }
  absl::Status Receive(const Range& range, int64_t from) override {
    return Call("receive", nccl_->receive, AddressOf(range), Size(range), kNcclInt8,
                static_cast<int>(from), ranks_, gpu_->stream());
  }

 private:
  static size_t Size(const Range& range) { return static_cast<size_t>(range.size); }
  static size_t Count(const Range& range, DataType type) {
    return static_cast<size_t>(range.size / ByteWidth(type));
  }
  void* AddressOf(const Range& range) const {
    return reinterpret_cast<void*>(gpu_->AddressOf(range));  // NOLINT(performance-no-int-to-ptr)
  }
  template <class Function, class... Arguments>
  absl::Status Call(const char* what, Function function, Arguments... arguments);
  // Waits for the stream.
  absl::Status Wait();

  HostTransport& transport_;
  const hal::DevicePtr device_;
  const NcclLibrary* nccl_ = nullptr;
  std::unique_ptr<SharedDevice> gpu_;
  NcclRanks ranks_ = nullptr;
  bool has_failed_ = false;
};

absl::Status NcclTransport::Prepare(NcclId* id) {
  TARTAN_ASSIGN_OR_RETURN(nccl_, NcclLibrary::Open());
  TARTAN_ASSIGN_OR_RETURN(gpu_, SharedDevice::Open(device_));
  if (transport_.place().rank > 0) return absl::OkStatus();
  return nccl_->Check(nccl_->make_id(id), "ncclGetUniqueId");
}

absl::Status NcclTransport::Join(const NcclId& id) {
  const Place& place = transport_.place();
  return nccl_->Check(
      nccl_->join(&ranks_, static_cast<int>(place.ranks), id, static_cast<int>(place.rank)),
      "ncclCommInitRank");
}

NcclTransport::~NcclTransport() {
  if (ranks_ == nullptr) return;
  gpu_->MakeCurrent();
  // Other ranks may never take part in what has failed.
  has_failed_ ? nccl_->abort(ranks_) : nccl_->leave(ranks_);
}

template <class Function, class... Arguments>
absl::Status NcclTransport::Call(const char* what, Function function, Arguments... arguments) {
  absl::Status status = transport_.Watch(what, [&]() -> absl::Status {
    TARTAN_RETURN_IF_ERROR(nccl_->Check(function(arguments...), what));
    return Wait();
  });
  has_failed_ = has_failed_ || !status.ok();
  return status;
}

absl::Status NcclTransport::Wait() {
  for (int polls = 1;; ++polls) {
    const int state = gpu_->cuda().query_stream(gpu_->stream());
    if (state != kCudaNotReady) return gpu_->cuda().Check(state, "cuStreamQuery");
    if (polls % kPollsPerCheck == 0) {
      int error = 0;
      TARTAN_RETURN_IF_ERROR(nccl_->Check(nccl_->failure(ranks_, &error), "ncclCommGetAsyncError"));
      if (error != kNcclInProgress)
        TARTAN_RETURN_IF_ERROR(nccl_->Check(error, "a collective operation"));
    }
    std::this_thread::yield();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceTransport>> JoinNccl(HostTransport& transport,
                                                          const hal::DevicePtr& device) {
  auto joined = std::make_unique<NcclTransport>(transport, device);
  NcclId id = {};
  TARTAN_RETURN_IF_ERROR(Agree(transport, joined->Prepare(&id), "NCCL"));
  TARTAN_RETURN_IF_ERROR(GatherUuids(transport, joined->uuid()).status());
  TARTAN_RETURN_IF_ERROR(transport.Broadcast(RawBytes(&id), /*root=*/0));
  const absl::Status status = transport.Watch("start of NCCL", [&] { return joined->Join(id); });
  TARTAN_RETURN_IF_ERROR(Agree(transport, status, "NCCL"));
  return std::unique_ptr<DeviceTransport>(std::move(joined));
}

}  // namespace tartan::distributed
