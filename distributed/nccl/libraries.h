// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver and of NCCL that are called. Both libraries are opened at run
// time, so neither is needed to build or to start a program. Names of the originals:
// libraries.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tartan::distributed {

// Layouts and values of CUDA's driver interface.
struct CudaUuid {
  char bytes[16];
};
struct CudaLocation {
  int type = 1;  // a device
  int device = 0;
};
struct CudaAllocation {
  int type = 1;          // pinned
  int handle_types = 1;  // POSIX file descriptors
  CudaLocation location;
  void* security = nullptr;
  unsigned char compression = 0;
  unsigned char rdma = 0;
  unsigned short usage = 0;  // NOLINT(google-runtime-int)
  unsigned char reserved[4] = {};
};
struct CudaAccess {
  CudaLocation location;
  int flags = 3;  // read and write
};
using CudaAddress = unsigned long long;  // NOLINT(google-runtime-int)
using CudaMemory = unsigned long long;   // NOLINT(google-runtime-int)
using CudaContext = struct CudaContextTag*;
using CudaStream = struct CudaStreamTag*;
inline constexpr int kCudaNotReady = 600;
inline constexpr unsigned kCudaNonBlocking = 1;
inline constexpr int kCudaFile = 1;  // a handle that is a POSIX file descriptor

struct CudaLibrary {
  int (*initialize)(unsigned flags);
  int (*error_name)(int error, const char** name);
  int (*device_count)(int* count);
  int (*device)(int* device, int number);
  int (*device_uuid)(CudaUuid* uuid, int device);
  int (*retain_context)(CudaContext* context, int device);
  int (*set_context)(CudaContext context);
  int (*create_stream)(CudaStream* stream, unsigned flags);
  int (*destroy_stream)(CudaStream stream);
  int (*query_stream)(CudaStream stream);
  int (*granularity)(size_t* bytes, const CudaAllocation* allocation, int option);
  int (*create_memory)(CudaMemory* memory, size_t bytes, const CudaAllocation* allocation,
                       unsigned long long flags);  // NOLINT(google-runtime-int)
  int (*release_memory)(CudaMemory memory);
  int (*export_memory)(void* file, CudaMemory memory, int type,
                       unsigned long long flags);  // NOLINT(google-runtime-int)
  int (*reserve)(CudaAddress* address, size_t bytes, size_t alignment, CudaAddress wanted,
                 unsigned long long flags);  // NOLINT(google-runtime-int)
  int (*free_reserved)(CudaAddress address, size_t bytes);
  int (*map)(CudaAddress address, size_t bytes, size_t offset, CudaMemory memory,
             unsigned long long flags);  // NOLINT(google-runtime-int)
  int (*unmap)(CudaAddress address, size_t bytes);
  int (*set_access)(CudaAddress address, size_t bytes, const CudaAccess* access, size_t count);
  int (*copy_to_host)(void* to, CudaAddress from, size_t bytes);
  int (*can_access_peer)(int* can, int device, int peer);
  // `file` is a file descriptor, not the address of one.
  int (*import_memory)(CudaMemory* memory, void* file, int type);
  int (*copy_async)(CudaAddress to, CudaAddress from, size_t bytes, CudaStream stream);

  // Unavailable, with the reason, if it cannot be opened. It stays open.
  static absl::StatusOr<const CudaLibrary*> Open();
  absl::Status Check(int error, const char* call) const;
};

// Values of NCCL's interface.
struct NcclId {
  char bytes[128];
};
using NcclRanks = struct NcclRanksTag*;
inline constexpr int kNcclSum = 0;
inline constexpr int kNcclInProgress = 7;
enum NcclType : int {
  kNcclInt8 = 0,
  kNcclInt32 = 2,
  kNcclInt64 = 4,
  kNcclFloat32 = 7,
  kNcclFloat64 = 8,
  kNcclBFloat16 = 9
};

struct NcclLibrary {
  const char* (*error_text)(int error);
  int (*make_id)(NcclId* id);
  int (*join)(NcclRanks* ranks, int count, NcclId id, int rank);
  int (*leave)(NcclRanks ranks);
  int (*abort)(NcclRanks ranks);
  int (*failure)(NcclRanks ranks, int* error);
  int (*all_reduce)(const void* from, void* to, size_t count, int type, int operation,
                    NcclRanks ranks, CudaStream stream);
  int (*all_gather)(const void* from, void* to, size_t count, int type, NcclRanks ranks,
                    CudaStream stream);
  int (*reduce_scatter)(const void* from, void* to, size_t count, int type, int operation,
                        NcclRanks ranks, CudaStream stream);
  int (*broadcast)(const void* from, void* to, size_t count, int type, int root, NcclRanks ranks,
                   CudaStream stream);
  int (*send)(const void* from, size_t count, int type, int to, NcclRanks ranks, CudaStream stream);
  int (*receive)(void* to, size_t count, int type, int from, NcclRanks ranks, CudaStream stream);

  // Opens the library once, as CudaLibrary::Open does.
  static absl::StatusOr<const NcclLibrary*> Open();
  absl::Status Check(int error, const char* call) const;
};

}  // namespace tartan::distributed
