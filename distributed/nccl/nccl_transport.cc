// SPDX-License-Identifier: Apache-2.0
#include "distributed/nccl/nccl_transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/nccl/libraries.h"
#include "distributed/nccl/shared_memory.h"
#include "hal/external_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

constexpr int kPollsPerCheck = 1000;
// Bytes of memory that OpenCL and CUDA share; more is ordinary memory. On a host of two H200 a
// process with 620 MiB ended before its first collective operation; 325 MiB worked.
constexpr int64_t kLargestShared = int64_t{512} << 20;

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

  absl::StatusOr<hal::BufferPtr> Allocate(int64_t bytes) override;
  bool Has(const hal::Buffer& buffer) const override { return Find(buffer) != nullptr; }

  absl::Status AllReduce(const Range& range, DataType type) override {
    void* const data = AddressOf(range);
    return Call("all-reduce", nccl_->all_reduce, data, data, Count(range, type), NcclTypeOf(type),
                kNcclSum, ranks_, stream_);
  }
  absl::Status AllGather(const Range& from, const Range& to) override {
    return Call("all-gather", nccl_->all_gather, AddressOf(from), AddressOf(to), Size(from),
                kNcclInt8, ranks_, stream_);
  }
  absl::Status ReduceScatter(const Range& from, const Range& to, DataType type) override {
    return Call("reduce-scatter", nccl_->reduce_scatter, AddressOf(from), AddressOf(to),
                Count(to, type), NcclTypeOf(type), kNcclSum, ranks_, stream_);
  }
  absl::Status Broadcast(const Range& range, int64_t root) override {
    void* const data = AddressOf(range);
    return Call("broadcast", nccl_->broadcast, data, data, Size(range), kNcclInt8,
                static_cast<int>(root), ranks_, stream_);
  }
  absl::Status Send(const Range& range, int64_t to) override {
    return Call("send", nccl_->send, AddressOf(range), Size(range), kNcclInt8, static_cast<int>(to),
                ranks_, stream_);
  }
  absl::Status Receive(const Range& range, int64_t from) override {
    return Call("receive", nccl_->receive, AddressOf(range), Size(range), kNcclInt8,
                static_cast<int>(from), ranks_, stream_);
  }

 private:
  static size_t Size(const Range& range) { return static_cast<size_t>(range.size); }
  static size_t Count(const Range& range, DataType type) {
    return static_cast<size_t>(range.size / ByteWidth(type));
  }
  static const hal::Buffer& WholeOf(const hal::Buffer& buffer) {
    return buffer.parent() == nullptr ? buffer : *buffer.parent();
  }

  // Null if the buffer is other memory.
  std::shared_ptr<const SharedMemory> Find(const hal::Buffer& buffer) const;
  void* AddressOf(const Range& range) const;
  // Checks that CUDA sees what kernels of the device write.
  absl::Status CheckSharing();
  template <class Function, class... Arguments>
  absl::Status Call(const char* what, Function function, Arguments... arguments);
  // Waits for the stream.
  absl::Status Wait();

  HostTransport& transport_;
  const hal::DevicePtr device_;
  const CudaLibrary* cuda_ = nullptr;
  const NcclLibrary* nccl_ = nullptr;
  int number_ = 0;
  CudaContext context_ = nullptr;  // until the process ends
  CudaStream stream_ = nullptr;
  NcclRanks ranks_ = nullptr;
  bool has_failed_ = false;
  // Entries of buffers that are gone have no memory.
  std::map<const hal::Buffer*, std::weak_ptr<const SharedMemory>> memories_;
};

absl::Status NcclTransport::Prepare(NcclId* id) {
  TARTAN_ASSIGN_OR_RETURN(cuda_, CudaLibrary::Open());
  TARTAN_ASSIGN_OR_RETURN(nccl_, NcclLibrary::Open());
  TARTAN_ASSIGN_OR_RETURN(number_, CudaNumberOf(*cuda_, device_));
  TARTAN_RETURN_IF_ERROR(
      cuda_->Check(cuda_->retain_context(&context_, number_), "cuDevicePrimaryCtxRetain"));
  TARTAN_RETURN_IF_ERROR(cuda_->Check(cuda_->set_context(context_), "cuCtxSetCurrent"));
  TARTAN_RETURN_IF_ERROR(
      cuda_->Check(cuda_->create_stream(&stream_, kCudaNonBlocking), "cuStreamCreate"));
  TARTAN_RETURN_IF_ERROR(CheckSharing());
  if (transport_.place().rank > 0) return absl::OkStatus();
  return nccl_->Check(nccl_->make_id(id), "ncclGetUniqueId");
}

