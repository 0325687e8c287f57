// SPDX-License-Identifier: Apache-2.0
// Cancels the work of a thread, such as a compilation for which nobody waits any more. The work
// checks for it at places where it can stop, and returns Cancelled.
//
//   const auto cancellation = std::make_shared<Cancellation>();
//   std::thread thread([=] { Cancellation::Scope scope(cancellation); status = Compile(); });
//   cancellation->Cancel();
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "absl/status/status.h"

namespace tartan {

// Thread-safe.
class Cancellation {
 public:
  void Cancel() { is_cancelled_ = true; }
  bool is_cancelled() const { return is_cancelled_; }

  // Makes a cancellation the one of this thread. Scopes may be nested; the innermost counts.
  class Scope {
   public:
    explicit Scope(std::shared_ptr<const Cancellation> cancellation)
        : outer_(std::exchange(OfThread(), std::move(cancellation))) {}
    ~Scope() { OfThread() = std::move(outer_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<const Cancellation> outer_;
  };

  // The cancellation of this thread; null if nobody can cancel its work.
  static std::shared_ptr<const Cancellation>& OfThread() {
    thread_local std::shared_ptr<const Cancellation> current;
    return current;
  }

 private:
  std::atomic<bool> is_cancelled_{false};
};

// Returns Cancelled if the work of this thread was cancelled.
inline absl::Status CheckCancellation() {
  const auto& current = Cancellation::OfThread();
  if (current == nullptr || !current->is_cancelled()) return absl::OkStatus();
  return absl::CancelledError("the compilation was cancelled");
}

}  // namespace tartan
