// SPDX-License-Identifier: Apache-2.0
// The plug-in that calls MPI. Processes of one host add through a shared window: each copies a
// piece into its slot, adds its share of all slots, and copies the sums out. Sums are in the order
// of ranks, so they do not depend on timing. Between hosts MPI's own collectives add.
#include <mpi.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "distributed/mpi/copy_threads.h"
#include "distributed/mpi/plugin_interface.h"

namespace {

constexpr int64_t kSlotBytes = int64_t{4} << 20;
constexpr int64_t kLargestCall = int64_t{1} << 28;  // elements of a call of MPI, whose count is int

// At the start of the shared window. Processes leave a barrier when the generation changes.
struct Barrier {
  std::atomic<int32_t> arrived;
  std::atomic<int32_t> generation;
};

struct World {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  Barrier* barrier = nullptr;
  uint8_t* slots = nullptr;  // [local_ranks + 1][kSlotBytes]; the last one has the sums
  std::unique_ptr<tartan::distributed::CopyThreads> threads;
  int polls = 200;  // before a waiting process gives up its core
  std::string error;
};
World world;

const char* Error(int code) {
  if (code == MPI_SUCCESS) return nullptr;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  world.error.assign(text, length);
  return world.error.c_str();
}

// Polls without taking the cores from kernels: first at once, then after short sleeps.
class Patience {
 public:
  void Wait() {
    ++polls_;
    if (polls_ < world.polls) return;
    if (polls_ < world.polls + 200) {
      sched_yield();
      return;
    }
    const timespec pause = {0, 20000};
    nanosleep(&pause, nullptr);
  }

 private:
  int polls_ = 0;
};

const char* WaitFor(int code, MPI_Request* request) {
  Patience patience;
  int done = 0;
  while (code == MPI_SUCCESS && done == 0) {
    code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done == 0) patience.Wait();
  }
  return Error(code);
}

void MeetLocally() {
  Barrier& barrier = *world.barrier;
  const int32_t generation = barrier.generation.load();
  if (barrier.arrived.fetch_add(1) + 1 == world.local_ranks) {
    barrier.arrived.store(0);
    barrier.generation.store(generation + 1);
    return;
  }
  Patience patience;
  while (barrier.generation.load() == generation) patience.Wait();
}

uint8_t* Slot(int owner) { return world.slots + owner * kSlotBytes; }

template <class T>
void AddSlots(int64_t first, int64_t last, T* sums) {
  std::memcpy(sums + first, reinterpret_cast<T*>(Slot(0)) + first,
              static_cast<size_t>(last - first) * sizeof(T));
  for (int owner = 1; owner < world.local_ranks; ++owner) {
    const T* added = reinterpret_cast<T*>(Slot(owner));
    for (int64_t i = first; i < last; ++i) sums[i] += added[i];
  }
}

float FromBFloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Rounds to nearest, ties to even; infinities stay, and NaN stays NaN.
uint16_t ToBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(value == value ? rounded : (bits >> 16) | 0x40);
}

// The sums of all slots are rounded once.
void AddBFloat16Slots(int64_t first, int64_t last, uint16_t* sums) {
  for (int64_t i = first; i < last; ++i) {
    float sum = 0;
    for (int owner = 0; owner < world.local_ranks; ++owner)
      sum += FromBFloat16(reinterpret_cast<const uint16_t*>(Slot(owner))[i]);
    sums[i] = ToBFloat16(sum);
  }
}

int64_t WidthOf(TartanMpiType type) {
  if (type == kTartanBFloat16) return 2;
  return type == kTartanFloat32 || type == kTartanInt32 ? 4 : 8;
}

void Copy(const uint8_t* from, int64_t bytes, uint8_t* to) {
  world.threads->Divide(0, bytes, [&](int64_t first, int64_t last) {
    std::memcpy(to + first, from + first, static_cast<size_t>(last - first));
  });
}

