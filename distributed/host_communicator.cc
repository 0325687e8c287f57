// SPDX-License-Identifier: Apache-2.0
#include "distributed/host_communicator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/trace.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

// Bytes that are added at once. More need too much pinned memory.
constexpr int64_t kLargestPiece = int64_t{32} << 20;

absl::Status CheckRange(const Range& range) {
  if (range.buffer == nullptr) return absl::InvalidArgumentError("the range has no buffer");
  if (range.offset >= 0 && range.size >= 1 && range.offset <= range.buffer->size() - range.size)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("bytes ", range.offset, " to ",
                                                 range.offset + range.size, " of a buffer of ",
                                                 range.buffer->size(), " bytes"));
}

absl::Status CheckSum(const Range& range, DataType type) {
  TARTAN_RETURN_IF_ERROR(CheckRange(range));
  if (!IsSummable(type))
    return absl::InvalidArgumentError(absl::StrCat(Name(type), " cannot be added over ranks"));
  if (range.size % ByteWidth(type) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(range.size, " bytes are no whole number of ", Name(type)));
}

absl::Status CheckParts(const Range& part, const Range& whole, int64_t ranks) {
  TARTAN_RETURN_IF_ERROR(CheckRange(part));
  TARTAN_RETURN_IF_ERROR(CheckRange(whole));
  if (part.size * ranks == whole.size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(whole.size, " bytes are not ", ranks, " parts of ", part.size, " bytes"));
}

absl::Status CheckRank(int64_t rank, const Place& place, bool may_be_own) {
  if (rank >= 0 && rank < place.ranks && (may_be_own || rank != place.rank))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", place.rank, " of ", place.ranks, " names rank ", rank));
}

}  // namespace

// The end of an operation.
class HostCommunicator::Done : public hal::Event {
 public:
  absl::Status Wait() override {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return is_done_; });
    return status_;
  }
  absl::StatusOr<hal::Timing> GetTiming() override {
    TARTAN_RETURN_IF_ERROR(Wait());
    return timing_;
  }
  void Set(absl::Status status, hal::Timing timing) {
    std::lock_guard<std::mutex> lock(mutex_);
    status_ = std::move(status);
    timing_ = timing;
    is_done_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  absl::Status status_;
  hal::Timing timing_;
};

HostCommunicator::HostCommunicator(std::unique_ptr<HostTransport> transport, JoinDevices join)
    : transport_(std::move(transport)), join_(std::move(join)), thread_([this] { Work(); }) {}

HostCommunicator::~HostCommunicator() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HostCommunicator::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !operations_.empty(); });
    if (operations_.empty()) return;
    Operation operation = std::move(operations_.front());
    operations_.pop_front();
    lock.unlock();
    if (failure_.ok() && operation.after != nullptr) failure_ = operation.after->Wait();
    const int64_t start = NowNs();
    if (failure_.ok()) failure_ = operation.work();
    operation.done->Set(failure_, {start, NowNs()});
    operation = {};
    lock.lock();
  }
}

std::shared_ptr<HostCommunicator::Done> HostCommunicator::Start(std::function<absl::Status()> work,
                                                                hal::EventPtr after) {
  auto done = std::make_shared<Done>();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    operations_.push_back({std::move(work), std::move(after), done});
  }
  changed_.notify_all();
  return done;
}

absl::Status HostCommunicator::OnTransport(
    const std::function<absl::Status(HostTransport& transport)>& work) {
  return Start([&] { return work(*transport_); }, nullptr)->Wait();
}

absl::Status HostCommunicator::Open(const hal::DevicePtr& device) {
  if (join_ == nullptr) return absl::OkStatus();
  return Start(
             [&]() -> absl::Status {
               TARTAN_ASSIGN_OR_RETURN(direct_, join_(*transport_, device));
               device_ = device;
               return absl::OkStatus();
             },
             nullptr)
      ->Wait();
}

absl::StatusOr<hal::BufferPtr> HostCommunicator::Allocate(const hal::DevicePtr& device,
                                                          int64_t bytes) {
  hal::BufferPtr buffer;
  TARTAN_RETURN_IF_ERROR(Start(
                             [&]() -> absl::Status {
                               const bool is_direct = direct_ != nullptr && device == device_;
                               TARTAN_ASSIGN_OR_RETURN(buffer, is_direct ? direct_->Allocate(bytes)
                                                                         : device->Allocate(bytes));
                               return absl::OkStatus();
                             },
                             nullptr)
                             ->Wait());
  return buffer;
}

bool HostCommunicator::IsDirect(const Range& range) const {
  return direct_ != nullptr && direct_->Has(*range.buffer);
}

absl::StatusOr<hal::Queue*> HostCommunicator::QueueOf(const hal::DevicePtr& device) {
  std::unique_ptr<hal::Queue>& queue = queues_[device];
  if (queue == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(queue, device->CreateQueue(/*profiling=*/false));
  }
  return queue.get();
}

absl::StatusOr<HostCommunicator::Staged> HostCommunicator::Stage(const Range& range, int slot,
                                                                 bool reads) {
  const hal::HostMemory view = range.buffer->host_memory();
  if (!view.bytes.empty()) return Staged{view.bytes.subspan(range.offset, range.size), false};
  const hal::DevicePtr& device = range.buffer->device();
  hal::HostMemory& memory = pinned_[{device, slot}];
  if (static_cast<int64_t>(memory.bytes.size()) < range.size) {
    memory = device->AllocateHost(range.size);
    if (memory.owner == nullptr) {
      const auto bytes = std::make_shared<std::vector<uint8_t>>(range.size);
      memory = {absl::MakeSpan(*bytes), bytes};
    }
  }
  const Staged staged{memory.bytes.first(range.size), true};
  if (!reads) return staged;
  TARTAN_ASSIGN_OR_RETURN(hal::Queue* const queue, QueueOf(device));
  TARTAN_RETURN_IF_ERROR(queue->Read(range.buffer, range.offset, staged.bytes));
  return staged;
}

