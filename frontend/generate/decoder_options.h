// SPDX-License-Identifier: Apache-2.0
// How a decoder runs, and where it keeps what it has read.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontend/api/resident/state_session.h"

namespace tartan::generate {

struct DecoderOptions {
  std::vector<api::StatePair> states;  // none: those whose names say so (api::UsualStatePairs)
  api::SessionOptions session;
  int64_t expected = 256;        // tokens that are likely to come, the prompt's among them
  bool appends_in_place = true;  // false: the cache goes through the host
  // Tokens of a prompt that are read at once with kernels that are exact for so many, where these
  // are compiled already; 0: a prompt is read as a whole.
  int64_t chunk = 64;
  bool waits_for_chunks = false;  // they are compiled if need be, by the session's tier
};

// Where what has been read is.
enum class CacheKind {
  kInPlace,  // on the device with room to grow: a step writes what is new behind it
  kStates,   // on the device, in states of one size (recurrent networks)
  kHost,     // handed to each step and taken from it
  kNone,     // a model without a cache: all tokens are read at each step
};
absl::string_view Name(CacheKind kind);

}  // namespace tartan::generate