// Adds this process's share of the slots of a piece.
void AddShare(int64_t bytes, TartanMpiType type) {
  const int64_t count = bytes / WidthOf(type);
  const int64_t first = count * world.local_rank / world.local_ranks;
  const int64_t last = count * (world.local_rank + 1) / world.local_ranks;
  uint8_t* const sums = Slot(world.local_ranks);
  world.threads->Divide(first, last, [&](int64_t from, int64_t to) {
    switch (type) {
      case kTartanFloat32:
        return AddSlots(from, to, reinterpret_cast<float*>(sums));
      case kTartanFloat64:
        return AddSlots(from, to, reinterpret_cast<double*>(sums));
      case kTartanInt32:
        return AddSlots(from, to, reinterpret_cast<uint32_t*>(sums));
      case kTartanInt64:
        return AddSlots(from, to, reinterpret_cast<uint64_t*>(sums));
      case kTartanBFloat16:
        return AddBFloat16Slots(from, to, reinterpret_cast<uint16_t*>(sums));
    }
  });
}

bool SharesHost() { return world.local_ranks == world.ranks; }

MPI_Datatype TypeOf(TartanMpiType type) {
  switch (type) {
    case kTartanFloat64:
      return MPI_DOUBLE;
    case kTartanInt32:
      return MPI_INT32_T;
    case kTartanInt64:
      return MPI_INT64_T;
    default:
      return MPI_FLOAT;
  }
}

const char* AllReduce(void* data, int64_t bytes, TartanMpiType type);

// MPI has no such type.
const char* AddBFloat16BetweenHosts(uint16_t* data, int64_t count) {
  std::vector<float> wide(static_cast<size_t>(count));
  std::transform(data, data + count, wide.begin(), FromBFloat16);
  const char* const error = AllReduce(wide.data(), count * 4, kTartanFloat32);
  if (error == nullptr) std::transform(wide.begin(), wide.end(), data, ToBFloat16);
  return error;
}

const char* AllReduce(void* data, int64_t bytes, TartanMpiType type) {
  auto* const next = static_cast<uint8_t*>(data);
  if (!SharesHost() && type == kTartanBFloat16)
    return AddBFloat16BetweenHosts(static_cast<uint16_t*>(data), bytes / 2);
  if (!SharesHost()) {
    const int64_t width = WidthOf(type);
    for (int64_t done = 0; done < bytes; done += kLargestCall * width) {
      const int64_t count = std::min(kLargestCall, (bytes - done) / width);
      MPI_Request request;
      const int code = MPI_Iallreduce(MPI_IN_PLACE, next + done, static_cast<int>(count),
                                      TypeOf(type), MPI_SUM, MPI_COMM_WORLD, &request);
      if (const char* error = WaitFor(code, &request)) return error;
    }
    return nullptr;
  }
  for (int64_t done = 0; done < bytes; done += kSlotBytes) {
    const int64_t piece = std::min(kSlotBytes, bytes - done);
    Copy(next + done, piece, Slot(world.local_rank));
    MeetLocally();
    AddShare(piece, type);
    MeetLocally();
    Copy(Slot(world.local_ranks), piece, next + done);
  }
  return nullptr;
}

const char* ReduceScatter(const void* from, int64_t bytes, void* to, TartanMpiType type) {
  if (SharesHost() || type == kTartanBFloat16) {
    // Piece by piece, as many bytes of each rank's part.
    const auto* const source = static_cast<const uint8_t*>(from);
    std::string piece(static_cast<size_t>(bytes), '\0');
    for (int owner = 0; owner < world.ranks; ++owner) {
      std::memcpy(piece.data(), source + owner * bytes, static_cast<size_t>(bytes));
      if (const char* error = AllReduce(piece.data(), bytes, type)) return error;
      if (owner == world.rank) std::memcpy(to, piece.data(), static_cast<size_t>(bytes));
    }
    return nullptr;
  }
  if (bytes / WidthOf(type) > kLargestCall) return "a rank's part is too large";
  MPI_Request request;
  const int code = MPI_Ireduce_scatter_block(from, to, static_cast<int>(bytes / WidthOf(type)),
                                             TypeOf(type), MPI_SUM, MPI_COMM_WORLD, &request);
  return WaitFor(code, &request);
}

const char* AllGather(const void* from, int64_t bytes, void* to) {
  if (bytes > kLargestCall) return "a rank's part has more than 256 MiB";
  MPI_Request request;
  const int code = MPI_Iallgather(from, static_cast<int>(bytes), MPI_BYTE, to,
                                  static_cast<int>(bytes), MPI_BYTE, MPI_COMM_WORLD, &request);
  return WaitFor(code, &request);
}

