// SPDX-License-Identifier: Apache-2.0
// Checks the layers of the project: each folder may include only the folders in the table, which
// follows docs/ARCHITECTURE.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tartan {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

// Each layer with the layers that it may include. Every layer may include proto and tile/base;
// "tile/*" is every part of tile.
const std::map<std::string, std::set<std::string>>& Layers() {
  static const auto& layers = *new std::map<std::string, std::set<std::string>>{
      {"proto", {}},
      {"tile/base", {}},
      {"tile/math", {}},
      {"tile/ir", {"tile/math"}},
      {"tile/lang", {"tile/math", "tile/ir"}},
      {"tile/autodiff", {"tile/math", "tile/ir"}},
      {"tile/graph", {"tile/math", "tile/ir", "tile/poly"}},
      {"tile/poly", {"tile/math", "tile/ir"}},
      {"tile/plan", {"tile/math", "tile/poly"}},
      {"tile/loop", {}},
      {"tile/lower", {"tile/math", "tile/ir", "tile/poly", "tile/plan", "tile/loop"}},
      {"tile/codegen", {"tile/loop"}},
      {"tile/fuse", {"tile/ir", "tile/graph", "tile/poly", "tile/plan"}},
      {"tile/compiler",
       {"tile/math", "tile/ir", "tile/lang", "tile/autodiff", "tile/graph", "tile/poly",
        "tile/plan", "tile/fuse", "tile/loop", "tile/lower", "tile/codegen"}},
      {"hal", {}},
      {"tile/evaluator", {"tile/*", "hal"}},
      {"backend_opencl", {"hal", "tile/codegen"}},
      {"distributed/plan", {}},
      {"frontend/data", {}},
      {"frontend/api", {"tile/*", "hal"}},
      {"frontend/onnx", {"tile/math", "tile/ir", "frontend/api"}},
      {"frontend/train", {"tile/ir", "frontend/data", "frontend/api", "frontend/onnx"}},
      {"frontend/bench", {"tile/*", "hal", "frontend/api"}},
      {"frontend/generate", {"frontend/api", "frontend/onnx"}},
      {"distributed", {"hal", "frontend/api", "frontend/train"}},
      {"frontend/cli",
       {"tile/*", "hal", "backend_opencl", "distributed", "distributed/plan", "frontend/data",
        "frontend/api", "frontend/onnx", "frontend/train", "frontend/bench", "frontend/generate"}},
      {"bench",
       {"tile/*", "hal", "backend_opencl", "frontend/api", "frontend/onnx", "frontend/bench"}},
      {"python",
       {"tile/lang", "tile/compiler", "distributed", "frontend/data", "frontend/api",
        "frontend/onnx", "frontend/train"}},
  };
  return layers;
}

struct Exception {
  std::string file;
  std::string layer;
  std::string reason;
};

const std::vector<Exception>& Exceptions() {
  static const auto& exceptions = *new std::vector<Exception>{
      {"frontend/api/device.cc", "backend_opencl", "the one place that lists the drivers"},
  };
  return exceptions;
}

fs::path SourceRoot() {
  const char* root = std::getenv("TARTAN_SOURCE_DIR");
  return root != nullptr ? root : ".";
}

// Returns "tile/lang" for "tile/lang/parser.h", "hal" for "hal/hal.h", and "" for paths outside the
// project.
std::string LayerOf(const std::string& path) {
  std::string longest;
  for (const auto& [layer, ignored] : Layers()) {
    const bool fits = path.compare(0, layer.size() + 1, layer + "/") == 0;
    if (fits && layer.size() > longest.size()) longest = layer;
  }
  return longest;
}

bool MayInclude(const std::string& file, const std::string& from, const std::string& to) {
  if (from == to || to == "proto" || (to == "tile/base" && from != "proto")) return true;
  const std::set<std::string>& allowed = Layers().at(from);
  if (allowed.count(to) > 0) return true;
  if (allowed.count("tile/*") > 0 && to.compare(0, 5, "tile/") == 0) return true;
  for (const Exception& exception : Exceptions()) {
    if (exception.file == file && exception.layer == to) return true;
  }
  return false;
}

struct Include {
  std::string file;  // relative to the root
  std::string header;
  bool quoted = true;
};

