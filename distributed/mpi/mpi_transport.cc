// SPDX-License-Identifier: Apache-2.0
#include "distributed/mpi/mpi_transport.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "distributed/mpi/health_board.h"
#include "distributed/mpi/plugin_interface.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

constexpr char kPluginName[] = "libtartan_mpi.so";
constexpr int64_t kMostLocalRanks = 1024;
constexpr int kFailed = 70;  // exit code of a process that ends because another one failed
// The rank that failed prints its own error meanwhile, before the launcher ends all processes.
constexpr std::chrono::milliseconds kTimeToReport(500);
constexpr std::chrono::seconds kTimeToEnd(3);
// MPI waits without end for a process that is stopped while it joins or leaves.
constexpr double kLongestJoinS = 25;
constexpr double kLongestLeaveS = 20;

const char* Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> PluginFiles(const MpiOptions& options) {
  if (!options.plugin.empty()) return {options.plugin};
  const std::string given = Variable("TARTAN_MPI_PLUGIN");
  if (!given.empty()) return {given};
  std::vector<std::string> files;
  Dl_info info;
  std::error_code ignored;
  if (dladdr(reinterpret_cast<const void*>(&StartedByMpi), &info) != 0) {
    std::filesystem::path file = std::filesystem::canonical(info.dli_fname, ignored);
    if (file.empty()) file = std::filesystem::read_symlink("/proc/self/exe", ignored);
    const std::filesystem::path folder = file.parent_path();
    files.push_back(folder / kPluginName);
    files.push_back(folder / "../lib/tartan" / kPluginName);
    files.push_back(folder / ".." / kPluginName);  // the program of the Python package
  }
  files.emplace_back(kPluginName);
  return files;
}

// Ends this process if the others have not joined or left in time. `done` says what they have not.
class TimeLimit {
 public:
  TimeLimit(double seconds, const char* done)
      : thread_([this, seconds, done] {
          std::unique_lock<std::mutex> lock(mutex_);
          if (changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                                [this] { return is_over_; }))
            return;
          std::fprintf(stderr,
                       "tartan: rank %s ends: the other ranks have not %s within %g s: one is "
                       "stopped, or could not be started\n",
                       Variable("OMPI_COMM_WORLD_RANK"), done, seconds);
          _exit(kFailed);
        }) {}
  ~TimeLimit() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;  // guarded by mutex_
  std::thread thread_;
};

absl::StatusOr<const TartanMpi*> LoadPlugin(const MpiOptions& options) {
  std::vector<std::string> errors;
  for (const std::string& file : PluginFiles(options)) {
    // Components of MPI libraries find the library's symbols only if they are global.
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      errors.emplace_back(dlerror());
      continue;
    }
    const auto get =
        reinterpret_cast<decltype(&TartanMpiPlugin)>(dlsym(library, "TartanMpiPlugin"));
    if (get == nullptr || get()->version != kTartanMpiVersion)
      return absl::UnavailableError(absl::StrCat(file, " belongs to another version of Tartan"));
    return get();
  }
  return absl::UnavailableError(absl::StrCat(
      "an MPI launcher started this process as one of several, but MPI cannot be loaded: ",
      absl::StrJoin(errors, "; "),
      ". Install Open MPI (apt-get install openmpi-bin) and a Tartan that was built with it "
      "(libopenmpi-dev), or set TARTAN_MPI_PLUGIN"));
}

absl::StatusOr<TartanMpiType> TypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return kTartanFloat32;
    case DataType::kFloat64:
      return kTartanFloat64;
    case DataType::kInt32:
      return kTartanInt32;
    case DataType::kInt64:
      return kTartanInt64;
    case DataType::kBFloat16:
      return kTartanBFloat16;
    default:
      return absl::InvalidArgumentError(absl::StrCat(Name(type), " cannot be added over ranks"));
  }
}

class MpiTransport : public HostTransport {
 public:
  MpiTransport(const TartanMpi* mpi, const Place& place, void* board, double longest_wait_s)
      : mpi_(mpi),
        place_(place),
        board_(board, place, longest_wait_s, [this](const std::string& why) { End(why); }) {}

  const Place& place() const override { return place_; }

