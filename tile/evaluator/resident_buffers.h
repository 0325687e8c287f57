// SPDX-License-Identifier: Apache-2.0
// Constants on a device, and what setup steps compute from them: the same memory serves every
// program of a session that reads the same.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"
#include "tile/evaluator/compiled_program.h"

namespace tartan::evaluator {

// What one load has put on a device; it lives as long as some program uses a part of it.
struct ResidentMemory {
  std::map<std::string, hal::BufferPtr> parts;  // by what they hold
  std::vector<HostTensor> constants;            // whose addresses the names of the parts tell
};

// Where programs that are loaded find what others have on the device. Of one device; holds no
// memory itself. Thread-safe: one program is loaded at a time.
class ResidentPool {
 private:
  friend class ResidentLoader;
  std::mutex mutex_;
  std::vector<std::weak_ptr<const ResidentMemory>> memories_;  // guarded by mutex_
};

// What a loaded program holds of it.
struct ResidentBuffers {
  std::vector<hal::BufferPtr> buffers;  // per buffer of the list; null for those runs do not use
  std::vector<std::shared_ptr<const ResidentMemory>> memories;
};

// Uploads `constants`, the values of the program's constant inputs in order, and runs the setup
// steps, as far as the pool lacks what runs use. What only setup steps use is released.
absl::StatusOr<ResidentBuffers> LoadResidentBuffers(const CompiledProgram& program,
                                                    absl::Span<const HostTensor> constants,
                                                    ResidentPool& pool);

}  // namespace tartan::evaluator
