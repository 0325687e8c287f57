// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/opencl_queue.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "backend_opencl/context/opencl_buffer.h"
#include "backend_opencl/context/opencl_context.h"
#include "backend_opencl/device/compiler_pages.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

// Limits of work in flight: commands per batch, staged bytes per batch, number of batches.
constexpr int64_t kCommandsPerBatch = 512;
constexpr int64_t kStagedBytesPerBatch = int64_t{4} << 20;
constexpr size_t kMaxClosedBatches = 16;

// Maximum bytes of a write that is staged in any case, which is cheaper than waiting. Empirical.
constexpr size_t kMaxStagedWrite = size_t{64} << 10;

// Maximum number of deferred transfers and recordings.
constexpr size_t kMaxDeferredWork = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<hal::Queue>> OpenClQueue::Create(hal::DevicePtr device,
                                                                bool profiling) {
  const OpenClContext& context = ContextOf(device);
  cl_int error = CL_SUCCESS;
  QueueHandle queue(CreateCl(&error, clCreateCommandQueue, context.context(), context.id(),
                             profiling ? CL_QUEUE_PROFILING_ENABLE : 0));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateCommandQueue"));
  return std::make_unique<OpenClQueue>(std::move(device), std::move(queue), profiling);
}

OpenClQueue::~OpenClQueue() {
  // After a shortage of memory, deferred work may remain. No exception may leave the destructor.
  try {
    if (const absl::Status done = DoFinish(); !done.ok()) {
      std::fprintf(stderr, "tartan: work of a dropped queue failed: %s\n", done.ToString().c_str());
    }
  } catch (const std::bad_alloc&) {
  }
  CallCl(clFinish, queue_.get());  // helper threads of batches that the host executed
}

absl::Status OpenClQueue::CheckEnqueued(cl_int error, absl::string_view call, int64_t size) const {
  if (error == CL_SUCCESS) return ContextOf(device()).FinishIfEach(queue_.get(), call);
  return NotEnqueued(error, absl::StrCat(call, " of ", size, " bytes"));
}

absl::Status OpenClQueue::NotEnqueued(cl_int error, absl::string_view call) const {
  if (!IsOutOfMemory(error)) return ExplainByShortage(ToStatus(error, call));
  return absl::ResourceExhaustedError(
      absl::StrCat(call, ": ", ErrorName(error), "; ", ContextOf(device()).FreeMemoryText()));
}

absl::Status OpenClQueue::DoWrite(const hal::BufferPtr& buffer, int64_t offset,
                                  absl::Span<const uint8_t> bytes) {
  TARTAN_RETURN_IF_ERROR(EnqueueDeferredWork());
  const auto size = static_cast<int64_t>(bytes.size());
  const hal::HostMemory staged = StageWrite(bytes);
  if (staged.owner == nullptr) {
    return CheckEnqueued(CallCl(clEnqueueWriteBuffer, queue_.get(), MemoryOf(buffer), CL_TRUE,
                                offset, bytes.size(), bytes.data(), 0, nullptr, nullptr),
                         "clEnqueueWriteBuffer", size);
  }
  // Resources are kept before the command is enqueued, because keeping them allocates memory.
  Keep(staged.owner);
  Keep(buffer);
  TARTAN_RETURN_IF_ERROR(
      CheckEnqueued(CallCl(clEnqueueWriteBuffer, queue_.get(), MemoryOf(buffer), CL_FALSE, offset,
                           bytes.size(), staged.bytes.data(), 0, nullptr, nullptr),
                    "clEnqueueWriteBuffer", size));
  batch_.staged_bytes += size;
  return LimitInFlight(1);
}

