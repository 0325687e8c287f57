// SPDX-License-Identifier: Apache-2.0
// Hardware abstraction layer: the interface between the compiler's results and devices. It includes
// no compiler type. A backend implements Driver, Device, Buffer, Executable and Queue, starting
// from null_backend.h, and passes the suite in tests/hal/conformance.h. Concepts: README.md.
//
// The public functions of Device and Queue check their arguments and then call the backend's
// private Do... functions, which may rely on these checks.
//
// Threads: Driver, Device and Executable are thread-safe; a Queue is used by one thread at a time.
// Lifetime: an object keeps its Device alive. A queue keeps the resources of unfinished work alive.
// Errors: Unavailable (no device, or driver lost), ResourceExhausted (memory), InvalidArgument
// (caller error), Internal (build or execution failed; the message contains the driver's log).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hal/device_info.h"
#include "hal/executable_source.h"

namespace tartan::hal {

class Device;
using DevicePtr = std::shared_ptr<Device>;

// Host memory. `owner` keeps the bytes valid after the buffer and its device are gone.
struct HostMemory {
  absl::Span<uint8_t> bytes;
  std::shared_ptr<const void> owner;  // null: no memory
};

// Device memory, or a range of another buffer (a sub-buffer).
class Buffer {
 public:
  virtual ~Buffer() = default;
  int64_t size() const { return size_; }
  const DevicePtr& device() const { return device_; }
  // Parent (null for a whole buffer), and the offset in it, in bytes.
  const std::shared_ptr<Buffer>& parent() const { return parent_; }
  int64_t offset() const { return offset_; }
  // Host view of the data that kernels write, readable once the queue is finished. Empty if the
  // device has separate memory, or if the address is not known yet.
  virtual HostMemory host_memory() const { return {}; }

 protected:
  Buffer(DevicePtr device, int64_t size) : device_(std::move(device)), size_(size) {}
  Buffer(std::shared_ptr<Buffer> parent, int64_t offset, int64_t size)
      : device_(parent->device()), parent_(std::move(parent)), offset_(offset), size_(size) {}

 private:
  DevicePtr device_;
  std::shared_ptr<Buffer> parent_;
  int64_t offset_ = 0;
  int64_t size_ = 0;
};
using BufferPtr = std::shared_ptr<Buffer>;

// Compiled kernels. Immutable.
class Executable {
 public:
  virtual ~Executable() = default;
  const DevicePtr& device() const { return device_; }
  absl::Span<const EntryPoint> entry_points() const { return entry_points_; }
  const CompileStatistics& statistics() const { return statistics_; }

 protected:
  Executable(DevicePtr device, std::vector<EntryPoint> entry_points, CompileStatistics statistics)
      : device_(std::move(device)),
        entry_points_(std::move(entry_points)),
        statistics_(statistics) {}

 private:
  DevicePtr device_;
  std::vector<EntryPoint> entry_points_;
  CompileStatistics statistics_;
};
using ExecutablePtr = std::shared_ptr<Executable>;

// `Launch::entry_point` of a copy of bytes between two kernel launches (Launch::Copy).
inline constexpr int kCopy = -1;

struct Launch {
  // Copies `size` bytes. The two ranges must not overlap.
  static Launch Copy(BufferPtr from, int64_t from_offset, BufferPtr to, int64_t to_offset,
                     int64_t size);

  int entry_point = 0;  // position in ExecutableSource::kernels
  std::vector<BufferPtr> arguments;
  // Integer arguments that follow the buffers. Their width must match the kernel's parameters.
  std::vector<int64_t> numbers = {};
  int number_bytes = 8;                            // width of `numbers` in bytes: 4 or 8
  std::array<int64_t, 3> global_size = {1, 1, 1};  // work-items; multiple of local_size
  std::array<int64_t, 3> local_size = {1, 1, 1};
};

// Launches with their arguments set, which can be enqueued without lookups or allocations. Keeps
// its buffers and its executable alive. Must not be replayed on several queues at once.
class Recording {
 public:
  virtual ~Recording() = default;
  const DevicePtr& device() const { return device_; }

 protected:
  explicit Recording(DevicePtr device) : device_(std::move(device)) {}

 private:
  DevicePtr device_;
};
using RecordingPtr = std::shared_ptr<Recording>;

// Nanoseconds on the device's clock; zeros if the queue does not profile.
struct Timing {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// A point in a queue's work.
class Event {
 public:
  virtual ~Event() = default;
  virtual absl::Status Wait() = 0;
  virtual absl::StatusOr<Timing> GetTiming() = 0;  // blocks until the event is reached
};
using EventPtr = std::shared_ptr<Event>;

// Executes work in the order in which it was enqueued. The caller may reuse the host memory passed
// to Write and Fill after the call returns. Read blocks.
class Queue {
 public:
  virtual ~Queue() = default;

  absl::Status Write(const BufferPtr& buffer, int64_t offset, absl::Span<const uint8_t> bytes);
  absl::Status Read(const BufferPtr& buffer, int64_t offset, absl::Span<uint8_t> bytes);
  // Asynchronous Write and Read. The host memory must stay valid, and the bytes to write unchanged,
  // until Finish returns or the queue is destroyed. The bytes read are valid only after that.
  absl::Status WriteAsync(const BufferPtr& buffer, int64_t offset, absl::Span<const uint8_t> bytes);
  absl::Status ReadAsync(const BufferPtr& buffer, int64_t offset, absl::Span<uint8_t> bytes);
  // Requires that the two ranges do not overlap.
  absl::Status Copy(const BufferPtr& from, int64_t from_offset, const BufferPtr& to,
                    int64_t to_offset, int64_t size);
  // Fills [offset, offset + size) with copies of `pattern` (1, 2, 4 or 8 bytes). `offset` and
  // `size` must be multiples of the pattern's size.
  absl::Status Fill(const BufferPtr& buffer, int64_t offset, int64_t size,
                    absl::Span<const uint8_t> pattern);
  absl::StatusOr<EventPtr> Run(const ExecutablePtr& executable, const Launch& launch);
  // Enqueues a recording. A profiling queue appends one event per launch to `events`, if not null.
  absl::Status Replay(const RecordingPtr& recording, std::vector<EventPtr>* events = nullptr);
  // Starts all enqueued work and returns an event that follows it. Work that is enqueued later does
  // not delay the event.
  absl::StatusOr<EventPtr> Mark() { return DoMark(); }
  // Starts all enqueued work without waiting for it.
  absl::Status Flush() { return DoFlush(); }
  // Waits for all enqueued work. Returns the first failure since the previous Finish.
  absl::Status Finish() { return DoFinish(); }

