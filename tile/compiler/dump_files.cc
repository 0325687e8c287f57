// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/dump_files.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"

namespace tartan::compiler {
namespace {

// Returns false, with errno set, on failure.
bool WriteFile(const std::string& path, absl::string_view text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  const bool is_closed = std::fclose(file) == 0;  // a full disk fails here
  if (!is_written) errno = error;
  return is_written && is_closed;
}

// State shared by all dumps into one directory: the next number, and whether a failure was
// reported.
struct Files {
  std::string directory;
  std::atomic<int> next{1};
  std::atomic<bool> reported_failure{false};
};

}  // namespace

std::function<void(absl::string_view stage, absl::string_view text)> DumpToDirectory(
    std::string directory) {
  std::error_code ignored;  // writing the first file will report it
  std::filesystem::create_directories(directory, ignored);
  auto files = std::make_shared<Files>();
  files->directory = std::move(directory);
  return [files](absl::string_view stage, absl::string_view text) {
    const std::string path =
        absl::StrFormat("%s/%04d-%s.txt", files->directory, files->next++, stage);
    if (WriteFile(path, text)) return;
    const int error = errno;
    if (files->reported_failure.exchange(true)) return;
    absl::FPrintF(stderr, "tartan: cannot write the dump %s: %s\n", path, std::strerror(error));
  };
}

}  // namespace tartan::compiler