hal::HostMemory OpenClQueue::StageWrite(absl::Span<const uint8_t> bytes) const {
  hal::HostMemory staged;
  const auto size = static_cast<int64_t>(bytes.size());
  if (bytes.size() <= kMaxStagedWrite) {
    const auto copy = std::make_shared<std::vector<uint8_t>>(bytes.begin(), bytes.end());
    return {{copy->data(), copy->size()}, copy};
  }
  if (!has_work_in_flight()) return staged;
  staged = device()->AllocateHost(size);
  if (staged.owner != nullptr) std::memcpy(staged.bytes.data(), bytes.data(), bytes.size());
  return staged;
}

absl::Status OpenClQueue::DoRead(const hal::BufferPtr& buffer, int64_t offset,
                                 absl::Span<uint8_t> bytes) {
  TARTAN_RETURN_IF_ERROR(EnqueueDeferredWork());
  absl::Status status =
      CheckEnqueued(CallCl(clEnqueueReadBuffer, queue_.get(), MemoryOf(buffer), CL_TRUE, offset,
                           bytes.size(), bytes.data(), 0, nullptr, nullptr),
                    "clEnqueueReadBuffer", static_cast<int64_t>(bytes.size()));
  KeepCompiled();
  return status;
}

absl::Status OpenClQueue::DoWriteAsync(const hal::BufferPtr& buffer, int64_t offset,
                                       absl::Span<const uint8_t> bytes) {
  // The transfer only reads from it.
  auto* host = const_cast<uint8_t*>(bytes.data());
  const DeferredTransfer transfer = {buffer, offset, host, static_cast<int64_t>(bytes.size()),
                                     false};
  if (Defer(transfer)) return absl::OkStatus();
  // Drivers read ordinary memory only after the work in flight, while the caller waits.
  const auto& opencl = ContextOf(device());
  const bool waits = bytes.size() > kMaxStagedWrite && has_work_in_flight() &&
                     opencl.info().type == hal::DeviceType::kGpu && !opencl.IsPinned(bytes.data());
  return waits ? DoWrite(buffer, offset, bytes) : EnqueueMove(transfer);
}

absl::Status OpenClQueue::DoReadAsync(const hal::BufferPtr& buffer, int64_t offset,
                                      absl::Span<uint8_t> bytes) {
  const DeferredTransfer transfer = {buffer, offset, bytes.data(),
                                     static_cast<int64_t>(bytes.size()), true};
  return Defer(transfer) ? absl::OkStatus() : EnqueueMove(transfer);
}

template <class Move>
bool OpenClQueue::Defer(const Move& move) {
  if (!is_idle_ || deferred_.size() >= kMaxDeferredWork || !MayMoveOnHost(move)) return false;
  deferred_.emplace_back(move);
  return true;
}

absl::Status OpenClQueue::EnqueueMove(const DeferredTransfer& transfer) {
  TARTAN_RETURN_IF_ERROR(EnqueueDeferredWork());
  const auto& [buffer, offset, host, size, is_read] = transfer;
  EventHandle event;
  const auto bytes = static_cast<size_t>(size);
  const cl_int error = is_read ? CallCl(clEnqueueReadBuffer, queue_.get(), MemoryOf(buffer),
                                        CL_FALSE, offset, bytes, host, 0, nullptr, event.Receive())
                               : CallCl(clEnqueueWriteBuffer, queue_.get(), MemoryOf(buffer),
                                        CL_FALSE, offset, bytes, host, 0, nullptr, event.Receive());
  TARTAN_RETURN_IF_ERROR(
      CheckEnqueued(error, is_read ? "clEnqueueReadBuffer" : "clEnqueueWriteBuffer", size));
  return KeepTransfer(buffer, std::move(event));
}

absl::Status OpenClQueue::EnqueueDeferredWork() {
  is_idle_ = false;
  for (const DeferredWork& work : std::exchange(deferred_, {})) {
    TARTAN_RETURN_IF_ERROR(
        std::visit(Overloaded{[&](const auto& move) { return EnqueueMove(move); },
                              [&](const std::shared_ptr<const OpenClRecording>& recording) {
                                return EnqueueReplay(recording, nullptr);
                              }},
                   work));
  }
  return absl::OkStatus();
}

