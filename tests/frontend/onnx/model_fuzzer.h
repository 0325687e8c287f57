// SPDX-License-Identifier: Apache-2.0
// Damages ONNX models at random, for tests that expect a correct result or a clean error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/frontend/onnx/message_damage.h"

namespace tartan::onnx {

struct Material;

// Generates serialised models from a corpus by applying a few kinds of damage to each. The damage
// ranges from numbers at their limits to nested loops and functions that call each other. A seed
// determines the models.
class ModelFuzzer {
 public:
  ModelFuzzer(std::vector<std::string> corpus, uint32_t seed);
  ~ModelFuzzer();
  std::string Next();

  // The number of times that a kind of damage was applied.
  struct Count {
    std::string name;
    int64_t times = 0;
  };
  const std::vector<Count>& counts() const { return counts_; }

 private:
  const std::vector<std::string> corpus_;
  const std::unique_ptr<const Material> material_;
  Dice dice_;
  std::vector<Count> counts_;
};

// Reads the models of the cases in the folder `root`, serialised, up to `max_bytes` each with their
// inputs. The inputs of a case become initializers of the same names, so that the fuzzer can damage
// their values.
std::vector<std::string> ReadModels(const std::string& root, size_t max_bytes);

// Reads the models of the official ONNX cases.
std::vector<std::string> ReadOfficialModels(size_t max_bytes);

}  // namespace tartan::onnx