const char* Broadcast(void* data, int64_t bytes, int64_t root) {
  for (int64_t done = 0; done < bytes; done += kLargestCall) {
    const auto size = static_cast<int>(std::min(kLargestCall, bytes - done));
    MPI_Request request;
    const int code = MPI_Ibcast(static_cast<uint8_t*>(data) + done, size, MPI_BYTE,
                                static_cast<int>(root), MPI_COMM_WORLD, &request);
    if (const char* error = WaitFor(code, &request)) return error;
  }
  return nullptr;
}

const char* Send(const void* data, int64_t bytes, int64_t to) {
  for (int64_t done = 0; done < bytes; done += kLargestCall) {
    const auto size = static_cast<int>(std::min(kLargestCall, bytes - done));
    MPI_Request request;
    const int code = MPI_Isend(static_cast<const uint8_t*>(data) + done, size, MPI_BYTE,
                               static_cast<int>(to), 0, MPI_COMM_WORLD, &request);
    if (const char* error = WaitFor(code, &request)) return error;
  }
  return nullptr;
}

const char* Receive(void* data, int64_t bytes, int64_t from) {
  for (int64_t done = 0; done < bytes; done += kLargestCall) {
    const auto size = static_cast<int>(std::min(kLargestCall, bytes - done));
    MPI_Request request;
    const int code = MPI_Irecv(static_cast<uint8_t*>(data) + done, size, MPI_BYTE,
                               static_cast<int>(from), 0, MPI_COMM_WORLD, &request);
    if (const char* error = WaitFor(code, &request)) return error;
  }
  return nullptr;
}

// Makes the window: barrier, board, slots.
const char* MakeWindow(int64_t board_bytes, void** board) {
  constexpr int64_t kLine = 4096;
  const int64_t slots_at = kLine + (board_bytes + kLine - 1) / kLine * kLine;
  const int64_t bytes = slots_at + (world.local_ranks + 1) * kSlotBytes;
  void* base = nullptr;
  int code = MPI_Win_allocate_shared(world.local_rank == 0 ? bytes : 0, 1, MPI_INFO_NULL,
                                     world.local, &base, &world.window);
  if (code != MPI_SUCCESS) return Error(code);
  MPI_Aint size = 0;
  int unit = 0;
  code = MPI_Win_shared_query(world.window, 0, &size, &unit, &base);
  if (code != MPI_SUCCESS) return Error(code);
  if (world.local_rank == 0) std::memset(base, 0, static_cast<size_t>(slots_at));
  code = MPI_Win_lock_all(MPI_MODE_NOCHECK, world.window);
  if (code != MPI_SUCCESS) return Error(code);
  world.barrier = static_cast<Barrier*>(base);
  *board = static_cast<uint8_t*>(base) + kLine;
  world.slots = static_cast<uint8_t*>(base) + slots_at;
  return Error(MPI_Barrier(world.local));
}

const char* Join(int64_t board_bytes, TartanMpiPlace* place, void** board) {
  int level = 0;
  if (const char* error = Error(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level)))
    return error;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
  if (const char* error = Error(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                                    MPI_INFO_NULL, &world.local)))
    return error;
  MPI_Comm_set_errhandler(world.local, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world.local, &world.local_rank);
  MPI_Comm_size(world.local, &world.local_ranks);
  // Half of the cores, divided among the processes of this host, and few enough to fill the memory.
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  world.threads = std::make_unique<tartan::distributed::CopyThreads>(
      std::clamp(cores / 2 / world.local_ranks, 1, 6));
  // Kernels leave cores free on a host with many. Short sums then take microseconds.
  constexpr int kManyCores = 8;
  if (cores >= kManyCores * world.local_ranks) world.polls = 20000;
  *place = {world.rank, world.ranks, world.local_rank, world.local_ranks};
  return MakeWindow(board_bytes, board);
}

const char* Barrier() {
  MPI_Request request;
  return WaitFor(MPI_Ibarrier(MPI_COMM_WORLD, &request), &request);
}

const char* Finish() {
  world.threads.reset();
  MPI_Win_unlock_all(world.window);
  MPI_Win_free(&world.window);
  MPI_Comm_free(&world.local);
  return Error(MPI_Finalize());
}

void Abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const TartanMpi* TartanMpiPlugin() {
  static const TartanMpi functions = {kTartanMpiVersion, Join,      AllReduce, AllGather,
                                      ReduceScatter,     Broadcast, Send,      Receive,
                                      Barrier,           Finish,    Abort};
  return &functions;
}