absl::Status OpenClQueue::RunDeferredWork() {
  for (const DeferredWork& work : std::exchange(deferred_, {})) {
    if (!std::holds_alternative<std::shared_ptr<const OpenClRecording>>(work)) {
      std::visit(Overloaded{[](const auto& move) { MoveOnHost(move); },
                            [](const std::shared_ptr<const OpenClRecording>&) {}},
                 work);
      continue;
    }
    const auto& recording = std::get<std::shared_ptr<const OpenClRecording>>(work);
    KeepCompiling(*recording);
    for (const RecordedWork& recorded : recording->work()) {
      auto& sequence = *std::get<std::unique_ptr<LaunchBatch>>(recorded);
      TARTAN_RETURN_IF_ERROR(sequence.ResetAfterFailure(queue_.get()));
      batch_.kept.reserve(batch_.kept.size() + 1);  // before other threads use it
      if (!sequence.RunOnHost(queue_.get())) continue;
      Keep(recording);
      TARTAN_RETURN_IF_ERROR(LimitInFlight(1));
    }
  }
  return absl::OkStatus();
}

absl::Status OpenClQueue::KeepTransfer(const hal::BufferPtr& buffer, EventHandle event) {
  // Waits on failure: the caller releases the host memory of a failed transfer.
  absl::Cleanup wait = [this] { CallCl(clFinish, queue_.get()); };
  batch_.events.push_back(std::make_shared<OpenClEvent>(std::move(event), profiling_));
  Keep(buffer);
  absl::Status kept = LimitInFlight(1);
  if (kept.ok()) std::move(wait).Cancel();
  return kept;
}

absl::Status OpenClQueue::DoCopy(const hal::BufferPtr& from, int64_t from_offset,
                                 const hal::BufferPtr& to, int64_t to_offset, int64_t size) {
  const DeferredCopy copy = {from, from_offset, to, to_offset, size};
  return Defer(copy) ? absl::OkStatus() : EnqueueMove(copy);
}

absl::Status OpenClQueue::EnqueueMove(const DeferredCopy& copy) {
  TARTAN_RETURN_IF_ERROR(EnqueueDeferredWork());
  Keep(copy.from);
  Keep(copy.to);
  TARTAN_RETURN_IF_ERROR(CheckEnqueued(
      CallCl(clEnqueueCopyBuffer, queue_.get(), MemoryOf(copy.from), MemoryOf(copy.to),
             copy.from_offset, copy.to_offset, copy.size, 0, nullptr, nullptr),
      "clEnqueueCopyBuffer", copy.size));
  return LimitInFlight(1);
}

absl::Status OpenClQueue::DoFill(const hal::BufferPtr& buffer, int64_t offset, int64_t size,
                                 absl::Span<const uint8_t> pattern) {
  const bool is_one_byte =
      std::all_of(pattern.begin(), pattern.end(), [&](uint8_t byte) { return byte == pattern[0]; });
  if (is_one_byte && ContextOf(device()).quirks().fills_bytes_faster) {
    pattern = pattern.first(1);
  }
  DeferredFill fill = {buffer, offset, size, {}, static_cast<int64_t>(pattern.size())};
  std::copy(pattern.begin(), pattern.end(), fill.pattern.begin());
  return Defer(fill) ? absl::OkStatus() : EnqueueMove(fill);
}

absl::Status OpenClQueue::EnqueueMove(const DeferredFill& fill) {
  TARTAN_RETURN_IF_ERROR(EnqueueDeferredWork());
  Keep(fill.buffer);
  TARTAN_RETURN_IF_ERROR(CheckEnqueued(
      CallCl(clEnqueueFillBuffer, queue_.get(), MemoryOf(fill.buffer), fill.pattern.data(),
             static_cast<size_t>(fill.pattern_size), fill.offset, fill.size, 0, nullptr, nullptr),
      "clEnqueueFillBuffer", fill.size));
  return LimitInFlight(1);
}

