// SPDX-License-Identifier: Apache-2.0
#include "hal/hal.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"

namespace tartan::hal {
namespace {

template <class... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::string SizesToString(const std::array<int64_t, 3>& sizes) {
  return absl::StrCat("(", absl::StrJoin(sizes, ", "), ")");
}

// Checks that `thing` (a buffer, executable or recording) belongs to `device`. `what` names it in
// messages.
template <class T>
absl::Status CheckBelongs(const std::shared_ptr<T>& thing, const DevicePtr& device,
                          absl::string_view what) {
  if (thing == nullptr) return Invalid(what, " is null");
  if (thing->device() != device) {
    return Invalid(what, " belongs to the device ", thing->device()->info().name,
                   " opened elsewhere, not to the device that uses it");
  }
  return absl::OkStatus();
}

absl::Status CheckRange(const Buffer& buffer, int64_t offset, int64_t size,
                        absl::string_view what) {
  // Written so that no addition can overflow.
  if (offset < 0 || size < 0 || offset > buffer.size() || size > buffer.size() - offset) {
    return Invalid(what, ": ", size, " bytes at offset ", offset, " are not within a buffer of ",
                   buffer.size(), " bytes");
  }
  return absl::OkStatus();
}

bool Overlap(const Buffer& a, int64_t a_offset, const Buffer& b, int64_t b_offset, int64_t size) {
  const Buffer* a_root = a.parent() ? a.parent().get() : &a;
  const Buffer* b_root = b.parent() ? b.parent().get() : &b;
  const int64_t a_start = a.offset() + a_offset;
  const int64_t b_start = b.offset() + b_offset;
  return a_root == b_root && a_start < b_start + size && b_start < a_start + size;
}

absl::Status CheckSizes(const Launch& launch, const EntryPoint& kernel,
                        const HardwareSettings& settings) {
  int64_t items = 1;
  for (int i = 0; i < 3; ++i) {
    const int64_t local = launch.local_size[i];
    const int64_t global = launch.global_size[i];
    if (local < 1 || global < 1 || global % local != 0) {
      return Invalid(kernel.name, ": global size ", SizesToString(launch.global_size),
                     " is not a positive multiple of local size ",
                     SizesToString(launch.local_size));
    }
    if (local > settings.max_work_item_sizes[i] || local > settings.max_work_group_size / items) {
      return Invalid(kernel.name, ": local size ", SizesToString(launch.local_size),
                     " exceeds the device's ", settings.max_work_group_size, " work-items, ",
                     SizesToString(settings.max_work_item_sizes), " per dimension");
    }
    items *= local;
  }
  if (kernel.local_size[0] != 0 && kernel.local_size != launch.local_size) {
    return Invalid(kernel.name, ": local size ", SizesToString(launch.local_size),
                   " differs from the kernel's fixed ", SizesToString(kernel.local_size));
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const Launch& launch, const EntryPoint& kernel) {
  if (launch.number_bytes == 8) return absl::OkStatus();
  if (launch.number_bytes != 4) {
    return Invalid(kernel.name, ": launch arguments of ", launch.number_bytes,
                   " bytes, not 4 or 8");
  }
  for (int64_t number : launch.numbers) {
    if (number == static_cast<int32_t>(number)) continue;
    return Invalid(kernel.name, ": ", number, " does not fit into 4 bytes");
  }
  return absl::OkStatus();
}

absl::Status CheckCopy(const Launch& copy, const DevicePtr& device) {
  if (copy.arguments.size() != 2 || copy.numbers.size() != 3) {
    return Invalid("a copy of ", copy.arguments.size(), " buffers and ", copy.numbers.size(),
                   " numbers");
  }
  const int64_t size = copy.numbers[2];
  if (size < 1) return Invalid("a copy of ", size, " bytes");
  for (size_t i = 0; i < 2; ++i) {
    TARTAN_RETURN_IF_ERROR(CheckBelongs(copy.arguments[i], device, "the buffer to copy"));
    TARTAN_RETURN_IF_ERROR(
        CheckRange(*copy.arguments[i], copy.numbers[i], static_cast<size_t>(size), "copy"));
  }
  return absl::OkStatus();
}

absl::Status CheckLaunch(const Executable& executable, const Launch& launch,
                         const DevicePtr& device) {
  if (launch.entry_point == kCopy) return CheckCopy(launch, device);
  const int64_t count = static_cast<int64_t>(executable.entry_points().size());
  if (launch.entry_point < 0 || launch.entry_point >= count) {
    return Invalid("entry point ", launch.entry_point, " is out of range: the executable has ",
                   count);
  }
  const EntryPoint& kernel = executable.entry_points()[launch.entry_point];
  const int64_t arguments = static_cast<int64_t>(launch.arguments.size());
  const int64_t all = arguments + static_cast<int64_t>(launch.numbers.size());
  if (kernel.argument_count >= 0 && all != kernel.argument_count) {
    return Invalid(kernel.name, ": ", all, " arguments for ", kernel.argument_count, " parameters");
  }
  TARTAN_RETURN_IF_ERROR(CheckNumbers(launch, kernel));
  for (int64_t i = 0; i < arguments; ++i) {
    TARTAN_RETURN_IF_ERROR(
        CheckBelongs(launch.arguments[i], device, absl::StrCat(kernel.name, ": argument ", i)));
  }
  return CheckSizes(launch, kernel, device->info().settings);
}

}  // namespace

Launch Launch::Copy(BufferPtr from, int64_t from_offset, BufferPtr to, int64_t to_offset,
                    int64_t size) {
  Launch copy;
  copy.entry_point = kCopy;
  copy.arguments = {std::move(from), std::move(to)};
  copy.numbers = {from_offset, to_offset, size};
  return copy;
}

const DeviceInfo& PreferredDevice(absl::Span<const DeviceInfo> devices) {
  const auto gpu = std::find_if(devices.begin(), devices.end(), [](const DeviceInfo& info) {
    return info.type == DeviceType::kGpu;
  });
  return gpu == devices.end() ? devices.front() : *gpu;
}

absl::string_view Name(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu:
      return "cpu";
    case DeviceType::kGpu:
      return "gpu";
    case DeviceType::kAccelerator:
      return "accelerator";
    case DeviceType::kOther:
      return "other";
  }
  return "other";
}

absl::Status Queue::CheckTransfer(const BufferPtr& buffer, int64_t offset, size_t size,
                                  absl::string_view verb) const {
  TARTAN_RETURN_IF_ERROR(CheckBelongs(buffer, device_, absl::StrCat("the buffer to ", verb)));
  return CheckRange(*buffer, offset, size, verb);
}

absl::Status Queue::Write(const BufferPtr& buffer, int64_t offset,
                          absl::Span<const uint8_t> bytes) {
  TARTAN_RETURN_IF_ERROR(CheckTransfer(buffer, offset, bytes.size(), "write"));
  return bytes.empty() ? absl::OkStatus() : DoWrite(buffer, offset, bytes);
}

absl::Status Queue::Read(const BufferPtr& buffer, int64_t offset, absl::Span<uint8_t> bytes) {
  TARTAN_RETURN_IF_ERROR(CheckTransfer(buffer, offset, bytes.size(), "read"));
  return bytes.empty() ? absl::OkStatus() : DoRead(buffer, offset, bytes);
}

absl::Status Queue::WriteAsync(const BufferPtr& buffer, int64_t offset,
                               absl::Span<const uint8_t> bytes) {
  TARTAN_RETURN_IF_ERROR(CheckTransfer(buffer, offset, bytes.size(), "write"));
  return bytes.empty() ? absl::OkStatus() : DoWriteAsync(buffer, offset, bytes);
}

absl::Status Queue::ReadAsync(const BufferPtr& buffer, int64_t offset, absl::Span<uint8_t> bytes) {
  TARTAN_RETURN_IF_ERROR(CheckTransfer(buffer, offset, bytes.size(), "read"));
  return bytes.empty() ? absl::OkStatus() : DoReadAsync(buffer, offset, bytes);
}

absl::Status Queue::Copy(const BufferPtr& from, int64_t from_offset, const BufferPtr& to,
                         int64_t to_offset, int64_t size) {
  TARTAN_RETURN_IF_ERROR(CheckBelongs(from, device_, "the buffer to copy from"));
  TARTAN_RETURN_IF_ERROR(CheckBelongs(to, device_, "the buffer to copy to"));
  TARTAN_RETURN_IF_ERROR(CheckRange(*from, from_offset, size, "copy from"));
  TARTAN_RETURN_IF_ERROR(CheckRange(*to, to_offset, size, "copy to"));
  if (size == 0) return absl::OkStatus();
  if (Overlap(*from, from_offset, *to, to_offset, size)) {
    return Invalid("copy: ", size, " bytes at offset ", from_offset,
                   " overlap with their destination at offset ", to_offset);
  }
  return DoCopy(from, from_offset, to, to_offset, size);
}

absl::Status Queue::Fill(const BufferPtr& buffer, int64_t offset, int64_t size,
                         absl::Span<const uint8_t> pattern) {
  TARTAN_RETURN_IF_ERROR(CheckBelongs(buffer, device_, "the buffer to fill"));
  TARTAN_RETURN_IF_ERROR(CheckRange(*buffer, offset, size, "fill"));
  const int64_t width = static_cast<int64_t>(pattern.size());
  if (width != 1 && width != 2 && width != 4 && width != 8) {
    return Invalid("fill: the pattern has ", width, " bytes; expected 1, 2, 4 or 8");
  }
  if (offset % width != 0 || size % width != 0) {
    return Invalid("fill: offset ", offset, " and size ", size,
                   " are not multiples of the pattern's ", width, " bytes");
  }
  return size == 0 ? absl::OkStatus() : DoFill(buffer, offset, size, pattern);
}

absl::StatusOr<EventPtr> Queue::Run(const ExecutablePtr& executable, const Launch& launch) {
  TARTAN_RETURN_IF_ERROR(CheckBelongs(executable, device_, "the executable to run"));
  TARTAN_RETURN_IF_ERROR(CheckLaunch(*executable, launch, device_));
  return DoRun(executable, launch);
}

absl::Status Queue::Replay(const RecordingPtr& recording, std::vector<EventPtr>* events) {
  TARTAN_RETURN_IF_ERROR(CheckBelongs(recording, device_, "the recording to replay"));
  return DoReplay(recording, events);
}

absl::StatusOr<HardwareSettings> Device::Settings(Knowledge /*knowledge*/) {
  return info().settings;
}

bool Device::Knows(Knowledge /*knowledge*/) const { return true; }

absl::StatusOr<BufferPtr> Device::Allocate(int64_t bytes) {
  if (bytes < 1) return Invalid("allocation of ", bytes, " bytes");
  TARTAN_ASSIGN_OR_RETURN(BufferPtr buffer, DoAllocate(bytes));
  if (!info().poisons_memory) return buffer;
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<Queue> queue, CreateQueue(/*profiling=*/false));
  TARTAN_RETURN_IF_ERROR(queue->Fill(buffer, 0, bytes, {&kPoison, 1}));
  TARTAN_RETURN_IF_ERROR(queue->Finish());
  return buffer;
}