absl::Status HostCommunicator::Store(const Range& range, const Staged& staged) {
  if (!staged.is_copy) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(hal::Queue* const queue, QueueOf(range.buffer->device()));
  TARTAN_RETURN_IF_ERROR(queue->WriteAsync(range.buffer, range.offset, staged.bytes));
  return queue->Finish();
}

absl::StatusOr<hal::EventPtr> HostCommunicator::AllReduce(const Range& range, DataType type,
                                                          hal::EventPtr after) {
  TARTAN_RETURN_IF_ERROR(CheckSum(range, type));
  return Start(
      [this, range, type] {
        return IsDirect(range) ? direct_->AllReduce(range, type) : AddThroughHost(range, type);
      },
      std::move(after));
}

absl::Status HostCommunicator::AddThroughHost(const Range& range, DataType type) {
  for (int64_t done = 0; done < range.size; done += kLargestPiece) {
    const Range piece = {range.buffer, range.offset + done,
                         std::min(kLargestPiece, range.size - done)};
    TARTAN_ASSIGN_OR_RETURN(const Staged staged, Stage(piece, 0, /*reads=*/true));
    TARTAN_RETURN_IF_ERROR(transport_->AllReduce(staged.bytes, type));
    TARTAN_RETURN_IF_ERROR(Store(piece, staged));
  }
  return absl::OkStatus();
}

absl::StatusOr<hal::EventPtr> HostCommunicator::AllGather(const Range& from, const Range& to,
                                                          hal::EventPtr after) {
  TARTAN_RETURN_IF_ERROR(CheckParts(from, to, place().ranks));
  return Start(
      [this, from, to]() -> absl::Status {
        if (IsDirect(from) && IsDirect(to)) return direct_->AllGather(from, to);
        TARTAN_ASSIGN_OR_RETURN(const Staged part, Stage(from, 0, /*reads=*/true));
        TARTAN_ASSIGN_OR_RETURN(const Staged whole, Stage(to, 1, /*reads=*/false));
        TARTAN_RETURN_IF_ERROR(transport_->AllGather(part.bytes, whole.bytes));
        return Store(to, whole);
      },
      std::move(after));
}

absl::StatusOr<hal::EventPtr> HostCommunicator::ReduceScatter(const Range& from, const Range& to,
                                                              DataType type, hal::EventPtr after) {
  TARTAN_RETURN_IF_ERROR(CheckSum(to, type));
  TARTAN_RETURN_IF_ERROR(CheckParts(to, from, place().ranks));
  return Start(
      [this, from, to, type]() -> absl::Status {
        if (IsDirect(from) && IsDirect(to)) return direct_->ReduceScatter(from, to, type);
        TARTAN_ASSIGN_OR_RETURN(const Staged whole, Stage(from, 0, /*reads=*/true));
        TARTAN_ASSIGN_OR_RETURN(const Staged part, Stage(to, 1, /*reads=*/false));
        TARTAN_RETURN_IF_ERROR(transport_->ReduceScatter(whole.bytes, part.bytes, type));
        return Store(to, part);
      },
      std::move(after));
}

absl::StatusOr<hal::EventPtr> HostCommunicator::Broadcast(const Range& range, int64_t root,
                                                          hal::EventPtr after) {
  TARTAN_RETURN_IF_ERROR(CheckRange(range));
  TARTAN_RETURN_IF_ERROR(CheckRank(root, place(), /*may_be_own=*/true));
  return Start(
      [this, range, root]() -> absl::Status {
        if (IsDirect(range)) return direct_->Broadcast(range, root);
        TARTAN_ASSIGN_OR_RETURN(const Staged staged, Stage(range, 0, root == place().rank));
        TARTAN_RETURN_IF_ERROR(transport_->Broadcast(staged.bytes, root));
        return root == place().rank ? absl::OkStatus() : Store(range, staged);
      },
      std::move(after));
}

absl::StatusOr<hal::EventPtr> HostCommunicator::Send(const Range& range, int64_t to,
                                                     hal::EventPtr after) {
  TARTAN_RETURN_IF_ERROR(CheckRange(range));
  TARTAN_RETURN_IF_ERROR(CheckRank(to, place(), /*may_be_own=*/false));
  return Start(
      [this, range, to]() -> absl::Status {
        if (IsDirect(range)) return direct_->Send(range, to);
        TARTAN_ASSIGN_OR_RETURN(const Staged staged, Stage(range, 0, /*reads=*/true));
        return transport_->Send(staged.bytes, to);
      },
      std::move(after));
}

absl::StatusOr<hal::EventPtr> HostCommunicator::Receive(const Range& range, int64_t from,
                                                        hal::EventPtr after) {
  TARTAN_RETURN_IF_ERROR(CheckRange(range));
  TARTAN_RETURN_IF_ERROR(CheckRank(from, place(), /*may_be_own=*/false));
  return Start(
      [this, range, from]() -> absl::Status {
        if (IsDirect(range)) return direct_->Receive(range, from);
        TARTAN_ASSIGN_OR_RETURN(const Staged staged, Stage(range, 0, /*reads=*/false));
        TARTAN_RETURN_IF_ERROR(transport_->Receive(staged.bytes, from));
        return Store(range, staged);
      },
      std::move(after));
}

}  // namespace tartan::distributed
