// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/initialize.h"

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace tartan::train {
namespace {

// FNV-1a hash, the same on every platform.
uint64_t Hash(const std::string& text, uint64_t seed) {
  uint64_t hash = 14695981039346656037ULL ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ULL;
  return hash;
}

// Uniform in [0, 1).
double Uniform(std::mt19937_64& words) { return static_cast<double>(words() >> 11) * 0x1p-53; }

double Normal(std::mt19937_64& words) {
  const double radius = std::sqrt(-2 * std::log(1 - Uniform(words)));
  return radius * std::cos(2 * std::numbers::pi * Uniform(words));
}

}  // namespace

HostTensor InitialValue(const Parameter& parameter, uint64_t seed) {
  std::mt19937_64 words(Hash(parameter.name, seed));
  std::vector<uint8_t> bytes(static_cast<size_t>(parameter.shape.byte_size()));
  const double bound = std::sqrt(3.0 / static_cast<double>(parameter.fan_in));
  for (int64_t i = 0; i < parameter.shape.element_count(); ++i) {
    double value = 0;
    switch (parameter.role) {
      case Role::kWeight:
        value = bound * (2 * Uniform(words) - 1);
        break;
      case Role::kEmbedding:
        value = 0.02 * Normal(words);
        break;
      case Role::kFactorA:
        value = Normal(words) / std::sqrt(static_cast<double>(parameter.fan_in));
        break;
      case Role::kScale:
      case Role::kVariance:
        value = 1;
        break;
      case Role::kBias:
      case Role::kStatistics:
      case Role::kFactorB:
        break;
    }
    StoreElement(parameter.shape.type, value, i, bytes.data());
  }
  return HostTensor(parameter.shape, bytes);
}

}  // namespace tartan::train
