// SPDX-License-Identifier: Apache-2.0
// Damages models, to see that each ends in one error or is right after all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/frontend/onnx/message_damage.h"

namespace tartan::onnx {

struct Material;

// Serialised models like those it is given, each damaged in a few of many ways: from numbers at
// their limits to nests of loops and functions that call each other. The same seed gives the same
// models.
class ModelFuzzer {
 public:
  ModelFuzzer(std::vector<std::string> corpus, uint32_t seed);
  ~ModelFuzzer();
  std::string Next();

  // How often each kind of damage was done.
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

// Serialised models of the cases in the folder `root`, as far as they have at most `max_bytes` with
// the inputs they come with: those are initialisers of the same names, so that the model knows
// their values and they can be damaged.
std::vector<std::string> ReadModels(const std::string& root, size_t max_bytes);

// Those of the official cases.
std::vector<std::string> ReadOfficialModels(size_t max_bytes);

}  // namespace tartan::onnx
