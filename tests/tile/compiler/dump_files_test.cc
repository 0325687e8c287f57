// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/dump_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/backend_opencl/temporary_directory.h"

namespace tartan::compiler {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Returns the messages on stderr when two stages are written into `directory`.
std::string Told(const std::string& directory) {
  testing::internal::CaptureStderr();
  const auto dump = DumpToDirectory(directory);
  dump("program", "first");
  dump("graph", "second");
  return testing::internal::GetCapturedStderr();
}

TEST(DumpFiles, AreNumbered) {
  const TemporaryDirectory directory;
  const std::string folder = directory.path() + "/new/folder";
  EXPECT_EQ(Told(folder), "");
  EXPECT_EQ(ReadFile(folder + "/0001-program.txt"), "first");
  EXPECT_EQ(ReadFile(folder + "/0002-graph.txt"), "second");
}

TEST(DumpFiles, TellOnceWhatCannotBeWrittenAndWhy) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "no folder";
  const std::string told = Told(file);
  EXPECT_NE(told.find(file + "/0001-program.txt"), std::string::npos) << told;
  EXPECT_NE(told.find("Not a directory"), std::string::npos) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

TEST(DumpFiles, TellThatADiskIsFull) {
  const TemporaryDirectory directory;
  // /dev/full accepts no byte.
  const std::string full = directory.path() + "/0001-program.txt";
  std::filesystem::create_symlink("/dev/full", full);
  const std::string told = Told(directory.path());
  EXPECT_NE(told.find(full), std::string::npos) << told;
  EXPECT_NE(told.find("No space left on device"), std::string::npos) << told;
  EXPECT_EQ(ReadFile(directory.path() + "/0002-graph.txt"), "second") << "later ones are written";
}

}  // namespace
}  // namespace tartan::compiler
