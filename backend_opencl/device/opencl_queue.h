// SPDX-License-Identifier: Apache-2.0
// An in-order OpenCL queue that keeps the resources of enqueued work alive until the work is done.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/device/deferred_moves.h"
#include "backend_opencl/device/opencl_event.h"
#include "backend_opencl/device/opencl_executable.h"
#include "hal/hal.h"

namespace tartan::opencl {

class OpenClQueue : public hal::Queue {
 public:
  static absl::StatusOr<std::unique_ptr<hal::Queue>> Create(hal::DevicePtr device, bool profiling);
  OpenClQueue(hal::DevicePtr device, QueueHandle queue, bool profiling)
      : Queue(std::move(device)), queue_(std::move(queue)), profiling_(profiling) {}
  ~OpenClQueue() override;

 private:
  // Resources of the work between two markers. A queue has no thread and no callbacks: each full
  // batch ends with a marker, and later enqueues drop the batches whose markers are reached.
  struct Batch {
    std::vector<std::shared_ptr<const void>> kept;
    std::vector<std::shared_ptr<OpenClEvent>> events;  // checked for failures
    int64_t commands = 0;
    int64_t staged_bytes = 0;
    EventHandle marker;
  };

  absl::Status DoWrite(const hal::BufferPtr& buffer, int64_t offset,
                       absl::Span<const uint8_t> bytes) override;
  bool has_work_in_flight() const { return !closed_.empty() || batch_.commands > 0; }
  // Returns a copy of bytes to write, so that the caller need not wait for work in flight; no owner
  // if the write should be blocking. Large copies are in pinned memory.
  hal::HostMemory StageWrite(absl::Span<const uint8_t> bytes) const;
  absl::Status DoRead(const hal::BufferPtr& buffer, int64_t offset,
                      absl::Span<uint8_t> bytes) override;
  absl::Status DoWriteAsync(const hal::BufferPtr& buffer, int64_t offset,
                            absl::Span<const uint8_t> bytes) override;
  absl::Status DoReadAsync(const hal::BufferPtr& buffer, int64_t offset,
                           absl::Span<uint8_t> bytes) override;
  absl::Status DoCopy(const hal::BufferPtr& from, int64_t from_offset, const hal::BufferPtr& to,
                      int64_t to_offset, int64_t size) override;
  absl::Status DoFill(const hal::BufferPtr& buffer, int64_t offset, int64_t size,
                      absl::Span<const uint8_t> pattern) override;
  absl::StatusOr<hal::EventPtr> DoRun(const hal::ExecutablePtr& executable,
                                      const hal::Launch& launch) override;
  absl::Status DoReplay(const hal::RecordingPtr& recording,
                        std::vector<hal::EventPtr>* events) override;
  absl::StatusOr<hal::EventPtr> DoMark() override;
  absl::Status DoFlush() override;
  absl::Status DoFinish() override;

  // Deferred work: transfers, copies, fills and recordings that the host thread can execute. If the
  // caller then waits for the queue, the host executes the work at once; otherwise the work is
  // enqueued.
  using DeferredWork = std::variant<DeferredTransfer, DeferredCopy, DeferredFill,
                                    std::shared_ptr<const OpenClRecording>>;

  // Returns true if the transfer, copy or fill was deferred.
  template <class Move>
  bool Defer(const Move& move);
  // Enqueues the deferred work. Must be called before anything else is enqueued.
  absl::Status EnqueueDeferredWork();
  // Executes the deferred work in the host thread. Requires that nothing else is in flight.
  absl::Status RunDeferredWork();
  absl::Status EnqueueMove(const DeferredTransfer& transfer);
  absl::Status EnqueueMove(const DeferredCopy& copy);
  absl::Status EnqueueMove(const DeferredFill& fill);
  absl::Status EnqueueReplay(const std::shared_ptr<const OpenClRecording>& recording,
                             std::vector<hal::EventPtr>* events);
  // Enqueues the whole batch as one launch, or launch by launch if events are requested.
  template <class Sequence>
  absl::Status EnqueueBatch(Sequence& sequence, std::vector<hal::EventPtr>* events);
  void KeepCompiling(const OpenClRecording& recording);

  // Enqueues one launch. `launch` stores the launch's event through its parameter if that is not
  // null.
  absl::Status Enqueue(absl::string_view what, std::vector<hal::EventPtr>* events,
                       const std::function<cl_int(cl_event*)>& launch);
  // Returns the status of a transfer or fill of `size` bytes. Allocates nothing if the command was
  // enqueued, so that a lack of memory cannot separate the command from the resources that wait for
  // it.
  absl::Status CheckEnqueued(cl_int error, absl::string_view call, int64_t size) const;
  // Returns the error of a command that was not enqueued. Memory errors include the free amount.
  absl::Status NotEnqueued(cl_int error, absl::string_view call) const;
  // Keeps the resources of a non-blocking transfer. Its event is later checked for failures.
  absl::Status KeepTransfer(const hal::BufferPtr& buffer, EventHandle event);
  void Keep(std::shared_ptr<const void> object) { batch_.kept.push_back(std::move(object)); }
  // Called after `commands` commands were enqueued. Closes the batch if it is full, drops finished
  // batches, and waits if too many are in flight.
  absl::Status LimitInFlight(int64_t commands);
  // Records the failures of finished work.
  void NoteFailures(const Batch& batch);
  void NoteFailure(absl::Status status);
  // Stores the kernels that the driver has compiled. Requires that all enqueued work is done.
  void KeepCompiled();

  const QueueHandle queue_;
  const bool profiling_;
  std::vector<DeferredWork> deferred_;
  bool is_idle_ = true;  // nothing is in flight except helper threads of a batch run by the host
  Batch batch_;
  std::deque<Batch> closed_;                                  // oldest first
  std::vector<std::shared_ptr<OpenClExecutable>> compiling_;  // launched since KeepCompiled
  absl::Status failure_;                                      // first failure since the last Finish
};

}  // namespace tartan::opencl
