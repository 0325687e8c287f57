// SPDX-License-Identifier: Apache-2.0
// Options of a decoder, and the kinds of its cache.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontend/api/resident/state_session.h"

namespace tartan::generate {

struct DecoderOptions {
  std::vector<api::StatePair> states;  // empty: recognised by their names (api::UsualStatePairs)
  api::SessionOptions session;
  int64_t expected = 256;        // expected total number of tokens, including the prompt
  bool appends_in_place = true;  // false: the cache is copied through the host
  // Number of prompt tokens to read at once with exact (shape-specialised) kernels, if these are
  // compiled already; 0: the prompt is read as a whole.
  int64_t chunk = 64;
  bool waits_for_chunks = false;  // compile chunks if necessary, with the session's tier
};

// The location of the cache.
enum class CacheKind {
  kInPlace,  // device memory with spare capacity; each step appends rows
  kStates,   // device memory, states of fixed size (recurrent networks)
  kHost,     // host memory, copied to and from the device at each step
  kNone,     // no cache: each step reads all tokens
};
absl::string_view Name(CacheKind kind);

}  // namespace tartan::generate
