// SPDX-License-Identifier: Apache-2.0
// Runs the fuzz target without a fuzzing engine, on random mutations of a folder's files. Usage:
// fuzz_tile FOLDER SECONDS SEED CRASH_FILE. CRASH_FILE contains the current text and is removed at
// the end.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::vector<std::string> ReadFolder(const char* folder) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& texts, uint64_t seed) : texts_(texts), random_(seed) {}

  std::string Next() {
    std::string text = Any();
    for (int changes = 1 + Below(6); changes > 0; --changes) Change(text);
    return text;
  }

 private:
  int Below(size_t n) { return n == 0 ? 0 : static_cast<int>(random_() % n); }
  const std::string& Any() { return texts_[Below(texts_.size())]; }

  void Change(std::string& text) {
    static constexpr const char* kPieces[] = {"[",
                                              "]",
                                              "(",
                                              ")",
                                              "{",
                                              "}",
                                              ";",
                                              ",",
                                              ":",
                                              "=",
                                              "+(",
                                              ">(",
                                              "?",
                                              "-",
                                              "/",
                                              "%",
                                              "==",
                                              "9223372036854775807",
                                              "0",
                                              "1e300",
                                              "A",
                                              "N",
                                              "i",
                                              "2*i",
                                              "default ",
                                              "no_defract ",
                                              "[[name(x)]] ",
                                              "custom_gradient(",
                                              "stop_gradient(",
                                              "function ",
                                              "as_int(",
                                              "gather("};
    const int at = Below(text.size() + 1);
    const int length = Below(std::min<size_t>(text.size() - at, 12) + 1);
    switch (Below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, kPieces[Below(std::size(kPieces))]);
        break;
      case 2:
        text.insert(Below(text.size() + 1), text.substr(at, length));
        break;
      case 3: {
        const std::string& other = Any();
        text.insert(at, other.substr(Below(other.size() + 1), Below(60)));
        break;
      }
      default:
        if (at < static_cast<int>(text.size())) text[at] = static_cast<char>(Below(256));
    }
  }

  const std::vector<std::string>& texts_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: fuzz_tile FOLDER SECONDS SEED CRASH_FILE\n");
    return 2;
  }
  const std::vector<std::string> texts = ReadFolder(argv[1]);
  Mutator mutator(texts, std::strtoull(argv[3], nullptr, 10));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoll(argv[2]));
  int64_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const std::string text = mutator.Next();
    std::ofstream(argv[4], std::ios::binary) << text;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
  std::filesystem::remove(argv[4]);
  std::printf("%lld texts\n", static_cast<long long>(runs));
  return 0;
}
