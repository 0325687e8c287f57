// SPDX-License-Identifier: Apache-2.0
#include "hal/null_backend.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::hal {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class NullDevice;

class NullBuffer : public Buffer {
 public:
  NullBuffer(std::shared_ptr<NullDevice> device, std::unique_ptr<uint8_t[]> memory, int64_t size);
  NullBuffer(std::shared_ptr<NullBuffer> parent, int64_t offset, int64_t size);
  ~NullBuffer() override;

  uint8_t* data() const { return data_; }

 private:
  std::unique_ptr<uint8_t[]> memory_;  // null for a sub-buffer
  uint8_t* data_;
};

uint8_t* Data(const BufferPtr& buffer) { return static_cast<NullBuffer&>(*buffer).data(); }

class NullExecutable : public Executable {
 public:
  NullExecutable(DevicePtr device, std::vector<EntryPoint> entry_points,
                 CompileStatistics statistics)
      : Executable(std::move(device), std::move(entry_points), statistics) {}
};

class NullRecording : public Recording {
 public:
  NullRecording(DevicePtr device, ExecutablePtr executable, std::vector<Launch> launches)
      : Recording(std::move(device)),
        executable_(std::move(executable)),
        launches_(std::move(launches)) {}

  const std::vector<Launch>& launches() const { return launches_; }
  const std::string& NameOf(const Launch& launch) const {
    return executable_->entry_points()[launch.entry_point].name;
  }

 private:
  ExecutablePtr executable_;
  std::vector<Launch> launches_;  // keeps the buffers alive
};

class NullEvent : public Event {
 public:
  explicit NullEvent(Timing timing) : timing_(timing) {}
  absl::Status Wait() override { return absl::OkStatus(); }
  absl::StatusOr<Timing> GetTiming() override { return timing_; }

 private:
  Timing timing_;
};

class NullQueue : public Queue {
 public:
  NullQueue(DevicePtr device, bool profiling, const NullKernels& kernels)
      : Queue(std::move(device)), profiling_(profiling), kernels_(kernels) {}

 private:
  absl::Status DoWrite(const BufferPtr& buffer, int64_t offset,
                       absl::Span<const uint8_t> bytes) override {
    std::memcpy(Data(buffer) + offset, bytes.data(), bytes.size());
    return absl::OkStatus();
  }

  absl::Status DoRead(const BufferPtr& buffer, int64_t offset, absl::Span<uint8_t> bytes) override {
    std::memcpy(bytes.data(), Data(buffer) + offset, bytes.size());
    return absl::OkStatus();
  }

  absl::Status DoCopy(const BufferPtr& from, int64_t from_offset, const BufferPtr& to,
                      int64_t to_offset, int64_t size) override {
    std::memcpy(Data(to) + to_offset, Data(from) + from_offset, size);
    return absl::OkStatus();
  }

