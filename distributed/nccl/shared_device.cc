// SPDX-License-Identifier: Apache-2.0
#include "distributed/nccl/shared_device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

// Bytes of memory that OpenCL and CUDA share; more is ordinary memory. On a host of two H200 a
// process with 620 MiB ended before its first collective operation; 325 MiB worked.
constexpr int64_t kLargestShared = int64_t{512} << 20;

const hal::Buffer& WholeOf(const hal::Buffer& buffer) {
  return buffer.parent() == nullptr ? buffer : *buffer.parent();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedDevice>> SharedDevice::Open(const hal::DevicePtr& device) {
  TARTAN_ASSIGN_OR_RETURN(const CudaLibrary* const cuda, CudaLibrary::Open());
  auto* const importer = dynamic_cast<hal::MemoryImporter*>(device.get());
  if (importer == nullptr)
    return absl::UnavailableError(absl::StrCat(device->info().name, " imports no memory"));
  return Open(*cuda, *importer, device);
}

absl::StatusOr<std::unique_ptr<SharedDevice>> SharedDevice::Open(const CudaLibrary& cuda,
                                                                 hal::MemoryImporter& importer,
                                                                 const hal::DevicePtr& device) {
  const std::string uuid = importer.Uuid();
  if (uuid.empty())
    return absl::UnavailableError(absl::StrCat(device->info().name, " has no UUID"));
  std::unique_ptr<SharedDevice> opened(new SharedDevice(cuda, importer, device));
  TARTAN_RETURN_IF_ERROR(cuda.Check(cuda.initialize(0), "cuInit"));
  TARTAN_ASSIGN_OR_RETURN(opened->number_, opened->NumberOf(uuid));
  TARTAN_RETURN_IF_ERROR(cuda.Check(cuda.retain_context(&opened->context_, opened->number_),
                                    "cuDevicePrimaryCtxRetain"));
  TARTAN_RETURN_IF_ERROR(cuda.Check(cuda.set_context(opened->context_), "cuCtxSetCurrent"));
  TARTAN_RETURN_IF_ERROR(
      cuda.Check(cuda.create_stream(&opened->stream_, kCudaNonBlocking), "cuStreamCreate"));
  TARTAN_RETURN_IF_ERROR(opened->CheckSharing());
  return opened;
}

SharedDevice::~SharedDevice() {
  if (stream_ == nullptr) return;
  MakeCurrent();
  cuda_.destroy_stream(stream_);
}

absl::Status SharedDevice::CheckSharing() {
  const int64_t part = device_->info().buffer_alignment;
  TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr whole, Allocate(2 * part));
  TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr second, device_->SubBuffer(whole, part, part));
  TARTAN_ASSIGN_OR_RETURN(const auto queue, device_->CreateQueue(/*profiling=*/false));
  const std::string written(static_cast<size_t>(part), 'x');
  TARTAN_RETURN_IF_ERROR(
      queue->Write(second, 0, {reinterpret_cast<const uint8_t*>(written.data()), written.size()}));
  TARTAN_RETURN_IF_ERROR(queue->Finish());
  std::string read(written.size(), ' ');
  TARTAN_RETURN_IF_ERROR(cuda_.Check(
      cuda_.copy_to_host(read.data(), AddressOf({second, 0, part}), read.size()), "cuMemcpyDtoH"));
  if (read == written) return absl::OkStatus();
  return absl::UnavailableError("CUDA does not see what OpenCL writes to memory of both");
}

absl::StatusOr<hal::BufferPtr> SharedDevice::Allocate(int64_t bytes) {
  if (bytes > kLargestShared) return device_->Allocate(bytes);
  TARTAN_ASSIGN_OR_RETURN(auto made, SharedMemory::Make(cuda_, number_, importer_, bytes));
  memories_[made.buffer.get()] = made.memory;
  return std::move(made.buffer);
}

std::shared_ptr<const SharedMemory> SharedDevice::Find(const hal::Buffer& buffer) const {
  const auto found = memories_.find(&WholeOf(buffer));
  return found == memories_.end() ? nullptr : found->second.lock();
}

CudaAddress SharedDevice::AddressOf(const Range& range) const {
  const hal::Buffer& buffer = *range.buffer;
  const int64_t offset = range.offset + (buffer.parent() == nullptr ? 0 : buffer.offset());
  return Find(buffer)->address() + static_cast<CudaAddress>(offset);
}

absl::StatusOr<int> SharedDevice::NumberOf(const std::string& uuid) const {
  int count = 0;
  TARTAN_RETURN_IF_ERROR(cuda_.Check(cuda_.device_count(&count), "cuDeviceGetCount"));
  for (int i = 0; i < count; ++i) {
    int number = 0;
    CudaUuid other;
    TARTAN_RETURN_IF_ERROR(cuda_.Check(cuda_.device(&number, i), "cuDeviceGet"));
    TARTAN_RETURN_IF_ERROR(cuda_.Check(cuda_.device_uuid(&other, number), "cuDeviceGetUuid"));
    if (uuid == std::string(other.bytes, sizeof(other.bytes))) return number;
  }
  return absl::UnavailableError(absl::StrCat("a device of a rank is none of CUDA's ", count,
                                             " devices in this process: their UUIDs differ"));
}

absl::Status Agree(HostTransport& transport, const absl::Status& own, absl::string_view what) {
  int32_t failed = own.ok() ? 0 : 1;
  const absl::Status added = transport.AllReduce(
      absl::MakeSpan(reinterpret_cast<uint8_t*>(&failed), sizeof(failed)), DataType::kInt32);
  if (!own.ok()) return own;
  TARTAN_RETURN_IF_ERROR(added);
  if (failed == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(what, " fails on ", failed, " other ranks"));
}

absl::StatusOr<std::vector<std::string>> GatherUuids(HostTransport& transport,
                                                     const std::string& uuid) {
  constexpr size_t kBytes = sizeof(CudaUuid);
  std::string own = uuid;
  own.resize(kBytes);
  std::string all(static_cast<size_t>(transport.place().ranks) * kBytes, '\0');
  TARTAN_RETURN_IF_ERROR(
      transport.AllGather({reinterpret_cast<const uint8_t*>(own.data()), own.size()},
                          absl::MakeSpan(reinterpret_cast<uint8_t*>(all.data()), all.size())));
  std::vector<std::string> uuids;
  for (size_t i = 0; i < all.size(); i += kBytes) {
    const std::string next = all.substr(i, kBytes);
    for (size_t k = 0; k < uuids.size(); ++k) {
      if (uuids[k] != next) continue;
      return absl::UnavailableError(absl::StrCat("each rank needs a GPU of its own; ranks ", k,
                                                 " and ", uuids.size(), " share one"));
    }
    uuids.push_back(next);
  }
  return uuids;
}

}  // namespace tartan::distributed
