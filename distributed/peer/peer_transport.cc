// SPDX-License-Identifier: Apache-2.0
#include "distributed/peer/peer_transport.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/nccl/libraries.h"
#include "distributed/nccl/shared_memory.h"
#include "distributed/peer/file_exchange.h"
#include "distributed/peer/part_sums.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

constexpr int64_t kBoxBytes = int64_t{64} << 20;
constexpr int64_t kUnit = 512;  // bytes: slots and parts of ranks begin at multiples
constexpr char kName[] = "a copy between GPUs";

// A whole buffer, and the first byte in it.
std::pair<hal::BufferPtr, int64_t> WholeOf(const Range& range) {
  const hal::BufferPtr& parent = range.buffer->parent();
  if (parent == nullptr) return {range.buffer, range.offset};
  return {parent, range.buffer->offset() + range.offset};
}

Range PartOf(const Range& range, int64_t first, int64_t size) {
  return {range.buffer, range.offset + first, size};
}

class PeerTransport : public DeviceTransport {
 public:
  PeerTransport(HostTransport& transport, std::unique_ptr<SharedDevice> gpu, int64_t box_bytes)
      : transport_(transport),
        place_(transport.place()),
        gpu_(std::move(gpu)),
        slot_(std::max(kUnit, box_bytes / place_.ranks / kUnit * kUnit)),
        sums_(gpu_->device(), place_.rank, place_.ranks) {}

  // Opens the boxes of all ranks.
  absl::Status Join(const std::vector<std::string>& uuids);

  absl::StatusOr<hal::BufferPtr> Allocate(int64_t bytes) override { return gpu_->Allocate(bytes); }
  bool Has(const hal::Buffer& buffer) const override { return gpu_->Has(buffer); }
  bool OverlapsKernels() const override { return true; }

  // After each operation the boxes of all ranks are free.
  absl::Status AllReduce(const Range& range, DataType type) override;
  absl::Status AllGather(const Range& from, const Range& to) override;
  absl::Status ReduceScatter(const Range& from, const Range& to, DataType type) override;
  absl::Status Broadcast(const Range& range, int64_t root) override;
  absl::Status Send(const Range& range, int64_t to) override;
  absl::Status Receive(const Range& range, int64_t from) override;

 private:
  // Opens what needs no other rank: the own box, and the numbers of the other devices.
  absl::StatusOr<int> MakeBox(const std::vector<std::string>& uuids);
  absl::Status OpenBoxes(const RankFiles& files);
  // Checks that the ranks see each other's copies.
  absl::Status CheckCopies();
  int64_t BoxBytes() const { return slot_ * place_.ranks; }
  bool IsOwn(int64_t rank) const { return rank == place_.rank; }

  CudaAddress BoxOf(int64_t rank) const { return boxes_[static_cast<size_t>(rank)]->address(); }
  // The slot of this rank in the box of another one.
  CudaAddress SlotAt(int64_t rank) const {
    const int64_t slot = place_.rank - (place_.rank > rank ? 1 : 0);
    return BoxOf(rank) + static_cast<CudaAddress>(slot * slot_);
  }
  int64_t outbox() const { return (place_.ranks - 1) * slot_; }
  CudaAddress OutboxOf(int64_t rank) const {
    return BoxOf(rank) + static_cast<CudaAddress>(outbox());
  }

  // Copies between GPUs, which end with FinishCopies.
  absl::Status Copy(CudaAddress to, CudaAddress from, int64_t bytes);
  absl::Status Push(const Range& range, int64_t rank) {
    return Copy(SlotAt(rank), gpu_->AddressOf(range), range.size);
  }
  absl::Status Pull(const Range& range, int64_t rank) {
    return Copy(gpu_->AddressOf(range), OutboxOf(rank), range.size);
  }
  absl::Status FinishCopies();
  absl::Status CopyToOutbox(const Range& range);
  absl::Status CopyWithin(const Range& from, const Range& to);
  absl::Status AddSlots(const Range& own, const Range& to, DataType type, bool publishes);
  // Ranks leave together. Returns the first failure of any of them.
  absl::Status Meet(const absl::Status& own) { return Agree(transport_, own, kName); }