absl::StatusOr<hal::EventPtr> OpenClQueue::DoRun(const hal::ExecutablePtr& executable,
                                                 const hal::Launch& launch) {
  TARTAN_ASSIGN_OR_RETURN(hal::RecordingPtr recording,
                          RecordLaunches(executable, absl::MakeConstSpan(&launch, 1)));
  std::vector<hal::EventPtr> events;
  TARTAN_RETURN_IF_ERROR(DoReplay(recording, &events));
  return events[0];
}

absl::Status OpenClQueue::DoReplay(const hal::RecordingPtr& recording,
                                   std::vector<hal::EventPtr>* events) {
  auto recorded = std::static_pointer_cast<const OpenClRecording>(recording);
  if (is_idle_ && events == nullptr && deferred_.size() < kMaxDeferredWork &&
      recorded->may_run_on_host()) {
    deferred_.emplace_back(std::move(recorded));
    return absl::OkStatus();
  }
  return EnqueueReplay(recorded, events);
}

void OpenClQueue::KeepCompiling(const OpenClRecording& recording) {
  auto compiling = recording.TakeCompiling();
  if (compiling != nullptr) compiling_.push_back(std::move(compiling));
}

absl::Status OpenClQueue::EnqueueReplay(const std::shared_ptr<const OpenClRecording>& recording,
                                        std::vector<hal::EventPtr>* events) {
  TARTAN_RETURN_IF_ERROR(EnqueueDeferredWork());
  // The recording is kept before its first launch, because earlier launches are still in flight if
  // a later one cannot be enqueued.
  Keep(recording);
  const OpenClRecording& launches = *recording;
  KeepCompiling(launches);
  for (const RecordedWork& work : launches.work()) {
    if (const auto* launch = std::get_if<PreparedLaunch>(&work)) {
      TARTAN_RETURN_IF_ERROR(Enqueue(launches.NameOf(*launch), events, [&](cl_event* event) {
        return CallCl(clEnqueueNDRangeKernel, queue_.get(), launch->kernel.get(), 3, nullptr,
                      launch->global_size.data(), launch->local_size.data(), 0, nullptr, event);
      }));
      continue;
    }
    if (const auto* copy = std::get_if<PreparedCopy>(&work)) {
      TARTAN_RETURN_IF_ERROR(Enqueue("a copy", events, [&](cl_event* event) {
        return CallCl(clEnqueueCopyBuffer, queue_.get(), copy->from, copy->to, copy->from_offset,
                      copy->to_offset, copy->size, 0, nullptr, event);
      }));
      continue;
    }
    if (const auto* items = std::get_if<std::unique_ptr<LaunchBatch>>(&work)) {
      TARTAN_RETURN_IF_ERROR((*items)->ResetAfterFailure(queue_.get()));
      TARTAN_RETURN_IF_ERROR(EnqueueBatch(**items, events));
    } else {
      TARTAN_RETURN_IF_ERROR(EnqueueBatch(*std::get<std::unique_ptr<Megakernel>>(work), events));
    }
  }
  return LimitInFlight(std::max<int64_t>(launches.work().size(), 1));
}

template <class Sequence>
absl::Status OpenClQueue::EnqueueBatch(Sequence& sequence, std::vector<hal::EventPtr>* events) {
  const int at_once = events == nullptr ? sequence.size() : 1;
  for (int begin = 0; begin < sequence.size(); begin += at_once) {
    TARTAN_RETURN_IF_ERROR(Enqueue("a launch batch", events, [&](cl_event* event) {
      return sequence.Enqueue(queue_.get(), begin, begin + at_once, event);
    }));
  }
  return absl::OkStatus();
}

