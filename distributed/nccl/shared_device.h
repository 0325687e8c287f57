// SPDX-License-Identifier: Apache-2.0
// A GPU that CUDA and another interface see, and memory of both. Transports between GPUs use it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "distributed/communicator.h"
#include "distributed/host_transport.h"
#include "distributed/nccl/libraries.h"
#include "distributed/nccl/shared_memory.h"
#include "hal/external_memory.h"
#include "hal/hal.h"

namespace tartan::distributed {

// Used by the thread that opened it: CUDA's context is current there.
class SharedDevice {
 public:
  // Opens `device` in CUDA. Unavailable if CUDA, memory that both see, or the device is missing.
  static absl::StatusOr<std::unique_ptr<SharedDevice>> Open(const hal::DevicePtr& device);
  // The same with these libraries, which outlive the result.
  static absl::StatusOr<std::unique_ptr<SharedDevice>> Open(const CudaLibrary& cuda,
                                                            hal::MemoryImporter& importer,
                                                            const hal::DevicePtr& device);
  ~SharedDevice();

  const CudaLibrary& cuda() const { return cuda_; }
  hal::MemoryImporter& importer() const { return importer_; }
  const hal::DevicePtr& device() const { return device_; }
  int number() const { return number_; }  // in CUDA
  CudaStream stream() const { return stream_; }

  // Makes CUDA's context current in another thread.
  void MakeCurrent() const { cuda_.set_context(context_); }
  // Allocates memory of both interfaces; ordinary memory if it is too large for that.
  absl::StatusOr<hal::BufferPtr> Allocate(int64_t bytes);
  // True for memory of both, and parts of it.
  bool Has(const hal::Buffer& buffer) const { return Find(buffer) != nullptr; }
  // The first byte in CUDA. Requires such memory.
  CudaAddress AddressOf(const Range& range) const;
  // CUDA's number of the device with these 16 bytes. Unavailable if this process sees none.
  absl::StatusOr<int> NumberOf(const std::string& uuid) const;

 private:
  SharedDevice(const CudaLibrary& cuda, hal::MemoryImporter& importer, hal::DevicePtr device)
      : cuda_(cuda), importer_(importer), device_(std::move(device)) {}
  std::shared_ptr<const SharedMemory> Find(const hal::Buffer& buffer) const;
  // Checks that CUDA sees what kernels of the device write.
  absl::Status CheckSharing();

  const CudaLibrary& cuda_;
  hal::MemoryImporter& importer_;
  const hal::DevicePtr device_;
  int number_ = 0;
  CudaContext context_ = nullptr;  // until the process ends
  CudaStream stream_ = nullptr;
  // Entries of buffers that are gone have no memory.
  std::map<const hal::Buffer*, std::weak_ptr<const SharedMemory>> memories_;
};

// Returns `own` if it is an error; Unavailable, naming `what`, if another rank has one.
absl::Status Agree(HostTransport& transport, const absl::Status& own, absl::string_view what);
// The UUIDs of the devices of all ranks. Unavailable if two ranks have one device.
absl::StatusOr<std::vector<std::string>> GatherUuids(HostTransport& transport,
                                                     const std::string& uuid);

}  // namespace tartan::distributed
