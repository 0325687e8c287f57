// SPDX-License-Identifier: Apache-2.0
// Waits for the background in tests, without a clock.
#pragma once

#include <future>
#include <memory>

#include "frontend/api/tiers/background.h"

namespace tartan::api {

// Returns once the background has done what it was asked for before: its task is less urgent than
// any that compiles.
inline void WaitForBackground() {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> is_done = done->get_future();
  Background::OfProcess().Add(
      {[] { return 1e-9; }, [done](const Background::GoOn&) { done->set_value(); }});
  is_done.wait();
}

}  // namespace tartan::api
