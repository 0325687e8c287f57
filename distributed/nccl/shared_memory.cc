// SPDX-License-Identifier: Apache-2.0
#include "distributed/nccl/shared_memory.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hal/external_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {

absl::StatusOr<std::pair<hal::BufferPtr, std::shared_ptr<const SharedMemory>>> SharedMemory::Make(
    const CudaLibrary& cuda, int number, const hal::DevicePtr& device, int64_t bytes) {
  auto* const importer = dynamic_cast<hal::MemoryImporter*>(device.get());
  if (importer == nullptr || bytes < 1)
    return absl::InternalError(absl::StrCat("no memory of ", bytes, " bytes can be shared"));
  CudaAllocation allocation;
  allocation.location.device = number;
  size_t unit = 0;
  TARTAN_RETURN_IF_ERROR(cuda.Check(cuda.granularity(&unit, &allocation, /*option=*/0),
                                    "cuMemGetAllocationGranularity"));
  const std::shared_ptr<SharedMemory> memory(new SharedMemory(cuda));
  TARTAN_ASSIGN_OR_RETURN(
      const int file, memory->Fill(number, (static_cast<size_t>(bytes) + unit - 1) / unit * unit));
  absl::StatusOr<hal::BufferPtr> buffer =
      importer->Import({file, static_cast<int64_t>(memory->bytes_), memory}, bytes);
  if (!buffer.ok()) {
    close(file);
    return buffer.status();
  }
  return std::make_pair(*std::move(buffer), std::shared_ptr<const SharedMemory>(memory));
}

absl::StatusOr<int> SharedMemory::Fill(int number, size_t bytes) {
  bytes_ = bytes;
  TARTAN_RETURN_IF_ERROR(
      cuda_.Check(cuda_.reserve(&address_, bytes, /*alignment=*/0, 0, 0), "cuMemAddressReserve"));
  CudaAllocation allocation;
  allocation.location.device = number;
  CudaMemory memory = 0;
  const absl::Status made =
      cuda_.Check(cuda_.create_memory(&memory, bytes, &allocation, 0), "cuMemCreate");
  if (!made.ok()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("allocation of ", bytes, " bytes: ", made.message()));
  }
  // The mapping and the file keep the memory.
  const std::shared_ptr<const void> handle(
      nullptr, [this, memory](const void* /*none*/) { cuda_.release_memory(memory); });
  TARTAN_RETURN_IF_ERROR(cuda_.Check(cuda_.map(address_, bytes, 0, memory, 0), "cuMemMap"));
  is_mapped_ = true;
  CudaAccess access;
  access.location.device = number;
  TARTAN_RETURN_IF_ERROR(
      cuda_.Check(cuda_.set_access(address_, bytes, &access, 1), "cuMemSetAccess"));
  int file = -1;
  TARTAN_RETURN_IF_ERROR(cuda_.Check(cuda_.export_memory(&file, memory, kCudaFile, 0),
                                     "cuMemExportToShareableHandle"));
  return file;
}

SharedMemory::~SharedMemory() {
  if (is_mapped_) cuda_.unmap(address_, bytes_);
  if (address_ != 0) cuda_.free_reserved(address_, bytes_);
}

absl::StatusOr<int> CudaNumberOf(const CudaLibrary& cuda, const hal::DevicePtr& device) {
  const auto* const importer = dynamic_cast<hal::MemoryImporter*>(device.get());
  const std::string uuid = importer == nullptr ? "" : importer->Uuid();
  if (uuid.empty())
    return absl::UnavailableError(absl::StrCat(device->info().name, " has no UUID"));
  TARTAN_RETURN_IF_ERROR(cuda.Check(cuda.initialize(0), "cuInit"));
  int count = 0;
  TARTAN_RETURN_IF_ERROR(cuda.Check(cuda.device_count(&count), "cuDeviceGetCount"));
  for (int i = 0; i < count; ++i) {
    int number = 0;
    CudaUuid other;
    TARTAN_RETURN_IF_ERROR(cuda.Check(cuda.device(&number, i), "cuDeviceGet"));
    TARTAN_RETURN_IF_ERROR(cuda.Check(cuda.device_uuid(&other, number), "cuDeviceGetUuid"));
    if (uuid == std::string(other.bytes, sizeof(other.bytes))) return number;
  }
  return absl::UnavailableError(absl::StrCat(device->info().name, " is none of CUDA's ", count,
                                             " devices: their UUIDs differ"));
}

}  // namespace tartan::distributed
