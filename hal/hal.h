// SPDX-License-Identifier: Apache-2.0
// The border to devices: bytes in, events out. Knows no compiler type. A backend implements
// Driver, Device, Buffer, Executable and Queue; null_backend.h is the skeleton to start from and
// tests/hal/conformance.h the suite every backend passes. README.md tells the whole.
//
// The public functions of Device and Queue check their arguments and then call the backend's
// private Do… functions, which may rely on what was checked.
//
// Threads: Driver, Device and Executable may be used from several threads at once; a Queue belongs
// to one thread at a time. Lifetime: what a Device made keeps it alive; a queue keeps buffers and
// executables alive until the work that uses them is done.
// Errors: Unavailable (no device, driver lost), ResourceExhausted (memory), InvalidArgument (the
// caller's mistake), Internal (build or run failed; the message holds the driver's log).
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

// Memory of the host; `owner` keeps it, whatever becomes of the buffer and its device.
struct HostMemory {
  absl::Span<uint8_t> bytes;
  std::shared_ptr<const void> owner;  // null: there is none
};

// Device memory, or a part of it.
class Buffer {
 public:
  virtual ~Buffer() = default;
  int64_t size() const { return size_; }
  const DevicePtr& device() const { return device_; }
  // The buffer this is a part of, or null, and where the part begins in it.
  const std::shared_ptr<Buffer>& parent() const { return parent_; }
  int64_t offset() const { return offset_; }
  // Where the host has what kernels write to the buffer, once the queue is finished, without a
  // copy: nothing where the device has memory of its own, or that is not known yet.
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

// Compiled kernels; immutable.
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

// Between launches of a recording: a copy of bytes (Launch::Copy).
inline constexpr int kCopy = -1;

struct Launch {
  // `size` bytes; the two ranges must not overlap.
  static Launch Copy(BufferPtr from, int64_t from_offset, BufferPtr to, int64_t to_offset,
                     int64_t size);

  int entry_point = 0;  // position in ExecutableSource::kernels
  std::vector<BufferPtr> arguments;
  // Further arguments, after the buffers: integers of the width that the kernel declares.
  std::vector<int64_t> numbers = {};
  int number_bytes = 8;                            // 4 or 8
  std::array<int64_t, 3> global_size = {1, 1, 1};  // work-items; multiples of local_size
  std::array<int64_t, 3> local_size = {1, 1, 1};
};

// Launches with their arguments set, ready to be enqueued without lookup or allocation. Keeps its
// buffers and its executable alive. Replays of one recording on several queues at once are the
// caller's mistake.
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

struct Timing {  // nanoseconds on the device's clock; zeros without profiling
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// A point in a queue's work.
class Event {
 public:
  virtual ~Event() = default;
  virtual absl::Status Wait() = 0;
  virtual absl::StatusOr<Timing> GetTiming() = 0;  // waits
};
using EventPtr = std::shared_ptr<Event>;

// Work executed in order. Host memory given to Write and Fill may be reused on return; Read blocks.
class Queue {
 public:
  virtual ~Queue() = default;

  absl::Status Write(const BufferPtr& buffer, int64_t offset, absl::Span<const uint8_t> bytes);
  absl::Status Read(const BufferPtr& buffer, int64_t offset, absl::Span<uint8_t> bytes);
  // The same at once with other work of the host: its memory must be there, and what is written
  // stay as it is, until Finish returns (or the queue is gone); only then is what was read there.
  absl::Status WriteLater(const BufferPtr& buffer, int64_t offset, absl::Span<const uint8_t> bytes);
  absl::Status ReadLater(const BufferPtr& buffer, int64_t offset, absl::Span<uint8_t> bytes);
  // The two ranges must not overlap.
  absl::Status Copy(const BufferPtr& from, int64_t from_offset, const BufferPtr& to,
                    int64_t to_offset, int64_t size);
  // Repeats `pattern` (1, 2, 4 or 8 bytes) over [offset, offset + size), both multiples of it.
  absl::Status Fill(const BufferPtr& buffer, int64_t offset, int64_t size,
                    absl::Span<const uint8_t> pattern);
  absl::StatusOr<EventPtr> Run(const ExecutablePtr& executable, const Launch& launch);
  // All launches of a recording. With a profiling queue, `events` (if not null) receives one event
  // per launch.
  absl::Status Replay(const RecordingPtr& recording, std::vector<EventPtr>* events = nullptr);
  // Starts what is enqueued, and gives a point behind it. Whoever waits for the point waits for
  // all of it, as Finish does, but not for what is enqueued later.
  absl::StatusOr<EventPtr> Mark() { return DoMark(); }
  // Starts what is enqueued.
  absl::Status Flush() { return DoFlush(); }
  // Waits for everything enqueued; reports the first failure since the last Finish.
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
  // A backend that cannot do that does it now.
  virtual absl::Status DoWriteLater(const BufferPtr& buffer, int64_t offset,
                                    absl::Span<const uint8_t> bytes) {
    return DoWrite(buffer, offset, bytes);
  }
  virtual absl::Status DoReadLater(const BufferPtr& buffer, int64_t offset,
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
  // What is known of the device. Finds out what is not on disk, once; an answer never changes.
  virtual absl::StatusOr<HardwareSettings> Settings(Knowledge knowledge);
  virtual bool Knows(Knowledge knowledge) const;  // Settings would answer at once

  absl::StatusOr<BufferPtr> Allocate(int64_t bytes);  // at least 1
  // A part of `parent` (itself no part); offset a multiple of info().buffer_alignment. Parts may
  // overlap in part where info().sub_buffers_may_overlap. The part keeps its parent alive.
  absl::StatusOr<BufferPtr> SubBuffer(const BufferPtr& parent, int64_t offset, int64_t size);
  // Memory of the host as a buffer that kernels read and nobody writes, where the device can do
  // that without a copy; null where it cannot. `owner` keeps the bytes, which never change, as long
  // as the buffer lives. It does not count as allocated.
  absl::StatusOr<BufferPtr> Wrap(absl::Span<const uint8_t> bytes,
                                 std::shared_ptr<const void> owner);
  // Memory of the host from and to which the device copies by itself, while the host does other
  // work: several times as quickly as any other. Nothing (no owner) where all memory serves alike,
  // or there is none left: the caller takes ordinary memory then. It may outlive the device.
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
  // Empty where there is no device; Unavailable with the remedy where the driver itself fails.
  virtual absl::StatusOr<std::vector<DeviceInfo>> ListDevices() = 0;
  virtual absl::StatusOr<DevicePtr> Open(const DeviceInfo& info) = 0;
};

}  // namespace tartan::hal
