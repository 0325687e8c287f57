// SPDX-License-Identifier: Apache-2.0
// Device memory for constants, and for values that setup steps compute from them. Programs of a
// session that use equal contents share it.
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

// The memory that one load has allocated on a device; it lives as long as some program uses a part
// of it.
struct ResidentMemory {
  std::map<std::string, hal::BufferPtr> parts;  // by resident name (resident_names.h)
  std::vector<HostTensor> constants;            // kept alive, because names contain their addresses
};

// Finds memory that other loaded programs have on the same device. Owns no memory itself.
// Thread-safe: programs are loaded one at a time.
class ResidentPool {
 private:
  friend class ResidentLoader;
  std::mutex mutex_;
  std::vector<std::weak_ptr<const ResidentMemory>> memories_;  // guarded by mutex_
};

// The resident memory that a loaded program uses.
struct ResidentBuffers {
  std::vector<hal::BufferPtr> buffers;  // per buffer of the list; null if executions do not use it
  std::vector<std::shared_ptr<const ResidentMemory>> memories;
};

// Uploads `constants` (the values of the program's constant inputs, in order) and executes the
// setup steps, unless the pool has the result. Memory that only setup steps use is released.
absl::StatusOr<ResidentBuffers> LoadResidentBuffers(const CompiledProgram& program,
                                                    absl::Span<const HostTensor> constants,
                                                    ResidentPool& pool);

}  // namespace tartan::evaluator
