// Runs calls on a device. Internal to frontend/api.
#pragma once

#include <memory>
#include <mutex>

#include "frontend/api/device.h"
#include "frontend/api/repeat.h"
#include "frontend/api/run_statistics.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {

// Of one call, whose body it compiles once. Thread-safe; `statistics` is used by the first call
// only.
class DeviceRunner final : public CallRunner {
 public:
  DeviceRunner(const Device& device, RunStatistics* statistics)
      : device_(device), statistics_(statistics) {}
  absl::StatusOr<std::vector<HostTensor>> Repeat(const RepeatBody& body,
                                                 absl::Span<const HostTensor> operands) override;

 private:
  absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>> Program(const RepeatBody& body);

  const Device& device_;
  std::mutex mutex_;
  RunStatistics* statistics_;  // null after the first call
  std::shared_ptr<evaluator::LoadedProgram> program_;
};

}  // namespace tartan::api
