// SPDX-License-Identifier: Apache-2.0
// Writes the progress of a training run for TensorBoard.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/train/fit.h"

namespace tartan::train {

// CRC-32C (Castagnoli), of TFRecord files.
uint32_t Crc32c(absl::string_view bytes);
// A TFRecord: the length, its masked checksum, the bytes, their masked checksum.
std::string RecordOf(absl::string_view bytes);

// An event file; every line of the log becomes one record of scalars.
class EventFile {
 public:
  // Creates the folder if necessary, and a new file in it. Unavailable, naming the path and the
  // system's reason.
  static absl::StatusOr<std::unique_ptr<EventFile>> Open(const std::string& folder);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Adds "train/loss", "train/rate", "train/step_ms" and metrics. Metrics of the validation
  // have names such as "validation/loss". The file is complete after each call.
  absl::Status Add(const LogLine& line);

 private:
  EventFile(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  absl::Status Write(const std::string& event);

  std::FILE* const file_;
  const std::string path_;
};

}  // namespace tartan::train