  absl::Status AddPiece(const Range& piece, DataType type);

  HostTransport& transport_;
  const Place place_;
  const std::unique_ptr<SharedDevice> gpu_;
  const int64_t slot_;  // bytes
  PartSums sums_;
  std::unique_ptr<hal::Queue> queue_;
  hal::BufferPtr box_;                                      // of this rank
  std::vector<std::shared_ptr<const SharedMemory>> boxes_;  // by rank
};

absl::StatusOr<int> PeerTransport::MakeBox(const std::vector<std::string>& uuids) {
  const CudaLibrary& cuda = gpu_->cuda();
  for (size_t rank = 0; rank < uuids.size(); ++rank) {
    if (IsOwn(static_cast<int64_t>(rank))) continue;
    TARTAN_ASSIGN_OR_RETURN(const int number, gpu_->NumberOf(uuids[rank]));
    int can = 0;
    TARTAN_RETURN_IF_ERROR(
        cuda.Check(cuda.can_access_peer(&can, gpu_->number(), number), "cuDeviceCanAccessPeer"));
    if (can == 0) {
      return absl::UnavailableError(absl::StrCat("CUDA's devices ", gpu_->number(), " and ", number,
                                                 " cannot reach each other's memory"));
    }
  }
  TARTAN_ASSIGN_OR_RETURN(queue_, gpu_->device()->CreateQueue(/*profiling=*/false));
  TARTAN_ASSIGN_OR_RETURN(SharedMemory::Made made,
                          SharedMemory::Make(cuda, gpu_->number(), gpu_->importer(), BoxBytes(),
                                             /*exports=*/true));
  box_ = std::move(made.buffer);
  boxes_.resize(uuids.size());
  boxes_[static_cast<size_t>(place_.rank)] = std::move(made.memory);
  return made.file;
}

absl::Status PeerTransport::OpenBoxes(const RankFiles& files) {
  for (size_t rank = 0; rank < boxes_.size(); ++rank) {
    if (IsOwn(static_cast<int64_t>(rank))) continue;
    TARTAN_ASSIGN_OR_RETURN(
        boxes_[rank], SharedMemory::Open(gpu_->cuda(), gpu_->number(), files[rank], BoxBytes()));
  }
  return absl::OkStatus();
}

absl::Status PeerTransport::Join(const std::vector<std::string>& uuids) {
  absl::StatusOr<int> made = MakeBox(uuids);
  TARTAN_RETURN_IF_ERROR(Meet(made.status()));
  RankFiles own(1);  // closes it
  own.Set(0, *made);
  const absl::StatusOr<RankFiles> files = ExchangeFiles(transport_, own[0]);
  TARTAN_RETURN_IF_ERROR(Meet(files.status()));
  TARTAN_RETURN_IF_ERROR(Meet(OpenBoxes(*files)));
  return CheckCopies();
}

absl::Status PeerTransport::CheckCopies() {
  // The numbers of the ranks, added.
  std::vector<int32_t> numbers(static_cast<size_t>(kUnit), static_cast<int32_t>(place_.rank) + 1);
  const absl::Span<uint8_t> bytes =
      absl::MakeSpan(reinterpret_cast<uint8_t*>(numbers.data()), numbers.size() * sizeof(int32_t));
  absl::Status own = absl::OkStatus();
  absl::StatusOr<hal::BufferPtr> buffer = Allocate(static_cast<int64_t>(bytes.size()));
  if (buffer.ok()) own = queue_->Write(*buffer, 0, bytes);
  if (own.ok()) own = queue_->Finish();
  TARTAN_RETURN_IF_ERROR(Meet(buffer.ok() ? own : buffer.status()));
  TARTAN_RETURN_IF_ERROR(
      AllReduce({*buffer, 0, static_cast<int64_t>(bytes.size())}, DataType::kInt32));
  own = queue_->Read(*buffer, 0, bytes);
  const int64_t sum = place_.ranks * (place_.ranks + 1) / 2;
  for (const int32_t number : numbers) {
    if (!own.ok() || number == sum) continue;
    own = absl::UnavailableError(
        absl::StrCat("copies between GPUs are wrong: a sum is ", number, " instead of ", sum));
  }
  return Meet(own);
}