  absl::Status DoFill(const BufferPtr& buffer, int64_t offset, int64_t size,
                      absl::Span<const uint8_t> pattern) override {
    uint8_t* begin = Data(buffer) + offset;
    for (int64_t i = 0; i < size; i += pattern.size()) {
      std::memcpy(begin + i, pattern.data(), pattern.size());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<EventPtr> DoRun(const ExecutablePtr& executable, const Launch& launch) override {
    return MakeEvent();
  }

  absl::Status DoReplay(const RecordingPtr& recording, std::vector<EventPtr>* events) override {
    const auto& recorded = static_cast<const NullRecording&>(*recording);
    for (const Launch& launch : recorded.launches()) {
      if (launch.entry_point != kCopy) {
        RunKernel(recorded.NameOf(launch), launch);
        continue;
      }
      TARTAN_RETURN_IF_ERROR(DoCopy(launch.arguments[0], launch.numbers[0], launch.arguments[1],
                                    launch.numbers[1], launch.numbers[2]));
    }
    if (events == nullptr) return absl::OkStatus();
    for (size_t i = 0; i < recorded.launches().size(); ++i) events->push_back(MakeEvent());
    return absl::OkStatus();
  }

  absl::StatusOr<EventPtr> DoMark() override { return MakeEvent(); }
  absl::Status DoFlush() override { return absl::OkStatus(); }
  absl::Status DoFinish() override { return absl::OkStatus(); }

  void RunKernel(const std::string& name, const Launch& launch) const {
    if (!kernels_) return;
    std::vector<absl::Span<uint8_t>> arguments;
    for (const BufferPtr& buffer : launch.arguments) {
      arguments.emplace_back(Data(buffer), static_cast<size_t>(buffer->size()));
    }
    kernels_(name, arguments);
  }

  EventPtr MakeEvent() const {
    if (!profiling_) return std::make_shared<NullEvent>(Timing{});
    const int64_t now = NowNs();
    return std::make_shared<NullEvent>(Timing{now, now});
  }

  const bool profiling_;
  const NullKernels kernels_;
};

class NullDevice : public Device {
 public:
  NullDevice(DeviceInfo info, NullKernels kernels)
      : info_(std::move(info)), kernels_(std::move(kernels)) {}

  const DeviceInfo& info() const override { return info_; }

  DeviceStatistics statistics() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return statistics_;
  }

  void Release(int64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    statistics_.allocated_bytes -= bytes;
  }

 private:
  absl::StatusOr<BufferPtr> DoAllocate(int64_t bytes) override {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t free = info_.memory_bytes - statistics_.allocated_bytes;
    std::unique_ptr<uint8_t[]> memory;
    if (bytes <= free) memory.reset(new (std::nothrow) uint8_t[bytes]);
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("allocation of ", bytes, " bytes; ", free,
                                                       " of the device's ", info_.memory_bytes,
                                                       " bytes are free"));
    }
    statistics_.allocated_bytes += bytes;
    statistics_.peak_allocated_bytes =
        std::max(statistics_.peak_allocated_bytes, statistics_.allocated_bytes);
    return std::make_shared<NullBuffer>(Self(), std::move(memory), bytes);
  }

  absl::StatusOr<BufferPtr> DoSubBuffer(const BufferPtr& parent, int64_t offset,
                                        int64_t size) override {
    return std::make_shared<NullBuffer>(std::static_pointer_cast<NullBuffer>(parent), offset, size);
  }

  absl::StatusOr<ExecutablePtr> DoCompile(const ExecutableSource& source) override {
    if (source.format != "null") {
      return absl::InvalidArgumentError(absl::StrCat(
          "the null backend compiles only the format \"null\", not \"", source.format, "\""));
    }
    std::vector<EntryPoint> entry_points;
    for (const KernelSource& kernel : source.kernels) entry_points.push_back({kernel.name});
    CompileStatistics statistics;
    statistics.cache_misses = 1;
    return std::make_shared<NullExecutable>(Self(), std::move(entry_points), statistics);
  }

  absl::StatusOr<RecordingPtr> DoRecord(const ExecutablePtr& executable,
                                        absl::Span<const Launch> launches) override {
    return std::make_shared<NullRecording>(Self(), executable,
                                           std::vector<Launch>(launches.begin(), launches.end()));
  }

  absl::StatusOr<std::unique_ptr<Queue>> DoCreateQueue(bool profiling) override {
    return std::make_unique<NullQueue>(Self(), profiling, kernels_);
  }

  std::shared_ptr<NullDevice> Self() {
    return std::static_pointer_cast<NullDevice>(shared_from_this());
  }

  const DeviceInfo info_;
  const NullKernels kernels_;
  mutable std::mutex mutex_;
  DeviceStatistics statistics_;  // guarded by mutex_
};

NullBuffer::NullBuffer(std::shared_ptr<NullDevice> device, std::unique_ptr<uint8_t[]> memory,
                       int64_t size)
    : Buffer(std::move(device), size), memory_(std::move(memory)), data_(memory_.get()) {}

NullBuffer::NullBuffer(std::shared_ptr<NullBuffer> parent, int64_t offset, int64_t size)
    : Buffer(parent, offset, size), data_(parent->data() + offset) {}

NullBuffer::~NullBuffer() {
  if (memory_ != nullptr) static_cast<NullDevice&>(*device()).Release(size());
}

class NullDriver : public Driver {
 public:
  explicit NullDriver(const NullOptions& options) : kernels_(options.kernels) {
    info_.platform = "null";
    info_.name = "null";
    info_.vendor = "Tartan";
    info_.driver_version = "1";
    info_.backend = "null";
    info_.memory_bytes = options.memory_bytes;
    info_.max_allocation_bytes = options.memory_bytes;
    info_.buffer_alignment = 64;
    info_.poisons_memory = options.poisons_memory;
    info_.settings.max_work_group_size = 1024;
    info_.settings.max_work_item_sizes = {1024, 1024, 1024};
  }

  absl::string_view name() const override { return "null"; }
  absl::StatusOr<std::vector<DeviceInfo>> ListDevices() override {
    return std::vector<DeviceInfo>{info_};
  }
  absl::StatusOr<DevicePtr> Open(const DeviceInfo& info) override {
    if (info.ordinal != 0) {
      return absl::UnavailableError(
          absl::StrCat("the null driver has only device 0, not ", info.ordinal));
    }
    return std::make_shared<NullDevice>(info_, kernels_);
  }

 private:
  DeviceInfo info_;
  const NullKernels kernels_;
};

}  // namespace

std::unique_ptr<Driver> MakeNullDriver(const NullOptions& options) {
  return std::make_unique<NullDriver>(options);
}

}  // namespace tartan::hal
