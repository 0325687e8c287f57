// SPDX-License-Identifier: Apache-2.0
// Reads many tokens at once into a cache with spare capacity, without computing their scores.
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
  kOnDisk,  // exact (shape-specialised) kernels that are compiled already
  kAny,     // kernels of the session's tier, compiled if necessary
};

class ChunkProgram {
 public:
  // Makes a program for `size` tokens. NotFound if the kernels are not compiled, Unimplemented for
  // models that cannot run this way. The model must outlive it.
  static absl::StatusOr<std::unique_ptr<ChunkProgram>> Create(const CacheModel& model,
                                                              const CacheMemory& memory,
                                                              int64_t size, ChunkKernels kernels);
  // Compiles exact kernels into the disk cache in the background, then calls `then`.
  static void CompileLater(std::shared_ptr<const CacheModel> model, int64_t capacity, int64_t size,
                           std::function<void()> then);

  int64_t size() const { return size_; }
  // Writes the rows of up to size() tokens after the first `before`. Shorter inputs are padded with
  // the last token, whose extra rows are in free memory: before + size() must not exceed the
  // capacity. OutOfRange, without running, for a token or position that the model does not have.
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

// Notes about a decoder's chunks in the device's disk cache, valid for the same model and build.
class ChunkNotes {
 public:
  enum class Known {
    kNothing,
    kCompiled,  // exact kernels are compiled
    kRight,     // compiled, and verified against the model (Decoder compares once)
    kWrong,     // compiled, but they differ from the model
  };

  ChunkNotes(std::shared_ptr<const CacheModel> model, int64_t size);
  Known Get(int64_t capacity) const;
  void Set(int64_t capacity, Known known) const;

 private:
  std::string KeyOf(int64_t capacity) const;

  std::shared_ptr<const CacheModel> model_;
  std::string digest_;  // digest of the model and the size
};

}  // namespace tartan::generate
