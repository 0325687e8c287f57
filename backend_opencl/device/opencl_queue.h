// SPDX-License-Identifier: Apache-2.0
// An in-order OpenCL queue that keeps what its work uses alive until the work is done.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "backend_opencl/device/opencl_api.h"
#include "backend_opencl/device/opencl_executable.h"
#include "hal/hal.h"

namespace tartan::opencl {

class OpenClEvent : public hal::Event {
 public:
  OpenClEvent(EventHandle event, bool profiling)
      : event_(std::move(event)), profiling_(profiling) {}

  absl::Status Wait() override;
  absl::StatusOr<hal::Timing> GetTiming() override;
  cl_event event() const { return event_.get(); }

 private:
  const EventHandle event_;
  const bool profiling_;
};

class OpenClQueue : public hal::Queue {
 public:
  static absl::StatusOr<std::unique_ptr<hal::Queue>> Create(hal::DevicePtr device, bool profiling);
  OpenClQueue(hal::DevicePtr device, QueueHandle queue, bool profiling)
      : Queue(std::move(device)), queue_(std::move(queue)), profiling_(profiling) {}
  ~OpenClQueue() override;

 private:
  // What work enqueued between two markers uses. There is no thread and no callback per queue:
  // each full batch ends with a marker, and whoever enqueues drops the batches that are done.
  struct Batch {
    std::vector<std::shared_ptr<const void>> kept;
    std::vector<std::shared_ptr<OpenClEvent>> events;  // looked at for failures
    int64_t commands = 0;
    int64_t staged_bytes = 0;
    EventHandle marker;
  };

  absl::Status DoWrite(const hal::BufferPtr& buffer, int64_t offset,
                       absl::Span<const uint8_t> bytes) override;
  absl::Status DoRead(const hal::BufferPtr& buffer, int64_t offset,
                      absl::Span<uint8_t> bytes) override;
  absl::Status DoWriteLater(const hal::BufferPtr& buffer, int64_t offset,
                            absl::Span<const uint8_t> bytes) override;
  absl::Status DoReadLater(const hal::BufferPtr& buffer, int64_t offset,
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

  // Work that the host may do as well waits until it is clear whether somebody waits for it: then
  // the host does it at once, else it is enqueued.
  struct LaterTransfer {
    hal::BufferPtr buffer;
    int64_t offset = 0;
    uint8_t* host = nullptr;
    int64_t size = 0;
    bool is_read = false;
  };
  using LaterWork = std::variant<LaterTransfer, std::shared_ptr<const OpenClRecording>>;

  // Whether a transfer was put off.
  bool PutOff(const LaterTransfer& transfer);
  // Enqueues what was put off. To be called before anything else is enqueued.
  absl::Status EnqueueLaterWork();
  // The host does what was put off; nothing else is under way.
  absl::Status DoLaterWork();
  absl::Status EnqueueTransfer(const LaterTransfer& transfer);
  absl::Status EnqueueReplay(const std::shared_ptr<const OpenClRecording>& recording,
                             std::vector<hal::EventPtr>* events);
  // All of it at once, or where events are wanted launch by launch.
  template <class Sequence>
  absl::Status EnqueueSequence(Sequence& sequence, std::vector<hal::EventPtr>* events);
  void KeepCompiling(const OpenClRecording& recording);

  // One launch, by a call that gives its event where it is wanted.
  absl::Status Enqueue(absl::string_view what, std::vector<hal::EventPtr>* events,
                       const std::function<cl_int(cl_event*)>& launch);
  // The status of a transfer or fill of `size` bytes. Allocates nothing where it was enqueued: a
  // lack of memory must not part it from what waits for it.
  absl::Status CheckEnqueued(cl_int error, absl::string_view call, int64_t size) const;
  // Errors of memory tell what is free.
  absl::Status NotEnqueued(cl_int error, absl::string_view call) const;
  // After a transfer that does not block: its event is looked at for failures.
  absl::Status KeepTransfer(const hal::BufferPtr& buffer, EventHandle event);
  void Keep(std::shared_ptr<const void> object) { batch_.kept.push_back(std::move(object)); }
  // After each `commands` enqueued: closes the batch when it is full, drops those that are done,
  // waits when there are too many.
  absl::Status LimitInFlight(int64_t commands);
  // Notes the failures of work that is done.
  void NoteFailures(const Batch& batch);
  void NoteFailure(absl::Status status);
  // Everything enqueued has run: what drivers compiled for it is kept.
  void KeepCompiled();

  const QueueHandle queue_;
  const bool profiling_;
  std::vector<LaterWork> later_;
  bool is_idle_ = true;  // nothing was enqueued since the last Finish, but for the host's helpers
  Batch batch_;
  std::deque<Batch> closed_;                                  // oldest first
  std::vector<std::shared_ptr<OpenClExecutable>> compiling_;  // launched since KeepCompiled
  absl::Status failure_;                                      // the first since the last Finish
};

}  // namespace tartan::opencl