 protected:
  explicit Queue(DevicePtr device) : device_(std::move(device)) {}
  const DevicePtr& device() const { return device_; }

 private:
  absl::Status CheckTransfer(const BufferPtr& buffer, int64_t offset, size_t size,
                             absl::string_view verb) const;

  virtual absl::Status DoWrite(const BufferPtr& buffer, int64_t offset,
                               absl::Span<const uint8_t> bytes) = 0;
  virtual absl::Status DoRead(const BufferPtr& buffer, int64_t offset,
                              absl::Span<uint8_t> bytes) = 0;
  // Backends without asynchronous transfers execute them immediately.
  virtual absl::Status DoWriteAsync(const BufferPtr& buffer, int64_t offset,
                                    absl::Span<const uint8_t> bytes) {
    return DoWrite(buffer, offset, bytes);
  }
  virtual absl::Status DoReadAsync(const BufferPtr& buffer, int64_t offset,
                                   absl::Span<uint8_t> bytes) {
    return DoRead(buffer, offset, bytes);
  }
  virtual absl::Status DoCopy(const BufferPtr& from, int64_t from_offset, const BufferPtr& to,
                              int64_t to_offset, int64_t size) = 0;
  virtual absl::Status DoFill(const BufferPtr& buffer, int64_t offset, int64_t size,
                              absl::Span<const uint8_t> pattern) = 0;
  virtual absl::StatusOr<EventPtr> DoRun(const ExecutablePtr& executable, const Launch& launch) = 0;
  virtual absl::Status DoReplay(const RecordingPtr& recording, std::vector<EventPtr>* events) = 0;
  virtual absl::StatusOr<EventPtr> DoMark() = 0;
  virtual absl::Status DoFlush() = 0;
  virtual absl::Status DoFinish() = 0;

  DevicePtr device_;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual DeviceStatistics statistics() const = 0;
  // Returns the device's settings at a level of knowledge. Missing facts are found out
  // once and stored on disk; the result never changes while the device is open.
  virtual absl::StatusOr<HardwareSettings> Settings(Knowledge knowledge);
  virtual bool Knows(Knowledge knowledge) const;  // whether Settings would return without measuring

  absl::StatusOr<BufferPtr> Allocate(int64_t bytes);  // `bytes` >= 1
  // Creates a sub-buffer of `parent`, which must not be a sub-buffer itself. `offset` must be a
  // multiple of info().buffer_alignment. Sub-buffers may partially overlap if
  // info().sub_buffers_may_overlap. A sub-buffer keeps its parent alive.
  absl::StatusOr<BufferPtr> SubBuffer(const BufferPtr& parent, int64_t offset, int64_t size);
  // Creates a read-only buffer over host memory without a copy; null if the device cannot do that.
  // `owner` keeps the bytes alive and unchanged. They do not count as allocated.
  absl::StatusOr<BufferPtr> Wrap(absl::Span<const uint8_t> bytes,
                                 std::shared_ptr<const void> owner);
  // Allocates pinned host memory, which may outlive the device. A GPU copies from and to it
  // asynchronously and several times faster. Returns no owner if pinning brings no gain or no
  // pinned memory is left; the caller then uses ordinary memory.
  HostMemory AllocateHost(int64_t bytes);
  absl::StatusOr<ExecutablePtr> Compile(const ExecutableSource& source);
  absl::StatusOr<RecordingPtr> Record(const ExecutablePtr& executable,
                                      absl::Span<const Launch> launches);
  absl::StatusOr<std::unique_ptr<Queue>> CreateQueue(bool profiling);

 private:
  virtual absl::StatusOr<BufferPtr> DoAllocate(int64_t bytes) = 0;
  virtual absl::StatusOr<BufferPtr> DoSubBuffer(const BufferPtr& parent, int64_t offset,
                                                int64_t size) = 0;
  virtual absl::StatusOr<BufferPtr> DoWrap(absl::Span<const uint8_t> /*bytes*/,
                                           std::shared_ptr<const void> /*owner*/) {
    return BufferPtr();
  }
  virtual HostMemory DoAllocateHost(int64_t /*bytes*/) { return {}; }
  virtual absl::StatusOr<ExecutablePtr> DoCompile(const ExecutableSource& source) = 0;
  virtual absl::StatusOr<RecordingPtr> DoRecord(const ExecutablePtr& executable,
                                                absl::Span<const Launch> launches) = 0;
  virtual absl::StatusOr<std::unique_ptr<Queue>> DoCreateQueue(bool profiling) = 0;
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual absl::string_view name() const = 0;
  // Empty if there is no device; Unavailable with the remedy if the driver fails.
  virtual absl::StatusOr<std::vector<DeviceInfo>> ListDevices() = 0;
  virtual absl::StatusOr<DevicePtr> Open(const DeviceInfo& info) = 0;
};

}  // namespace tartan::hal