absl::Status NcclTransport::CheckSharing() {
  const int64_t part = device_->info().buffer_alignment;
  TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr whole, Allocate(2 * part));
  TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr second, device_->SubBuffer(whole, part, part));
  TARTAN_ASSIGN_OR_RETURN(const auto queue, device_->CreateQueue(/*profiling=*/false));
  const std::string written(static_cast<size_t>(part), 'x');
  TARTAN_RETURN_IF_ERROR(
      queue->Write(second, 0, {reinterpret_cast<const uint8_t*>(written.data()), written.size()}));
  TARTAN_RETURN_IF_ERROR(queue->Finish());
  std::string read(written.size(), ' ');
  const CudaAddress address = Find(*whole)->address() + static_cast<CudaAddress>(part);
  TARTAN_RETURN_IF_ERROR(
      cuda_->Check(cuda_->copy_to_host(read.data(), address, read.size()), "cuMemcpyDtoH"));
  if (read == written) return absl::OkStatus();
  return absl::UnavailableError("CUDA does not see what OpenCL writes to memory of both");
}

absl::Status NcclTransport::Join(const NcclId& id) {
  const Place& place = transport_.place();
  return nccl_->Check(
      nccl_->join(&ranks_, static_cast<int>(place.ranks), id, static_cast<int>(place.rank)),
      "ncclCommInitRank");
}

NcclTransport::~NcclTransport() {
  if (cuda_ == nullptr || context_ == nullptr) return;
  cuda_->set_context(context_);
  // Other ranks may never take part in what has failed.
  if (ranks_ != nullptr) has_failed_ ? nccl_->abort(ranks_) : nccl_->leave(ranks_);
  if (stream_ != nullptr) cuda_->destroy_stream(stream_);
}

absl::StatusOr<hal::BufferPtr> NcclTransport::Allocate(int64_t bytes) {
  if (bytes > kLargestShared) return device_->Allocate(bytes);
  TARTAN_ASSIGN_OR_RETURN(auto made, SharedMemory::Make(*cuda_, number_, device_, bytes));
  memories_[made.first.get()] = made.second;
  return std::move(made.first);
}

std::shared_ptr<const SharedMemory> NcclTransport::Find(const hal::Buffer& buffer) const {
  const auto found = memories_.find(&WholeOf(buffer));
  return found == memories_.end() ? nullptr : found->second.lock();
}

void* NcclTransport::AddressOf(const Range& range) const {
  const hal::Buffer& buffer = *range.buffer;
  const int64_t offset = range.offset + (buffer.parent() == nullptr ? 0 : buffer.offset());
  const CudaAddress address = Find(buffer)->address() + static_cast<CudaAddress>(offset);
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
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
    const int state = cuda_->query_stream(stream_);
    if (state != kCudaNotReady) return cuda_->Check(state, "cuStreamQuery");
    if (polls % kPollsPerCheck == 0) {
      int error = 0;
      TARTAN_RETURN_IF_ERROR(nccl_->Check(nccl_->failure(ranks_, &error), "ncclCommGetAsyncError"));
      if (error != kNcclInProgress)
        TARTAN_RETURN_IF_ERROR(nccl_->Check(error, "a collective operation"));
    }
    std::this_thread::yield();
  }
}

// Returns `own` if it is an error; Unavailable if another rank has one.
absl::Status Agree(HostTransport& transport, const absl::Status& own) {
  int32_t failed = own.ok() ? 0 : 1;
  TARTAN_RETURN_IF_ERROR(transport.AllReduce(RawBytes(&failed), DataType::kInt32));
  if (!own.ok() || failed == 0) return own;
  return absl::UnavailableError(absl::StrCat("NCCL fails on ", failed, " other ranks"));
}

absl::Status CheckThatDevicesDiffer(HostTransport& transport, const hal::DevicePtr& device) {
  using Uuid = std::array<uint8_t, sizeof(CudaUuid)>;
  Uuid own = {};
  const std::string uuid = dynamic_cast<hal::MemoryImporter&>(*device).Uuid();
  std::memcpy(own.data(), uuid.data(), std::min(own.size(), uuid.size()));
  std::vector<Uuid> all(static_cast<size_t>(transport.place().ranks));
  TARTAN_RETURN_IF_ERROR(
      transport.AllGather(own, absl::MakeSpan(all.front().data(), all.size() * sizeof(Uuid))));
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (all[i] == all[k]) {
        return absl::UnavailableError(
            absl::StrCat("NCCL needs a GPU for each rank; ranks ", k, " and ", i, " share one"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceTransport>> JoinNccl(HostTransport& transport,
                                                          const hal::DevicePtr& device) {
  auto joined = std::make_unique<NcclTransport>(transport, device);
  NcclId id = {};
  TARTAN_RETURN_IF_ERROR(Agree(transport, joined->Prepare(&id)));
  TARTAN_RETURN_IF_ERROR(CheckThatDevicesDiffer(transport, device));
  TARTAN_RETURN_IF_ERROR(transport.Broadcast(RawBytes(&id), /*root=*/0));
  const absl::Status status = transport.Watch("start of NCCL", [&] { return joined->Join(id); });
  TARTAN_RETURN_IF_ERROR(Agree(transport, status));
  return std::unique_ptr<DeviceTransport>(std::move(joined));
}

}  // namespace tartan::distributed
