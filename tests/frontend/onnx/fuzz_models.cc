// SPDX-License-Identifier: Apache-2.0
// fuzz_models SECONDS SEED FOLDER [CASES…]: loads, binds and runs damaged models for SECONDS. The
// models come from the official cases and from the folders CASES. Writes each model to FOLDER/model
// before loading it, so that this file reproduces a crash. The program also ends at a model that
// takes 100 seconds of processor time or gives an internal error.
// fuzz_models FILE: runs one model.
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/frontend/onnx/model_fuzzer.h"
#include "tests/frontend/onnx/run_damaged.h"

namespace {

using tartan::onnx::OnnxModel;

constexpr int kMaxProcessorSeconds = 100;
constexpr unsigned kMaxSeconds = 600;
// Size limit in bytes of the models of CASES; the official cases are smaller.
constexpr size_t kMaxBytes = 1 << 14;
constexpr size_t kMaxBytesOfCases = 1 << 19;

// Creates the targets of external data, some of them out of bounds.
void MakePlaces(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;  // ignores folders that exist
  fs::create_directories(folder / "sub", error);
  for (const char* name : {"data", "sub/data"}) {
    std::ofstream(folder / name) << std::string(1 << 16, '\1');
  }
  fs::create_symlink("/etc/passwd", folder / "link", error);
  fs::create_directory_symlink("/etc", folder / "sub/link", error);
  fs::create_symlink("/dev/zero", folder / "zeros", error);
  fs::create_symlink("loop", folder / "loop", error);
  mkfifo((folder / "pipe").c_str(), 0600);
}

// Sends SIGPROF after that much processor time, or SIGALRM after that much elapsed time; 0 disables
// a timer.
void SetTimers(int processor_seconds, unsigned seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = processor_seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(seconds);
}

absl::Status Try(const std::string& path, const std::string& bytes) {
  SetTimers(kMaxProcessorSeconds, kMaxSeconds);
  const auto run = [&]() -> absl::Status {
    const absl::StatusOr<std::shared_ptr<const OnnxModel>> model = OnnxModel::Load(path);
    if (!model.ok()) return model.status();
    return tartan::onnx::RunDamaged(**model, tartan::onnx::SeedOf(bytes));
  };
  absl::Status status = run();
  SetTimers(0, 0);
  return status;
}

bool IsOurs(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInternal ||
         status.code() == absl::StatusCode::kUnknown || (!status.ok() && status.message().empty());
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

int TryOne(const std::string& path) {
  const absl::Status status = Try(path, ReadFile(path));
  std::printf("%s\n", status.ToString().c_str());
  return IsOurs(status) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (int signal : {SIGALRM, SIGPROF}) std::signal(signal, [](int) { std::abort(); });
  if (argc == 2) return TryOne(argv[1]);
  if (argc < 4) {
    std::fprintf(stderr, "usage: fuzz_models SECONDS SEED FOLDER [CASES...]\n");
    return 2;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  std::vector<std::string> corpus = tartan::onnx::ReadOfficialModels(kMaxBytes);
  for (int i = 4; i < argc; ++i) {
    for (std::string& bytes : tartan::onnx::ReadModels(argv[i], kMaxBytesOfCases)) {
      corpus.push_back(std::move(bytes));
    }
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "there are no cases to begin with\n");
    return 2;
  }
  std::printf("beginning with %zu models\n", corpus.size());
  tartan::onnx::ModelFuzzer fuzzer(std::move(corpus),
                                   static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)));
  MakePlaces(argv[3]);
  const std::string path = absl::StrCat(argv[3], "/model");
  std::map<std::string, long> outcomes;
  long tried = 0;
  for (; std::chrono::steady_clock::now() < end; ++tried) {
    const std::string bytes = fuzzer.Next();
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const absl::Status status = Try(path, bytes);
    ++outcomes[status.ok() ? "run" : absl::StatusCodeToString(status.code())];
    if (!IsOurs(status)) continue;
    std::fprintf(stderr, "an error of ours: %s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("%ld models:", tried);
  for (const auto& [name, count] : outcomes) std::printf(" %ld %s,", count, name.c_str());
  std::printf(" by");
  for (const auto& count : fuzzer.counts()) {
    std::printf(" %s %ld", count.name.c_str(), static_cast<long>(count.times));
  }
  std::printf("\n");
  return 0;
}