  absl::Status AllReduce(absl::Span<uint8_t> bytes, DataType type) override {
    TARTAN_ASSIGN_OR_RETURN(const TartanMpiType element, TypeOf(type));
    return Call("all-reduce", mpi_->all_reduce, bytes.data(), Size(bytes), element);
  }
  absl::Status AllGather(absl::Span<const uint8_t> from, absl::Span<uint8_t> to) override {
    return Call("all-gather", mpi_->all_gather, from.data(), Size(from), to.data());
  }
  absl::Status ReduceScatter(absl::Span<const uint8_t> from, absl::Span<uint8_t> to,
                             DataType type) override {
    TARTAN_ASSIGN_OR_RETURN(const TartanMpiType element, TypeOf(type));
    return Call("reduce-scatter", mpi_->reduce_scatter, from.data(), Size(to), to.data(), element);
  }
  absl::Status Broadcast(absl::Span<uint8_t> bytes, int64_t root) override {
    return Call("broadcast", mpi_->broadcast, bytes.data(), Size(bytes), root);
  }
  absl::Status Send(absl::Span<const uint8_t> bytes, int64_t to) override {
    return Call("send", mpi_->send, bytes.data(), Size(bytes), to);
  }
  absl::Status Receive(absl::Span<uint8_t> bytes, int64_t from) override {
    return Call("receive", mpi_->receive, bytes.data(), Size(bytes), from);
  }

  absl::Status Watch(const char* what, const std::function<absl::Status()>& work) override {
    board_.Begin(what);
    absl::Status status = work();
    board_.End();
    return status;
  }

  void Fail(const std::string& why) override {
    board_.Fail(why, place_.rank);
    std::this_thread::sleep_for(kTimeToReport);
  }

  absl::Status Finish() override {
    board_.Leave();
    TARTAN_RETURN_IF_ERROR(Call("the end of the run", mpi_->barrier));
    board_.StopWatching();
    const TimeLimit limit(kLongestLeaveS, "left");
    return Call("the end of the run", mpi_->finish);
  }

 private:
  template <class Bytes>
  static int64_t Size(const Bytes& bytes) {
    return static_cast<int64_t>(bytes.size());
  }

  template <class Function, class... Arguments>
  absl::Status Call(const char* what, Function function, Arguments... arguments) {
    board_.Begin(what);
    const char* const error = function(arguments...);
    board_.End();
    if (error == nullptr) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("MPI: ", what, ": ", error));
  }

  // Another process failed, so the operation in progress never ends.
  void End(const std::string& why) {
    const std::string line = absl::StrCat("tartan: rank ", place_.rank, " ends: ", why, "\n");
    std::fputs(line.c_str(), stderr);
    board_.Fail(why, /*rank=*/-1);
    std::this_thread::sleep_for(kTimeToEnd);
    // Open MPI may wait for the thread that waits in an operation.
    std::thread([] {
      std::this_thread::sleep_for(kTimeToEnd);
      _exit(kFailed);
    }).detach();
    mpi_->abort(kFailed);
  }

  const TartanMpi* const mpi_;
  const Place place_;
  HealthBoard board_;
};

}  // namespace

bool StartedByMpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    int ranks = 0;
    if (absl::SimpleAtoi(Variable(name), &ranks)) return ranks > 1;
  }
  return *Variable("PMIX_RANK") != '\0';
}

absl::StatusOr<std::unique_ptr<HostTransport>> JoinMpi(const MpiOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(const TartanMpi* const mpi, LoadPlugin(options));
  TartanMpiPlace place;
  void* board = nullptr;
  const TimeLimit limit(std::min(kLongestJoinS, options.longest_wait_s), "joined");
  if (const char* const error = mpi->join(HealthBoard::Bytes(kMostLocalRanks), &place, &board))
    return absl::UnavailableError(absl::StrCat("MPI cannot be started: ", error));
  if (place.local_ranks > kMostLocalRanks)
    return absl::ResourceExhaustedError(absl::StrCat(place.local_ranks, " ranks on one host"));
  return std::unique_ptr<HostTransport>(std::make_unique<MpiTransport>(
      mpi, Place{place.rank, place.ranks, place.local_rank, place.local_ranks}, board,
      options.longest_wait_s));
}

}  // namespace tartan::distributed
