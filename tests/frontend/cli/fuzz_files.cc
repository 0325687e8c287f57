// SPDX-License-Identifier: Apache-2.0
// fuzz_files KIND SECONDS SEED FOLDER: reads damaged files of one kind of file_damage.h for
// SECONDS. Writes each to FOLDER/file before reading it, so that this file reproduces a crash. The
// program also ends at a file that takes ten seconds of processor time or gives an internal error.
// fuzz_files KIND FILE: reads one file.
#include <sys/time.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/frontend/cli/file_damage.h"
#include "tests/frontend/onnx/message_damage.h"

namespace {

using tartan::cli::FileKind;

constexpr int kMaxProcessorSeconds = 10;

const FileKind* Find(absl::string_view name) {
  for (const FileKind& kind : tartan::cli::FileKinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

absl::Status Read(const FileKind& kind, const std::string& bytes, const std::string& folder,
                  uint32_t seed) {
  itimerval timer = {};
  timer.it_value.tv_sec = kMaxProcessorSeconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
  absl::Status status = kind.read(bytes, folder, seed);
  setitimer(ITIMER_PROF, nullptr, nullptr);
  return status;
}

bool IsOurs(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInternal ||
         status.code() == absl::StatusCode::kUnknown || (!status.ok() && status.message().empty());
}

int ReadOne(const FileKind& kind, const char* path) {
  std::ostringstream contents;
  contents << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string folder = std::filesystem::temp_directory_path();
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const absl::Status status = Read(kind, contents.str(), folder, seed);
    if (seed == 0 || IsOurs(status)) std::printf("%s\n", status.ToString().c_str());
    if (IsOurs(status)) return 1;
  }
  return 0;
}

int Fuzz(const FileKind& kind, int seconds, uint32_t seed, const std::string& folder) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  const std::vector<std::string> corpus = kind.corpus();
  tartan::onnx::Dice dice(seed);
  std::map<std::string, int64_t> outcomes;
  int64_t tried = 0;
  for (; std::chrono::steady_clock::now() < end; ++tried) {
    std::string bytes = dice.Among(corpus);
    for (size_t times = dice.Below(4) + 1; times > 0; --times) kind.damage(&bytes, &dice);
    std::ofstream(absl::StrCat(folder, "/file"), std::ios::binary | std::ios::trunc) << bytes;
    const absl::Status status =
        Read(kind, bytes, folder, static_cast<uint32_t>(dice.Below(1 << 20)));
    ++outcomes[status.ok() ? "read" : absl::StatusCodeToString(status.code())];
    if (!IsOurs(status)) continue;
    std::fprintf(stderr, "an error of ours: %s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("%lld files:", static_cast<long long>(tried));
  for (const auto& [name, count] : outcomes) {
    std::printf(" %lld %s", static_cast<long long>(count), name.c_str());
  }
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const FileKind* kind = argc > 1 ? Find(argv[1]) : nullptr;
  if (kind == nullptr || (argc != 3 && argc != 5)) {
    std::fprintf(stderr, "usage: fuzz_files npy|png|pb|cache|program SECONDS SEED FOLDER\n");
    return 2;
  }
  std::signal(SIGPROF, [](int) { std::abort(); });
  if (argc == 3) return ReadOne(*kind, argv[2]);
  return Fuzz(*kind, std::atoi(argv[2]), static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10)),
              argv[4]);
}
