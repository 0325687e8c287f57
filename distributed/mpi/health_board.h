// SPDX-License-Identifier: Apache-2.0
// Signs of life of the processes of one host, in memory that they share. A thread of each process
// renews its own sign and watches the others: a process that is killed or stopped cannot answer,
// and MPI would let the others wait without end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "distributed/communicator.h"

namespace tartan::distributed {

class HealthBoard {
 public:
  // Bytes of shared memory, zeroed, for the processes of a host.
  static int64_t Bytes(int64_t local_ranks);

  // `on_failure` is called once, on the board's thread, if another process failed.
  // `longest_wait_s`: limit of one collective operation in seconds.
  HealthBoard(void* memory, const Place& place, double longest_wait_s,
              std::function<void(const std::string& why)> on_failure);
  ~HealthBoard();

  // Around each collective operation; `what` has its name.
  void Begin(const char* what);
  void End();
  // Reports a failure to the others: of this process, or of all (`rank` < 0). The first one counts.
  void Fail(const std::string& why, int64_t rank);
  // This process takes part in no further operation but the barrier of all that leave.
  void Leave();
  // After that barrier. The memory is no longer used.
  void StopWatching();

 private:
  struct Sign;
  struct Failure;
  void Watch();
  std::string FindFailure() const;
  std::string DescribeRank(const Sign& sign) const;

  Failure* const failure_;
  Sign* const signs_;
  const Place place_;
  const int64_t longest_wait_ms_;
  const std::function<void(const std::string& why)> on_failure_;
  std::atomic<const char*> operation_{nullptr};
  std::atomic<int64_t> operation_start_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ending_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace tartan::distributed
