// fuzz_models SECONDS SEED FILE: loads and binds damaged models for so long. Each model is written
// to FILE before it is tried, so that after a crash the file holds the culprit; one that takes
// longer than 20 seconds ends the program too.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/frontend/onnx/model_fuzzer.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: fuzz_models SECONDS SEED FILE\n");
    return 2;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  std::vector<std::string> corpus = tartan::onnx::ReadSmallModels(1 << 14);
  if (corpus.empty()) {
    std::fprintf(stderr, "there are no official cases to begin with\n");
    return 2;
  }
  tartan::onnx::ModelFuzzer fuzzer(std::move(corpus),
                                   static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)));
  long tried = 0;
  long fine = 0;
  while (std::chrono::steady_clock::now() < end) {
    const std::string bytes = fuzzer.Next();
    std::ofstream(argv[3], std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    alarm(20);
    fine += tartan::onnx::LoadAndBind(bytes).ok();
    alarm(0);
    ++tried;
  }
  std::printf("%ld models tried, %ld of them still right\n", tried, fine);
  return 0;
}
