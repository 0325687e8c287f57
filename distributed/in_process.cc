// SPDX-License-Identifier: Apache-2.0
#include "distributed/in_process.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

using Bytes = std::vector<uint8_t>;

// The memory that the ranks share. All members are guarded by `mutex`.
struct Meeting {
  explicit Meeting(int64_t ranks) : given(static_cast<size_t>(ranks)) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Bytes> given;  // by rank, of the current operation
  int64_t arrived = 0;
  int64_t left = 0;
  int64_t round = 0;
  std::string failure;
  std::map<std::pair<int64_t, int64_t>, std::deque<Bytes>> messages;  // by sender and receiver
};

class InProcessTransport : public HostTransport {
 public:
  InProcessTransport(std::shared_ptr<Meeting> meeting, int64_t rank)
      : meeting_(std::move(meeting)) {
    const auto ranks = static_cast<int64_t>(meeting_->given.size());
    place_ = {rank, ranks, rank, ranks};
  }

  const Place& place() const override { return place_; }

  absl::Status AllReduce(absl::Span<uint8_t> bytes, DataType type) override {
    return Meet(bytes, [&](const std::vector<Bytes>& given) {
      const Bytes sum = Sum(given, type);
      std::copy(sum.begin(), sum.end(), bytes.begin());
    });
  }

  absl::Status AllGather(absl::Span<const uint8_t> from, absl::Span<uint8_t> to) override {
    return Meet(from, [&](const std::vector<Bytes>& given) {
      auto next = to.begin();
      for (const Bytes& part : given) next = std::copy(part.begin(), part.end(), next);
    });
  }

  absl::Status ReduceScatter(absl::Span<const uint8_t> from, absl::Span<uint8_t> to,
                             DataType type) override {
    return Meet(from, [&](const std::vector<Bytes>& given) {
      const Bytes sum = Sum(given, type);
      std::copy_n(sum.begin() + place_.rank * static_cast<int64_t>(to.size()), to.size(),
                  to.begin());
    });
  }

  absl::Status Broadcast(absl::Span<uint8_t> bytes, int64_t root) override {
    return Meet(bytes, [&](const std::vector<Bytes>& given) {
      const Bytes& sent = given[static_cast<size_t>(root)];
      std::copy(sent.begin(), sent.end(), bytes.begin());
    });
  }

  absl::Status Send(absl::Span<const uint8_t> bytes, int64_t to) override {
    std::lock_guard<std::mutex> lock(meeting_->mutex);
    TARTAN_RETURN_IF_ERROR(Failure());
    meeting_->messages[{place_.rank, to}].emplace_back(bytes.begin(), bytes.end());
    meeting_->changed.notify_all();
    return absl::OkStatus();
  }

  absl::Status Receive(absl::Span<uint8_t> bytes, int64_t from) override {
    std::unique_lock<std::mutex> lock(meeting_->mutex);
    std::deque<Bytes>& messages = meeting_->messages[{from, place_.rank}];
    meeting_->changed.wait(lock, [&] { return !messages.empty() || !meeting_->failure.empty(); });
    TARTAN_RETURN_IF_ERROR(Failure());
    std::copy(messages.front().begin(), messages.front().end(), bytes.begin());
    messages.pop_front();
    return absl::OkStatus();
  }

  void Fail(const std::string& why) override {
    std::lock_guard<std::mutex> lock(meeting_->mutex);
    if (meeting_->failure.empty()) meeting_->failure = why;
    meeting_->changed.notify_all();
  }

  absl::Status Finish() override {
    return Meet({}, [](const std::vector<Bytes>&) {});
  }

 private:
  // Requires the mutex.
  absl::Status Failure() const {
    return meeting_->failure.empty() ? absl::OkStatus() : absl::UnavailableError(meeting_->failure);
  }

  static Bytes Sum(const std::vector<Bytes>& given, DataType type) {
    Bytes sum = given[0];
    for (size_t i = 1; i < given.size(); ++i) {
      AddElements(type, given[i].data(), static_cast<int64_t>(sum.size()), sum.data());
    }
    return sum;
  }

  // Gives the bytes, waits for the bytes of the others, calls `take` with all, and waits until each
  // rank has taken.
  absl::Status Meet(absl::Span<const uint8_t> bytes,
                    const std::function<void(const std::vector<Bytes>& given)>& take) {
    std::unique_lock<std::mutex> lock(meeting_->mutex);
    TARTAN_RETURN_IF_ERROR(Failure());
    const int64_t round = meeting_->round;
    meeting_->given[static_cast<size_t>(place_.rank)].assign(bytes.begin(), bytes.end());
    ++meeting_->arrived;
    meeting_->changed.notify_all();
    meeting_->changed.wait(
        lock, [&] { return meeting_->arrived == place_.ranks || !meeting_->failure.empty(); });
    TARTAN_RETURN_IF_ERROR(Failure());
    take(meeting_->given);
    if (++meeting_->left == place_.ranks) {
      meeting_->arrived = meeting_->left = 0;
      ++meeting_->round;
      meeting_->changed.notify_all();
    }
    meeting_->changed.wait(lock,
                           [&] { return meeting_->round > round || !meeting_->failure.empty(); });
    return absl::OkStatus();
  }

  const std::shared_ptr<Meeting> meeting_;
  Place place_;
};

}  // namespace

std::vector<std::unique_ptr<HostTransport>> InProcessRanks(int64_t ranks) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::vector<std::unique_ptr<HostTransport>> transports;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    transports.push_back(std::make_unique<InProcessTransport>(meeting, rank));
  }
  return transports;
}

}  // namespace tartan::distributed
