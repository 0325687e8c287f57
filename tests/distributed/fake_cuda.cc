// SPDX-License-Identifier: Apache-2.0
#include "tests/distributed/fake_cuda.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace tartan::distributed {
namespace {

constexpr int kInvalid = 1;
constexpr size_t kGranularity = 4096;

FakeFaults faults;
std::atomic<int64_t> copies;

uint8_t* Pointer(CudaAddress address) {
  return reinterpret_cast<uint8_t*>(address);  // NOLINT(performance-no-int-to-ptr)
}

int FileOf(CudaMemory memory) { return static_cast<int>(memory); }

int Reserve(CudaAddress* address, size_t bytes) {
  void* const made = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *address = reinterpret_cast<CudaAddress>(made);
  return made == MAP_FAILED ? kInvalid : 0;
}

int MapAt(CudaAddress address, size_t bytes, int file) {
  const int flags = MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  const int access = file < 0 ? PROT_NONE : PROT_READ | PROT_WRITE;
  return mmap(Pointer(address), bytes, access, flags, file, 0) == MAP_FAILED ? kInvalid : 0;
}

int CopyNow(CudaAddress to, CudaAddress from, size_t bytes) {
  if (copies++ == faults.failing_copy) return kInvalid;
  if (!faults.loses_copies) std::memcpy(Pointer(to), Pointer(from), bytes);
  return 0;
}

CudaLibrary Make() {
  CudaLibrary cuda = {};
  cuda.initialize = [](unsigned) { return 0; };
  cuda.error_name = [](int, const char** name) {
    *name = "CUDA_ERROR_INVALID_VALUE";
    return 0;
  };
  cuda.device_count = [](int* count) {
    *count = 256;
    return 0;
  };
  cuda.device = [](int* device, int number) {
    *device = number;
    return 0;
  };
  cuda.device_uuid = [](CudaUuid* uuid, int device) {
    std::memcpy(uuid->bytes, UuidOf(device).data(), sizeof(uuid->bytes));
    return 0;
  };
  cuda.retain_context = [](CudaContext* context, int) {
    *context = nullptr;
    return 0;
  };
  cuda.set_context = [](CudaContext) { return 0; };
  cuda.create_stream = [](CudaStream* stream, unsigned) {
    static char made;
    *stream = reinterpret_cast<CudaStream>(&made);
    return 0;
  };
  cuda.destroy_stream = [](CudaStream) { return 0; };
  cuda.query_stream = [](CudaStream) { return 0; };
  cuda.granularity = [](size_t* bytes, const CudaAllocation*, int) {
    *bytes = kGranularity;
    return 0;
  };
  cuda.create_memory = [](CudaMemory* memory, size_t bytes, const CudaAllocation*, auto) {
    const int file = memfd_create("device", MFD_CLOEXEC);
    *memory = static_cast<CudaMemory>(file);
    return file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0 ? 0 : kInvalid;
  };
  cuda.release_memory = [](CudaMemory memory) { return close(FileOf(memory)); };
  cuda.export_memory = [](void* file, CudaMemory memory, int, auto) {
    *static_cast<int*>(file) = dup(FileOf(memory));
    return 0;
  };
  cuda.import_memory = [](CudaMemory* memory, void* file, int) {
    const int copy = dup(static_cast<int>(reinterpret_cast<intptr_t>(file)));
    *memory = static_cast<CudaMemory>(copy);
    return copy >= 0 ? 0 : kInvalid;
  };
  cuda.reserve = [](CudaAddress* address, size_t bytes, size_t, CudaAddress, auto) {
    return Reserve(address, bytes);
  };
  cuda.free_reserved = [](CudaAddress address, size_t bytes) {
    return munmap(Pointer(address), bytes);
  };
  cuda.map = [](CudaAddress address, size_t bytes, size_t, CudaMemory memory, auto) {
    return MapAt(address, bytes, FileOf(memory));
  };
  cuda.unmap = [](CudaAddress address, size_t bytes) { return MapAt(address, bytes, -1); };
  cuda.set_access = [](CudaAddress, size_t, const CudaAccess*, size_t) { return 0; };
  cuda.copy_to_host = [](void* to, CudaAddress from, size_t bytes) {
    std::memcpy(to, Pointer(from), bytes);
    return 0;
  };
  cuda.can_access_peer = [](int* can, int, int) {
    *can = faults.no_peer_access ? 0 : 1;
    return 0;
  };
  cuda.copy_async = [](CudaAddress to, CudaAddress from, size_t bytes, CudaStream) {
    return CopyNow(to, from, bytes);
  };
  return cuda;
}

}  // namespace

const CudaLibrary& FakeCuda() {
  static const CudaLibrary cuda = Make();
  return cuda;
}

std::string UuidOf(int64_t device) {
  std::string uuid(sizeof(CudaUuid), 'u');
  uuid[0] = static_cast<char>(device);
  return uuid;
}

void SetFaults(const FakeFaults& next) {
  faults = next;
  copies = 0;
}

}  // namespace tartan::distributed
