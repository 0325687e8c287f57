// SPDX-License-Identifier: Apache-2.0
// The random numbers of prng(). Each number is a function of the seed and its position alone, so
// that all devices give the same numbers.
//
// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): element i
// is word i mod 4 of the block with the 128-bit counter i / 4 and the seed as key.
#pragma once

#include <array>
#include <cstdint>

namespace tartan::ir {

// `key` is the seed: both words of a uint32[2], or the low and high 32 bits of an integer scalar.
constexpr std::array<uint32_t, 4> PhiloxBlock(uint64_t counter, std::array<uint32_t, 2> key) {
  std::array<uint32_t, 4> x = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                               0, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return x;
}

// The upper 24 bits of element `i`'s word, as a multiple of 2^-24 in [0, 1).
constexpr float RandomUniform(uint64_t i, std::array<uint32_t, 2> key) {
  return static_cast<float>(PhiloxBlock(i / 4, key)[i % 4] >> 8) * 0x1p-24f;
}

}  // namespace tartan::ir
