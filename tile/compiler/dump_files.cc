#include "tile/compiler/dump_files.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"

namespace tartan::compiler {

std::function<void(absl::string_view stage, absl::string_view text)> DumpToDirectory(
    std::string directory) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  auto next = std::make_shared<std::atomic<int>>(1);
  return [directory = std::move(directory), next](absl::string_view stage, absl::string_view text) {
    const std::string path = absl::StrFormat("%s/%04d-%s.txt", directory, (*next)++, stage);
    std::ofstream(path) << text;
  };
}

}  // namespace tartan::compiler
