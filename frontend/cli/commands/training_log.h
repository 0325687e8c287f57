// SPDX-License-Identifier: Apache-2.0
// The output of a training run: text lines for people, JSON lines for programs, and a page with
// curves at the end.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/cli/context.h"
#include "frontend/train/fit.h"
#include "proto/report.pb.h"

namespace tartan::cli {

class TrainingLog {
 public:
  // Writes JSON lines to the file `path` unless it is empty; `appends` to an existing file. On a
  // terminal, a line shows the current epoch.
  static absl::StatusOr<std::unique_ptr<TrainingLog>> Open(const std::string& path,
                                                           const Context& context, bool appends);
  ~TrainingLog();

  // Adds `memory` to the next line.
  void SetMemory(const train::Trainer::Memory& memory) { memory_ = memory; }
  absl::Status Add(const train::LogLine& line);
  // Writes the last JSON line, and the curves as a page and as a picture if the paths are not
  // empty.
  absl::Status Finish(const proto::TrainReport& report, const std::string& page,
                      const std::string& plot);

 private:
  TrainingLog(std::FILE* file, std::string path, const Context& context);
  absl::Status WriteLine(const google::protobuf::Message& message);

  std::FILE* const file_;  // null: no log file
  const std::string path_;
  const Context& context_;
  const bool is_live_;  // stderr is a terminal
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int64_t first_step_ = -1;
  std::optional<train::Trainer::Memory> memory_;
  std::vector<train::LogLine> lines_;
};

}  // namespace tartan::cli
