// SPDX-License-Identifier: Apache-2.0
// An OpenCL event, and the state of its command.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend_opencl/api/opencl_api.h"
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

// Returns the failure of the event's command, if it has ended with one.
absl::Status FailureOf(cl_event event);

// Returns whether the event's command has ended, also with a failure.
bool IsOver(cl_event event);

}  // namespace tartan::opencl
