// The border to devices: bytes in, events out. Knows no compiler type. A backend implements
// Driver, Device, Buffer, Executable and Queue; null_backend.h is the skeleton to start from and
// tests/hal/conformance.h the suite every backend passes.
//
// Threads: Driver, Device and Executable may be used from several threads at once; a Queue belongs
// to one thread at a time. Lifetime: a Device outlives what it made (they hold a reference); a
// queue keeps buffers and executables alive until the work that uses them is done.
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
#include "tile/base/hardware_settings.h"

namespace tartan::hal {

enum class DeviceType : uint8_t { kCpu, kGpu, kAccelerator, kOther };
absl::string_view Name(DeviceType type);  // "cpu", "gpu" …

struct DeviceInfo {
  int index = 0;  // among the devices of all drivers, in listing order
  std::string platform;
  std::string name;
  std::string vendor;
  std::string driver_version;
  std::string backend;  // "opencl"
  DeviceType type = DeviceType::kOther;
  int64_t memory_bytes = 0;
  int64_t max_allocation_bytes = 0;
  int64_t buffer_alignment = 1;  // of sub-buffer offsets, in bytes
  HardwareSettings settings;
};

// Device memory, or a part of it.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual int64_t size() const = 0;
};
using BufferPtr = std::shared_ptr<Buffer>;

// What a backend compiles.
struct ExecutableSource {
  std::string format;  // "opencl-c"
  std::string source;
  std::vector<std::string> entry_points;
  std::string options;  // compiler flags
};

struct CompileStatistics {
  int64_t cache_hits = 0;    // programs taken from the disk cache
  int64_t cache_misses = 0;  // programs compiled
  double compile_ms = 0;
};

// Compiled kernels; immutable.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual const CompileStatistics& statistics() const = 0;
};
using ExecutablePtr = std::shared_ptr<Executable>;

struct Launch {
  int entry_point = 0;  // position in ExecutableSource::entry_points
  std::vector<BufferPtr> arguments;
  std::array<int64_t, 3> global_size = {1, 1, 1};  // work-items; multiples of local_size
  std::array<int64_t, 3> local_size = {1, 1, 1};
};

// Launches with their arguments set, ready to be enqueued without lookup or allocation. Replays of
// one recording on several queues at once are the caller's mistake.
class Recording {
 public:
  virtual ~Recording() = default;
};

struct Timing {  // nanoseconds on the device's clock; zeros without profiling
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// A point in a queue's work.
class Event {
 public:
  virtual ~Event() = default;
  virtual absl::Status Wait() = 0;
  virtual absl::StatusOr<Timing> GetTiming() = 0;  // after the work is done
};
using EventPtr = std::shared_ptr<Event>;

// Work executed in order. Host memory given to Write may be reused on return; Read blocks.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual absl::Status Write(const BufferPtr& buffer, int64_t offset,
                             absl::Span<const uint8_t> bytes) = 0;
  virtual absl::Status Read(const BufferPtr& buffer, int64_t offset,
                            absl::Span<uint8_t> bytes) = 0;
  virtual absl::Status Copy(const BufferPtr& from, int64_t from_offset, const BufferPtr& to,
                            int64_t to_offset, int64_t size) = 0;
  // Repeats `pattern` (1, 2, 4 or 8 bytes) over [offset, offset + size), a multiple of it.
  virtual absl::Status Fill(const BufferPtr& buffer, int64_t offset, int64_t size,
                            absl::Span<const uint8_t> pattern) = 0;
  virtual absl::StatusOr<EventPtr> Run(const ExecutablePtr& executable, const Launch& launch) = 0;
  // All launches of a recording. With a profiling queue, `events` (if not null) receives one event
  // per launch.
  virtual absl::Status Replay(const std::shared_ptr<Recording>& recording,
                              std::vector<EventPtr>* events = nullptr) = 0;
  virtual absl::Status Flush() = 0;
  // Waits for everything enqueued; reports the first failure.
  virtual absl::Status Finish() = 0;
};

struct DeviceStatistics {
  int64_t allocated_bytes = 0;
  int64_t peak_allocated_bytes = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual absl::StatusOr<BufferPtr> Allocate(int64_t bytes) = 0;  // at least 1
  // A part of `parent` (itself no part); offset a multiple of info().buffer_alignment. The part
  // keeps its parent alive.
  virtual absl::StatusOr<BufferPtr> SubBuffer(const BufferPtr& parent, int64_t offset,
                                              int64_t size) = 0;
  virtual absl::StatusOr<ExecutablePtr> Compile(const ExecutableSource& source) = 0;
  virtual absl::StatusOr<std::shared_ptr<Recording>> Record(const ExecutablePtr& executable,
                                                            absl::Span<const Launch> launches) = 0;
  virtual absl::StatusOr<std::unique_ptr<Queue>> CreateQueue(bool profiling) = 0;
  virtual DeviceStatistics statistics() const = 0;
};
using DevicePtr = std::shared_ptr<Device>;

class Driver {
 public:
  virtual ~Driver() = default;
  virtual absl::string_view name() const = 0;
  // Empty where there is no device; Unavailable with the remedy where the driver itself fails.
  virtual absl::StatusOr<std::vector<DeviceInfo>> ListDevices() = 0;
  virtual absl::StatusOr<DevicePtr> Open(const DeviceInfo& info) = 0;
};

}  // namespace tartan::hal
