// SPDX-License-Identifier: Apache-2.0
// Lets a test wait for the process's background thread without a clock.
#pragma once

#include <future>
#include <memory>

#include "frontend/api/background/background.h"

namespace tartan::api {

// Returns once the background has finished its earlier tasks. It adds a task of lower priority than
// every compilation and waits for it.
inline void WaitForBackground() {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> is_done = done->get_future();
  Background::OfProcess().Add(
      {[] { return 1e-9; }, [done](const Background::ContinueCallback&) { done->set_value(); }});
  is_done.wait();
}

}  // namespace tartan::api