absl::Status PeerTransport::Copy(CudaAddress to, CudaAddress from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const CudaLibrary& cuda = gpu_->cuda();
  return cuda.Check(cuda.copy_async(to, from, static_cast<size_t>(bytes), gpu_->stream()),
                    "cuMemcpyAsync");
}

absl::Status PeerTransport::FinishCopies() {
  return transport_.Watch(kName, [&]() -> absl::Status {
    while (true) {
      const int state = gpu_->cuda().query_stream(gpu_->stream());
      if (state != kCudaNotReady) return gpu_->cuda().Check(state, "cuStreamQuery");
      std::this_thread::yield();
    }
  });
}

absl::Status PeerTransport::CopyWithin(const Range& from, const Range& to) {
  const auto [source, first] = WholeOf(from);
  const auto [target, position] = WholeOf(to);
  if (source == target && first == position) return absl::OkStatus();
  return queue_->Copy(source, first, target, position, from.size);
}

absl::Status PeerTransport::CopyToOutbox(const Range& range) {
  TARTAN_RETURN_IF_ERROR(CopyWithin(range, {box_, outbox(), range.size}));
  return queue_->Finish();
}

absl::Status PeerTransport::AddSlots(const Range& own, const Range& to, DataType type,
                                     bool publishes) {
  const auto [source, first] = WholeOf(own);
  const auto [target, position] = WholeOf(to);
  const int64_t width = ByteWidth(type);
  if (first % width != 0 || position % width != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes ", first, " and ", position, " are not multiples of ", width));
  }
  TARTAN_RETURN_IF_ERROR(sums_.Add(type, {source, first / width}, {box_, slot_ / width},
                                   {target, position / width}, own.size / width, publishes,
                                   *queue_));
  return queue_->Finish();
}

absl::Status PeerTransport::AllReduce(const Range& range, DataType type) {
  for (int64_t done = 0; done < range.size; done += BoxBytes()) {
    TARTAN_RETURN_IF_ERROR(
        AddPiece(PartOf(range, done, std::min(BoxBytes(), range.size - done)), type));
  }
  return absl::OkStatus();
}

absl::Status PeerTransport::AddPiece(const Range& piece, DataType type) {
  const int64_t share = (piece.size + place_.ranks * kUnit - 1) / (place_.ranks * kUnit) * kUnit;
  const auto part = [&](int64_t rank) {
    const int64_t first = std::min(piece.size, rank * share);
    return PartOf(piece, first, std::min(share, piece.size - first));
  };
  const auto each =
      [&](absl::Status (PeerTransport::*copy)(const Range&, int64_t)) -> absl::Status {
    for (int64_t k = 1; k < place_.ranks; ++k) {
      const int64_t rank = (place_.rank + k) % place_.ranks;
      TARTAN_RETURN_IF_ERROR((this->*copy)(part(rank), rank));
    }
    return FinishCopies();
  };
  TARTAN_RETURN_IF_ERROR(Meet(each(&PeerTransport::Push)));
  const Range own = part(place_.rank);
  TARTAN_RETURN_IF_ERROR(Meet(AddSlots(own, own, type, /*publishes=*/true)));
  return Meet(each(&PeerTransport::Pull));
}

absl::Status PeerTransport::ReduceScatter(const Range& from, const Range& to, DataType type) {
  for (int64_t done = 0; done < to.size; done += slot_) {
    const int64_t size = std::min(slot_, to.size - done);
    const auto push = [&]() -> absl::Status {
      for (int64_t k = 1; k < place_.ranks; ++k) {
        const int64_t rank = (place_.rank + k) % place_.ranks;
        TARTAN_RETURN_IF_ERROR(Push(PartOf(from, rank * to.size + done, size), rank));
      }
      return FinishCopies();
    };
    TARTAN_RETURN_IF_ERROR(Meet(push()));
    TARTAN_RETURN_IF_ERROR(Meet(AddSlots(PartOf(from, place_.rank * to.size + done, size),
                                         PartOf(to, done, size), type, /*publishes=*/false)));
  }
  return absl::OkStatus();
}