std::vector<Include> AllIncludes() {
  static const std::regex line_form(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  const std::set<std::string> extensions = {".h", ".cc", ".l", ".y"};
  std::vector<Include> includes;
  for (const char* folder :
       {"proto", "tile", "hal", "backend_opencl", "distributed", "frontend", "bench", "python"}) {
    for (const auto& entry : fs::recursive_directory_iterator(SourceRoot() / folder)) {
      if (!entry.is_regular_file() || extensions.count(entry.path().extension()) == 0) continue;
      std::ifstream stream(entry.path());
      std::string line;
      std::smatch match;
      while (std::getline(stream, line)) {
        if (!std::regex_search(line, match, line_form)) continue;
        includes.push_back({fs::relative(entry.path(), SourceRoot()).generic_string(), match[2],
                            match[1] == "\""});
      }
    }
  }
  return includes;
}

TEST(IncludeRule, NothingIncludesUpward) {
  std::vector<std::string> offences;
  for (const Include& include : AllIncludes()) {
    const std::string from = LayerOf(include.file);
    const std::string to = LayerOf(include.header);
    if (from.empty()) offences.push_back(include.file + " is in no layer");
    if (from.empty() || to.empty() || MayInclude(include.file, from, to)) continue;
    offences.push_back(include.file + " includes " + include.header);
  }
  EXPECT_THAT(offences, IsEmpty());
}

TEST(IncludeRule, FoldersDoNotIncludeEachOther) {
  std::set<std::pair<std::string, std::string>> folders;
  for (const Include& include : AllIncludes()) {
    const std::string from = fs::path(include.file).parent_path().generic_string();
    const std::string to = fs::path(include.header).parent_path().generic_string();
    if (include.quoted && from != to) folders.emplace(from, to);
  }
  std::vector<std::string> mutual;
  for (const auto& [from, to] : folders) {
    if (from < to && folders.count({to, from}) > 0) mutual.push_back(from + " and " + to);
  }
  EXPECT_THAT(mutual, IsEmpty());
}

// Decisions about launches then compare plans of one kind (tile/fuse/README.md). Tuning and
// benchmarks are above the compiler.
TEST(IncludeRule, OnlyTheJudgeOfTheCompilerIncludesPlanners) {
  static const std::regex planners(
      "tile/plan/(select/(select_plan|select_packing|ready_plan)|gpu/"
      "(gpu_candidates|few_rows_search)|"
      "matrix/(dual_gemm|split_k|matrix_search)|rows/(plan_\\w+|row_group_planners))"
      "\\.h");
  std::vector<std::string> offences;
  int allowed = 0;
  for (const Include& include : AllIncludes()) {
    const std::string layer = LayerOf(include.file);
    if (layer != "tile/compiler" && layer != "tile/fuse") continue;
    if (!std::regex_match(include.header, planners)) continue;
    const bool is_judge = include.file.rfind("tile/fuse/judge", 0) == 0;
    if (!is_judge) offences.push_back(include.file + " includes " + include.header);
    allowed += is_judge;
  }
  EXPECT_THAT(offences, IsEmpty());
  EXPECT_GT(allowed, 5);
}

TEST(IncludeRule, EveryLayerIsAFolder) {
  for (const auto& [layer, ignored] : Layers()) {
    EXPECT_TRUE(fs::is_directory(SourceRoot() / layer)) << layer;
  }
}

TEST(IncludeRule, EveryExceptionIsNeeded) {
  const std::vector<Include> includes = AllIncludes();
  for (const Exception& exception : Exceptions()) {
    bool needed = false;
    for (const Include& include : includes) {
      needed |= include.file == exception.file && LayerOf(include.header) == exception.layer;
    }
    EXPECT_TRUE(needed) << exception.file << ": " << exception.reason;
  }
}

TEST(IncludeRule, HeadersAreNamedByTheirFullPath) {
  std::vector<std::string> offences;
  for (const Include& include : AllIncludes()) {
    const bool known = !LayerOf(include.header).empty() || include.header.rfind("absl/", 0) == 0;
    if (include.quoted && !known) offences.push_back(include.file + ": " + include.header);
  }
  EXPECT_THAT(offences, IsEmpty());
}

TEST(IncludeRule, ALibraryStaysWhereItBelongs) {
  const std::map<std::string, std::set<std::string>> homes = {
      {"CL/", {"backend_opencl"}},
      {"CLI/", {"frontend/cli"}},
      {"jerror.h", {"frontend/data"}},
      {"jpeglib.h", {"frontend/data"}},
      {"png.h", {"frontend/data"}},
      {"re2/", {"bench", "frontend/cli", "frontend/generate", "frontend/onnx", "frontend/train"}},
      {"zlib.h", {"frontend/data"}}};
  std::vector<std::string> offences;
  for (const Include& include : AllIncludes()) {
    // Peer libraries for benchmarks, each in a separate shared object.
    if (include.file.rfind("bench/peers/", 0) == 0) continue;
    for (const auto& [header, layers] : homes) {
      if (include.header.rfind(header, 0) != 0 || layers.count(LayerOf(include.file)) > 0) continue;
      offences.push_back(include.file + ": " + include.header);
    }
  }
  EXPECT_THAT(offences, IsEmpty());
}

// Returns the path without extension, which identifies a header and its source.
std::string ComponentOf(const std::string& path) {
  return fs::path(path).replace_extension().generic_string();
}

using IncludeGraph = std::map<std::string, std::set<std::string>>;

bool Reaches(const IncludeGraph& graph, const std::string& from, const std::string& to,
             std::set<std::string>* seen) {
  const auto it = graph.find(from);
  if (it == graph.end()) return false;
  for (const std::string& next : it->second) {
    if (next == to) return true;
    if (seen->insert(next).second && Reaches(graph, next, to, seen)) return true;
  }
  return false;
}

TEST(IncludeRule, TheTableItselfPointsDownward) {
  IncludeGraph below;
  for (const auto& [from, allowed] : Layers()) {
    for (const auto& [to, ignored] : Layers()) {
      const bool is_tile = to.compare(0, 5, "tile/") == 0 && allowed.count("tile/*") > 0;
      if (from != to && (is_tile || allowed.count(to) > 0)) below[from].insert(to);
    }
  }
  for (const auto& [layer, allowed] : below) {
    std::set<std::string> seen;
    EXPECT_FALSE(Reaches(below, layer, layer, &seen)) << layer << " is below itself";
  }
}

TEST(IncludeRule, NoComponentIncludesItselfByWayOfOthers) {
  IncludeGraph graph;
  for (const Include& include : AllIncludes()) {
    if (LayerOf(include.header).empty()) continue;
    const std::string from = ComponentOf(include.file);
    const std::string to = ComponentOf(include.header);
    if (from != to) graph[from].insert(to);
  }
  std::vector<std::string> circular;
  for (const auto& [component, included] : graph) {
    std::set<std::string> seen;
    if (Reaches(graph, component, component, &seen)) circular.push_back(component);
  }
  EXPECT_THAT(circular, IsEmpty());
}

}  // namespace
}  // namespace tartan
