// SPDX-License-Identifier: Apache-2.0
#include "distributed/nccl/libraries.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

// Finds functions of a library. Keeps the first failure.
class Finder {
 public:
  explicit Finder(const char* file) : library_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) status_ = absl::UnavailableError(dlerror());
  }
  template <class Function>
  Finder& Find(const char* name, Function* function) {
    if (!status_.ok()) return *this;
    *function = reinterpret_cast<Function>(dlsym(library_, name));
    if (*function == nullptr) status_ = absl::UnavailableError(dlerror());
    return *this;
  }
  const absl::Status& status() const { return status_; }

 private:
  void* const library_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<const CudaLibrary*> CudaLibrary::Open() {
  static CudaLibrary cuda;
  static const absl::Status found = Finder("libcuda.so.1")
                                        .Find("cuInit", &cuda.initialize)
                                        .Find("cuGetErrorName", &cuda.error_name)
                                        .Find("cuDeviceGetCount", &cuda.device_count)
                                        .Find("cuDeviceGet", &cuda.device)
                                        .Find("cuDeviceGetUuid_v2", &cuda.device_uuid)
                                        .Find("cuDevicePrimaryCtxRetain", &cuda.retain_context)
                                        .Find("cuCtxSetCurrent", &cuda.set_context)
                                        .Find("cuStreamCreate", &cuda.create_stream)
                                        .Find("cuStreamDestroy_v2", &cuda.destroy_stream)
                                        .Find("cuStreamQuery", &cuda.query_stream)
                                        .Find("cuMemGetAllocationGranularity", &cuda.granularity)
                                        .Find("cuMemCreate", &cuda.create_memory)
                                        .Find("cuMemRelease", &cuda.release_memory)
                                        .Find("cuMemExportToShareableHandle", &cuda.export_memory)
                                        .Find("cuMemAddressReserve", &cuda.reserve)
                                        .Find("cuMemAddressFree", &cuda.free_reserved)
                                        .Find("cuMemMap", &cuda.map)
                                        .Find("cuMemUnmap", &cuda.unmap)
                                        .Find("cuMemSetAccess", &cuda.set_access)
                                        .Find("cuMemcpyDtoH_v2", &cuda.copy_to_host)
                                        .Find("cuDeviceCanAccessPeer", &cuda.can_access_peer)
                                        .Find("cuMemImportFromShareableHandle", &cuda.import_memory)
                                        .Find("cuMemcpyAsync", &cuda.copy_async)
                                        .status();
  TARTAN_RETURN_IF_ERROR(found);
  return &cuda;
}

absl::Status CudaLibrary::Check(int error, const char* call) const {
  if (error == 0) return absl::OkStatus();
  const char* name = nullptr;
  if (error_name(error, &name) != 0 || name == nullptr) name = "unknown error";
  return absl::UnavailableError(absl::StrCat("CUDA: ", call, ": ", name, " (", error, ")"));
}

absl::StatusOr<const NcclLibrary*> NcclLibrary::Open() {
  static NcclLibrary nccl;
  static const absl::Status found = Finder("libnccl.so.2")
                                        .Find("ncclGetErrorString", &nccl.error_text)
                                        .Find("ncclGetUniqueId", &nccl.make_id)
                                        .Find("ncclCommInitRank", &nccl.join)
                                        .Find("ncclCommDestroy", &nccl.leave)
                                        .Find("ncclCommAbort", &nccl.abort)
                                        .Find("ncclCommGetAsyncError", &nccl.failure)
                                        .Find("ncclAllReduce", &nccl.all_reduce)
                                        .Find("ncclAllGather", &nccl.all_gather)
                                        .Find("ncclReduceScatter", &nccl.reduce_scatter)
                                        .Find("ncclBroadcast", &nccl.broadcast)
                                        .Find("ncclSend", &nccl.send)
                                        .Find("ncclRecv", &nccl.receive)
                                        .status();
  TARTAN_RETURN_IF_ERROR(found);
  return &nccl;
}

absl::Status NcclLibrary::Check(int error, const char* call) const {
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("NCCL: ", call, ": ", error_text(error)));
}

}  // namespace tartan::distributed
