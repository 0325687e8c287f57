// SPDX-License-Identifier: Apache-2.0
// Operations on device memory through the host: a thread copies to pinned host memory, lets the
// transport work on it, and copies back. Devices that share the host's memory need no copies.
// Ranges of Allocate go through a transport between devices instead, if there is one.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "distributed/communicator.h"
#include "distributed/device_transport.h"
#include "distributed/host_transport.h"
#include "hal/hal.h"

namespace tartan::distributed {

class HostCommunicator : public Communicator {
 public:
  // Without `join`, all operations go through the host.
  explicit HostCommunicator(std::unique_ptr<HostTransport> transport, JoinDevices join = nullptr);
  // Executes the started operations first.
  ~HostCommunicator() override;

  const Place& place() const override { return transport_->place(); }
  absl::Status Open(const hal::DevicePtr& device) override;
  // The transport that Open has joined the devices by; null: the host.
  const DeviceTransport* direct() const { return direct_.get(); }
  absl::StatusOr<hal::BufferPtr> Allocate(const hal::DevicePtr& device, int64_t bytes) override;
  absl::StatusOr<hal::EventPtr> AllReduce(const Range& range, DataType type,
                                          hal::EventPtr after) override;
  absl::StatusOr<hal::EventPtr> AllGather(const Range& from, const Range& to,
                                          hal::EventPtr after) override;
  absl::StatusOr<hal::EventPtr> ReduceScatter(const Range& from, const Range& to, DataType type,
                                              hal::EventPtr after) override;
  absl::StatusOr<hal::EventPtr> Broadcast(const Range& range, int64_t root,
                                          hal::EventPtr after) override;
  absl::StatusOr<hal::EventPtr> Send(const Range& range, int64_t to, hal::EventPtr after) override;
  absl::StatusOr<hal::EventPtr> Receive(const Range& range, int64_t from,
                                        hal::EventPtr after) override;

  // Calls `work` with the transport, in order with the other operations, and waits for it.
  absl::Status OnTransport(const std::function<absl::Status(HostTransport& transport)>& work);
  // May be called from any thread.
  void Fail(const std::string& why) { transport_->Fail(why); }

 private:
  class Done;
  struct Operation {
    std::function<absl::Status()> work;
    hal::EventPtr after;
    std::shared_ptr<Done> done;
  };
  // The bytes of a range in host memory: the buffer itself, or pinned memory.
  struct Staged {
    absl::Span<uint8_t> bytes;
    bool is_copy = false;
  };

  std::shared_ptr<Done> Start(std::function<absl::Status()> work, hal::EventPtr after);
  void Work();
  // These run on the thread. Ranges that are in use at the same time have different slots.
  bool IsDirect(const Range& range) const;
  absl::Status AddThroughHost(const Range& range, DataType type);
  absl::StatusOr<Staged> Stage(const Range& range, int slot, bool reads);
  absl::Status Store(const Range& range, const Staged& staged);
  absl::StatusOr<hal::Queue*> QueueOf(const hal::DevicePtr& device);

  const std::unique_ptr<HostTransport> transport_;
  const JoinDevices join_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> operations_;  // guarded by mutex_
  bool is_ending_ = false;            // guarded by mutex_

  // Set by Open; used by the thread.
  hal::DevicePtr device_;                    // of `direct_`
  std::unique_ptr<DeviceTransport> direct_;  // null: none

  // Used by the thread.
  absl::Status failure_;
  std::map<hal::DevicePtr, std::unique_ptr<hal::Queue>> queues_;
  std::map<std::pair<hal::DevicePtr, int>, hal::HostMemory> pinned_;

  std::thread thread_;
};

}  // namespace tartan::distributed
