// SPDX-License-Identifier: Apache-2.0
#include "distributed/mpi/health_board.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::distributed {
namespace {

constexpr std::chrono::milliseconds kInterval(100);
constexpr int64_t kSilenceMs = 15000;  // after this time without a sign a process counts as stopped
constexpr int64_t kLeftMs = 10000;  // a process that left so long ago takes no part in an operation
constexpr size_t kTextBytes = 1000;

enum State : int32_t { kAbsent, kRunning, kLeft };

// The clock is the same for all processes of a host.
int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

struct HealthBoard::Sign {
  std::atomic<int64_t> last_ms;
  std::atomic<int64_t> left_ms;
  std::atomic<int64_t> rank;
  std::atomic<int32_t> process;
  std::atomic<int32_t> state;
};

struct HealthBoard::Failure {
  std::atomic<int32_t> is_taken;
  std::atomic<int32_t> is_written;
  std::atomic<int64_t> rank;
  char text[kTextBytes];
};

int64_t HealthBoard::Bytes(int64_t local_ranks) {
  return static_cast<int64_t>(sizeof(Failure)) + local_ranks * static_cast<int64_t>(sizeof(Sign));
}

HealthBoard::HealthBoard(void* memory, const Place& place, double longest_wait_s,
                         std::function<void(const std::string& why)> on_failure)
    : failure_(static_cast<Failure*>(memory)),
      signs_(reinterpret_cast<Sign*>(static_cast<uint8_t*>(memory) + sizeof(Failure))),
      place_(place),
      longest_wait_ms_(static_cast<int64_t>(longest_wait_s * 1000)),
      on_failure_(std::move(on_failure)) {
  Sign& own = signs_[place_.local_rank];
  own.rank = place_.rank;
  own.process = getpid();
  own.last_ms = NowMs();
  own.state = kRunning;
  thread_ = std::thread([this] { Watch(); });
}

HealthBoard::~HealthBoard() { StopWatching(); }

void HealthBoard::StopWatching() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HealthBoard::Begin(const char* what) {
  operation_start_ = NowMs();
  operation_ = what;
}

void HealthBoard::End() { operation_ = nullptr; }

void HealthBoard::Leave() {
  Sign& own = signs_[place_.local_rank];
  own.left_ms = NowMs();
  own.state = kLeft;
}

void HealthBoard::Fail(const std::string& why, int64_t rank) {
  if (failure_->is_taken.exchange(1) != 0) return;
  const size_t size = std::min(why.size(), kTextBytes - 1);
  std::memcpy(failure_->text, why.data(), size);
  failure_->text[size] = '\0';
  failure_->rank = rank;
  failure_->is_written = 1;
}

std::string HealthBoard::DescribeRank(const Sign& sign) const {
  return absl::StrCat("rank ", sign.rank.load(), " (process ", sign.process.load(), ")");
}

std::string HealthBoard::FindFailure() const {
  if (failure_->is_written != 0 && failure_->rank != place_.rank) {
    if (failure_->rank < 0) return failure_->text;
    return absl::StrCat("rank ", failure_->rank.load(), " failed: ", failure_->text);
  }
  const int64_t now = NowMs();
  for (int64_t i = 0; i < place_.local_ranks; ++i) {
    const Sign& sign = signs_[i];
    if (i == place_.local_rank || sign.state == kAbsent) continue;
    if (kill(sign.process, 0) != 0 && errno == ESRCH)
      return absl::StrCat(DescribeRank(sign), " was killed, or ended without a message");
    const int64_t silence = now - sign.last_ms;
    if (silence > kSilenceMs)
      return absl::StrCat(DescribeRank(sign), " has not answered for ", silence / 1000,
                          " s: it is stopped");
  }
  const char* const operation = operation_;
  const int64_t waited = now - operation_start_;
  // A process that left waits for the others as long as they work.
  if (operation == nullptr || signs_[place_.local_rank].state == kLeft) return "";
  for (int64_t i = 0; i < place_.local_ranks; ++i) {
    if (signs_[i].state == kLeft && std::min(waited, now - signs_[i].left_ms) > kLeftMs)
      return absl::StrCat(DescribeRank(signs_[i]), " has ended, but rank ", place_.rank,
                          " waits for it in ", operation);
  }
  if (waited <= longest_wait_ms_) return "";
  return absl::StrCat("rank ", place_.rank, " waited for the other ranks for ", waited / 1000,
                      " s in ", operation, " (--collective-timeout)");
}

void HealthBoard::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  int64_t last = NowMs();
  while (!is_ending_) {
    const int64_t now = NowMs();
    signs_[place_.local_rank].last_ms = now;
    // A process that was stopped itself sees old signs of all that were stopped with it.
    const bool was_stopped = now - std::exchange(last, now) > kSilenceMs / 2;
    const std::string failure = was_stopped ? "" : FindFailure();
    if (!failure.empty()) {
      lock.unlock();
      return on_failure_(failure);
    }
    changed_.wait_for(lock, kInterval, [this] { return is_ending_; });
  }
}

}  // namespace tartan::distributed
