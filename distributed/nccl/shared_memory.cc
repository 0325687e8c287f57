// SPDX-License-Identifier: Apache-2.0
#include "distributed/nccl/shared_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

CudaAllocation AllocationOn(int number) {
  CudaAllocation allocation;
  allocation.location.device = number;
  return allocation;
}

// The size of memory that holds `bytes`.
absl::StatusOr<size_t> Rounded(const CudaLibrary& cuda, int number, int64_t bytes) {
  if (bytes < 1)
    return absl::InternalError(absl::StrCat("no memory of ", bytes, " bytes can be shared"));
  const CudaAllocation allocation = AllocationOn(number);
  size_t unit = 0;
  TARTAN_RETURN_IF_ERROR(cuda.Check(cuda.granularity(&unit, &allocation, /*option=*/0),
                                    "cuMemGetAllocationGranularity"));
  return (static_cast<size_t>(bytes) + unit - 1) / unit * unit;
}

}  // namespace

absl::StatusOr<SharedMemory::Made> SharedMemory::Make(const CudaLibrary& cuda, int number,
                                                      hal::MemoryImporter& importer, int64_t bytes,
                                                      bool exports) {
  const std::shared_ptr<SharedMemory> memory(new SharedMemory(cuda));
  TARTAN_ASSIGN_OR_RETURN(memory->bytes_, Rounded(cuda, number, bytes));
  const CudaAllocation allocation = AllocationOn(number);
  CudaMemory handle = 0;
  const absl::Status made =
      cuda.Check(cuda.create_memory(&handle, memory->bytes_, &allocation, 0), "cuMemCreate");
  if (!made.ok()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("allocation of ", memory->bytes_, " bytes: ", made.message()));
  }
  int file = -1;
  const absl::Status exported =
      cuda.Check(cuda.export_memory(&file, handle, kCudaFile, 0), "cuMemExportToShareableHandle");
  absl::Status mapped = memory->Map(number, handle);
  if (mapped.ok()) mapped = exported;
  if (!mapped.ok()) {
    if (file >= 0) close(file);
    return mapped;
  }
  Made result;
  result.memory = memory;
  // The importer closes its file.
  if (exports) result.file = fcntl(file, F_DUPFD_CLOEXEC, 0);
  absl::StatusOr<hal::BufferPtr> buffer =
      importer.Import({file, static_cast<int64_t>(memory->bytes_), memory}, bytes);
  if (!buffer.ok()) {
    close(file);
    if (result.file >= 0) close(result.file);
    return buffer.status();
  }
  result.buffer = *std::move(buffer);
  if (exports && result.file < 0)
    return absl::UnavailableError(absl::StrCat("a file of memory: ", std::strerror(errno)));
  return result;
}

absl::StatusOr<std::shared_ptr<const SharedMemory>> SharedMemory::Open(const CudaLibrary& cuda,
                                                                       int number, int file,
                                                                       int64_t bytes) {
  const std::shared_ptr<SharedMemory> memory(new SharedMemory(cuda));
  TARTAN_ASSIGN_OR_RETURN(memory->bytes_, Rounded(cuda, number, bytes));
  CudaMemory handle = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA passes a number as a pointer.
  void* const given = reinterpret_cast<void*>(static_cast<intptr_t>(file));
  TARTAN_RETURN_IF_ERROR(
      cuda.Check(cuda.import_memory(&handle, given, kCudaFile), "cuMemImportFromShareableHandle"));
  TARTAN_RETURN_IF_ERROR(memory->Map(number, handle));
  return std::shared_ptr<const SharedMemory>(memory);
}

absl::Status SharedMemory::Map(int number, CudaMemory memory) {
  const std::shared_ptr<const void> handle(
      nullptr, [this, memory](const void* /*none*/) { cuda_.release_memory(memory); });
  TARTAN_RETURN_IF_ERROR(
      cuda_.Check(cuda_.reserve(&address_, bytes_, /*alignment=*/0, 0, 0), "cuMemAddressReserve"));
  TARTAN_RETURN_IF_ERROR(cuda_.Check(cuda_.map(address_, bytes_, 0, memory, 0), "cuMemMap"));
  is_mapped_ = true;
  CudaAccess access;
  access.location.device = number;
  return cuda_.Check(cuda_.set_access(address_, bytes_, &access, 1), "cuMemSetAccess");
}

SharedMemory::~SharedMemory() {
  if (is_mapped_) cuda_.unmap(address_, bytes_);
  if (address_ != 0) cuda_.free_reserved(address_, bytes_);
}

}  // namespace tartan::distributed