absl::Status OpenClQueue::Enqueue(absl::string_view what, std::vector<hal::EventPtr>* events,
                                  const std::function<cl_int(cl_event*)>& launch) {
  EventHandle event;
  const cl_int error = launch(events == nullptr ? nullptr : event.Receive());
  if (error != CL_SUCCESS) {
    return NotEnqueued(error, absl::StrCat("clEnqueueNDRangeKernel of ", what));
  }
  if (events == nullptr) return ContextOf(device()).FinishIfEach(queue_.get(), what);
  auto kept = std::make_shared<OpenClEvent>(std::move(event), profiling_);
  batch_.events.push_back(kept);
  events->push_back(std::move(kept));
  return absl::OkStatus();
}

absl::StatusOr<hal::EventPtr> OpenClQueue::DoMark() {
  TARTAN_RETURN_IF_ERROR(EnqueueDeferredWork());
  EventHandle event;
  TARTAN_CL_CALL(clEnqueueMarkerWithWaitList, queue_.get(), 0, nullptr, event.Receive());
  TARTAN_RETURN_IF_ERROR(DoFlush());
  TARTAN_RETURN_IF_ERROR(LimitInFlight(1));
  return std::make_shared<OpenClEvent>(std::move(event), profiling_);
}

absl::Status OpenClQueue::DoFlush() {
  if (!deferred_.empty()) TARTAN_RETURN_IF_ERROR(EnqueueDeferredWork());
  return ToStatus(CallCl(clFlush, queue_.get()), "clFlush");
}

absl::Status OpenClQueue::DoFinish() {
  if (is_idle_) {
    NoteFailure(RunDeferredWork());
    KeepCompiled();
    return std::exchange(failure_, absl::OkStatus());
  }
  const cl_int error = CallCl(clFinish, queue_.get());
  for (const Batch& batch : closed_) NoteFailures(batch);
  NoteFailures(batch_);
  if (error != CL_SUCCESS) {
    // Drivers report a fault in a kernel with any error code, including CL_OUT_OF_RESOURCES.
    NoteFailure(ExplainByShortage(absl::InternalError(
        absl::StrCat("work on the device failed: clFinish: ", ErrorName(error)))));
  }
  closed_.clear();
  batch_ = Batch();
  is_idle_ = true;
  KeepCompiled();
  return std::exchange(failure_, absl::OkStatus());
}

absl::Status OpenClQueue::LimitInFlight(int64_t commands) {
  batch_.commands += commands;
  if (batch_.commands < kCommandsPerBatch && batch_.staged_bytes < kStagedBytesPerBatch) {
    return absl::OkStatus();
  }
  TARTAN_CL_CALL(clEnqueueMarkerWithWaitList, queue_.get(), 0, nullptr, batch_.marker.Receive());
  TARTAN_CL_CALL(clFlush, queue_.get());
  closed_.push_back(std::exchange(batch_, Batch()));
  while (!closed_.empty()) {
    const cl_event marker = closed_.front().marker.get();
    if (!IsOver(marker)) {
      if (closed_.size() <= kMaxClosedBatches) break;
      CallCl(clWaitForEvents, 1, &marker);  // a failure is recorded from the event's state
    }
    NoteFailures(closed_.front());
    closed_.pop_front();
  }
  return absl::OkStatus();
}

void OpenClQueue::NoteFailures(const Batch& batch) {
  for (const auto& event : batch.events) NoteFailure(FailureOf(event->event()));
  if (batch.marker) NoteFailure(FailureOf(batch.marker.get()));
}

void OpenClQueue::KeepCompiled() {
  if (compiling_.empty()) return;
  for (const auto& executable : compiling_) executable->pocl_files()->KeepCompiled();
  compiling_.clear();
  ReturnCompilerPages();
}

void OpenClQueue::NoteFailure(absl::Status status) {
  if (failure_.ok()) failure_ = std::move(status);
}

}  // namespace tartan::opencl
