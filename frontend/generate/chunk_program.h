// SPDX-License-Identifier: Apache-2.0
// Reads many tokens at once into a cache with room; their scores are not computed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/generate/cache_memory.h"
#include "frontend/generate/cache_program.h"

namespace tartan::generate {

enum class ChunkKernels {
  kOnDisk,  // exact ones that are compiled already
  kAny,     // those of the session's tier, which are waited for
};

class ChunkProgram {
 public:
  // For `size` tokens. NotFound where the kernels are not there, Unimplemented for models that
  // cannot be run so. The model lives longer.
  static absl::StatusOr<std::unique_ptr<ChunkProgram>> Create(const CacheModel& model,
                                                              const CacheMemory& memory,
                                                              int64_t size, ChunkKernels kernels);
  // Has the background compile exact kernels into the disk cache, and calls `then` once they are
  // there.
  static void CompileLater(std::shared_ptr<const CacheModel> model, int64_t capacity, int64_t size,
                           std::function<void()> then);

  int64_t size() const { return size_; }
  // Writes the rows of at most size() tokens behind the first `before`; fewer are made up with more
  // of the last one, whose rows lie in what is free: before + size() must be at most the memory's
  // capacity. OutOfRange for a token or a position that the model does not have: nothing is run.
  absl::Status Read(absl::Span<const int64_t> tokens, int64_t before);

 private:
  ChunkProgram(const CacheModel& model, int64_t capacity, int64_t size)
      : model_(model), capacity_(capacity), size_(size) {}

  const CacheModel& model_;
  const int64_t capacity_;
  const int64_t size_;
  CacheProgram bound_;
  std::unique_ptr<api::DeviceProgram> program_;
};

// What is known of chunks of a decoder: kept in the device's disk cache for as long as the model is
// the same and so is this library.
class ChunkNotes {
 public:
  enum class Known {
    kNothing,
    kCompiled,  // exact kernels are there
    kRight,     // and they read what the model reads (Decoder compares once)
    kWrong,     // or they do not
  };

  ChunkNotes(std::shared_ptr<const CacheModel> model, int64_t size);
  Known Get(int64_t capacity) const;
  void Set(int64_t capacity, Known known) const;

 private:
  std::string KeyOf(int64_t capacity) const;

  std::shared_ptr<const CacheModel> model_;
  std::string digest_;  // of the model and the size
};

}  // namespace tartan::generate