absl::Status PeerTransport::AllGather(const Range& from, const Range& to) {
  for (int64_t done = 0; done < from.size; done += slot_) {
    const int64_t size = std::min(slot_, from.size - done);
    const Range piece = PartOf(from, done, size);
    absl::Status own = CopyWithin(piece, PartOf(to, place_.rank * from.size + done, size));
    if (own.ok()) own = CopyToOutbox(piece);
    TARTAN_RETURN_IF_ERROR(Meet(own));
    const auto pull = [&]() -> absl::Status {
      for (int64_t k = 1; k < place_.ranks; ++k) {
        const int64_t rank = (place_.rank + k) % place_.ranks;
        TARTAN_RETURN_IF_ERROR(Pull(PartOf(to, rank * from.size + done, size), rank));
      }
      return FinishCopies();
    };
    TARTAN_RETURN_IF_ERROR(Meet(pull()));
  }
  return absl::OkStatus();
}

absl::Status PeerTransport::Broadcast(const Range& range, int64_t root) {
  for (int64_t done = 0; done < range.size; done += slot_) {
    const Range piece = PartOf(range, done, std::min(slot_, range.size - done));
    TARTAN_RETURN_IF_ERROR(Meet(IsOwn(root) ? CopyToOutbox(piece) : absl::OkStatus()));
    absl::Status own = IsOwn(root) ? absl::OkStatus() : Pull(piece, root);
    if (own.ok()) own = FinishCopies();
    TARTAN_RETURN_IF_ERROR(Meet(own));
  }
  return absl::OkStatus();
}

absl::Status PeerTransport::Send(const Range& range, int64_t to) {
  for (int64_t done = 0; done < range.size; done += slot_) {
    const absl::Status own = CopyToOutbox(PartOf(range, done, std::min(slot_, range.size - done)));
    uint8_t failed = own.ok() ? 0 : 1;
    const absl::Status sent = transport_.Send({&failed, 1}, to);
    if (!own.ok()) return own;
    TARTAN_RETURN_IF_ERROR(sent);
    TARTAN_RETURN_IF_ERROR(transport_.Receive({&failed, 1}, to));
    if (failed != 0) return absl::UnavailableError(absl::StrCat(kName, " fails on rank ", to));
  }
  return absl::OkStatus();
}

absl::Status PeerTransport::Receive(const Range& range, int64_t from) {
  for (int64_t done = 0; done < range.size; done += slot_) {
    uint8_t failed = 0;
    TARTAN_RETURN_IF_ERROR(transport_.Receive({&failed, 1}, from));
    if (failed != 0) return absl::UnavailableError(absl::StrCat(kName, " fails on rank ", from));
    absl::Status own = Pull(PartOf(range, done, std::min(slot_, range.size - done)), from);
    if (own.ok()) own = FinishCopies();
    failed = own.ok() ? 0 : 1;
    const absl::Status sent = transport_.Send({&failed, 1}, from);
    if (!own.ok()) return own;
    TARTAN_RETURN_IF_ERROR(sent);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceTransport>> JoinPeers(HostTransport& transport,
                                                           const hal::DevicePtr& device) {
  const Place& place = transport.place();
  if (place.local_ranks != place.ranks) {
    return absl::UnavailableError(absl::StrCat("GPUs reach each other within one host only; ",
                                               place.ranks - place.local_ranks, " of ", place.ranks,
                                               " ranks are elsewhere"));
  }
  return JoinPeers(transport, SharedDevice::Open(device), kBoxBytes);
}

absl::StatusOr<std::unique_ptr<DeviceTransport>> JoinPeers(
    HostTransport& transport, absl::StatusOr<std::unique_ptr<SharedDevice>> gpu,
    int64_t box_bytes) {
  TARTAN_RETURN_IF_ERROR(Agree(transport, gpu.status(), kName));
  TARTAN_ASSIGN_OR_RETURN(const auto uuids, GatherUuids(transport, (*gpu)->importer().Uuid()));
  auto joined = std::make_unique<PeerTransport>(transport, *std::move(gpu), box_bytes);
  TARTAN_RETURN_IF_ERROR(joined->Join(uuids));
  return std::unique_ptr<DeviceTransport>(std::move(joined));
}

}  // namespace tartan::distributed
