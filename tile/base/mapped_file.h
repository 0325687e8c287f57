// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory for reading.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan {

class MappedFile {
 public:
  // NotFound if there is no such file, InvalidArgument for a folder, Unavailable if it cannot be
  // read; the message names `path` and the system's reason. Aborted if the file is larger than this
  // process may read (CheckFileSize).
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Returns whether some mapped file contains all of `bytes`.
  static bool Holds(absl::Span<const uint8_t> bytes);

  // Releases the pages of `bytes` if they are in a mapped file; the next access reads them from the
  // file again. Does nothing for other memory.
  static void ReleasePages(absl::Span<const uint8_t> bytes);

  // Valid as long as this object lives.
  absl::Span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const uint8_t* data, size_t size);

  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tartan