absl::StatusOr<BufferPtr> Device::SubBuffer(const BufferPtr& parent, int64_t offset, int64_t size) {
  TARTAN_RETURN_IF_ERROR(CheckBelongs(parent, shared_from_this(), "the parent buffer"));
  if (parent->parent() != nullptr) return Invalid("sub-buffer: the parent is itself a sub-buffer");
  if (size < 1) return Invalid("sub-buffer of ", size, " bytes");
  TARTAN_RETURN_IF_ERROR(CheckRange(*parent, offset, size, "sub-buffer"));
  if (offset % info().buffer_alignment != 0) {
    return Invalid("sub-buffer: offset ", offset, " is not a multiple of the device's alignment, ",
                   info().buffer_alignment, " bytes");
  }
  return DoSubBuffer(parent, offset, size);
}

absl::StatusOr<BufferPtr> Device::Wrap(absl::Span<const uint8_t> bytes,
                                       std::shared_ptr<const void> owner) {
  if (bytes.empty() || owner == nullptr)
    return Invalid("wrap: no bytes, or no owner that keeps them alive");
  return DoWrap(bytes, std::move(owner));
}

HostMemory Device::AllocateHost(int64_t bytes) {
  return bytes < 1 ? HostMemory() : DoAllocateHost(bytes);
}

absl::StatusOr<ExecutablePtr> Device::Compile(const ExecutableSource& source) {
  if (source.kernels.empty()) return Invalid("compile: the source has no kernels");
  for (const KernelSource& kernel : source.kernels) {
    if (kernel.name.empty()) return Invalid("compile: a kernel has no name");
  }
  return DoCompile(source);
}

absl::StatusOr<RecordingPtr> Device::Record(const ExecutablePtr& executable,
                                            absl::Span<const Launch> launches) {
  const DevicePtr self = shared_from_this();
  TARTAN_RETURN_IF_ERROR(CheckBelongs(executable, self, "the executable to record"));
  for (size_t i = 0; i < launches.size(); ++i) {
    const absl::Status status = CheckLaunch(*executable, launches[i], self);
    if (!status.ok()) return Invalid("launch ", i, ": ", status.message());
  }
  return DoRecord(executable, launches);
}

absl::StatusOr<std::unique_ptr<Queue>> Device::CreateQueue(bool profiling) {
  return DoCreateQueue(profiling);
}

}  // namespace tartan::hal
