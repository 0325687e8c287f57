// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/lang/tile_text.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::lang {
namespace {

std::filesystem::path SourceDir() {
  const char* directory = std::getenv("TARTAN_SOURCE_DIR");
  return directory != nullptr ? directory : ".";
}

}  // namespace

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> TileFiles(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(SourceDir() / folder)) {
    if (entry.path().extension() == ".tile") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string Header(const std::string& text, const std::string& key) {
  const std::string start = "// " + key + ": ";
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, start)) return std::string(line.substr(start.size()));
  }
  return "";
}

std::vector<TensorShape> HeaderShapes(const std::string& text) {
  std::vector<TensorShape> shapes;
  if (!absl::StrContains(text, "// shapes:")) return shapes;
  for (const absl::string_view item : absl::StrSplit(Header(text, "shapes"), ';')) {
    TensorShape shape{DataType::kFloat32, {}};
    for (const absl::string_view size : absl::StrSplit(absl::StripAsciiWhitespace(item), 'x')) {
      int64_t value = 0;
      if (absl::SimpleAtoi(size, &value)) shape.dims.push_back(value);
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

absl::StatusOr<ir::Program> ParseAndBind(const std::string& text,
                                         const std::vector<TensorShape>& shapes,
                                         const std::string& file) {
  absl::StatusOr<Function> function = Parse(text, file);
  if (!function.ok()) return function.status();
  BindOptions options;
  options.file = file;
  options.text = text;
  return Bind(*function, shapes, options);
}

}  // namespace tartan::lang
