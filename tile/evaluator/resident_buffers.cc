// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/resident_buffers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/digest.h"
#include "tile/base/mapped_file.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/resident_names.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {

using compiler::BufferKind;

namespace {

// Bytes that are repacked or copied at a time.
constexpr int64_t kPortionBytes = int64_t{1} << 23;
// At most 1 / kCopiedShare of the device's memory holds copies of constants that could stay in
// files.
constexpr int64_t kCopiedShare = 8;
// Maximum size of a constant whose contents are its name.
constexpr size_t kSmallConstantBytes = 1024;

}  // namespace

class ResidentLoader {
 public:
  ResidentLoader(const CompiledProgram& program, absl::Span<const HostTensor> constants,
                 ResidentPool& pool)
      : program_(program),
        list_(program.list()),
        constants_(constants),
        pool_(pool),
        constant_of_(list_.buffers.size(), nullptr),
        is_missing_(list_.buffers.size(), false),
        is_wrapped_(list_.buffers.size(), false),
        buffers_(list_.buffers.size()) {}

  absl::StatusOr<ResidentBuffers> Load() {
    TARTAN_RETURN_IF_ERROR(MatchConstants());
    std::lock_guard<std::mutex> lock(pool_.mutex_);
    names_ = ResidentNames(list_, program_.kernel_digests(), ConstantNames());
    ResidentBuffers resident;
    for (int buffer : program_.resident()) Find(buffer, &resident.memories);
    const std::vector<compiler::Step> steps = StepsForMissing();
    std::vector<int> kept;
    std::vector<int> passing = Missing();  // used only by setup steps
    for (int buffer : program_.resident()) {
      if (!is_missing_[buffer]) continue;
      kept.push_back(buffer);
      passing.erase(std::find(passing.begin(), passing.end(), buffer));
    }
    TARTAN_RETURN_IF_ERROR(Allocate(kept));
    TARTAN_RETURN_IF_ERROR(Fill(kept, passing, steps));
    if (!kept.empty()) {
      auto memory = std::make_shared<ResidentMemory>();
      memory->constants.assign(constants_.begin(), constants_.end());
      for (int buffer : kept) memory->parts[names_[buffer]] = buffers_[buffer];
      pool_.memories_.push_back(memory);
      resident.memories.push_back(std::move(memory));
    }
    resident.buffers.resize(buffers_.size());
    for (int buffer : program_.resident()) resident.buffers[buffer] = buffers_[buffer];
    return resident;
  }

 private:
  absl::Status MatchConstants() {
    size_t next = 0;
    for (int input : list_.inputs) {
      const compiler::BufferInfo& buffer = list_.buffers[input];
      if (buffer.kind != BufferKind::kConstant) continue;
      if (next == constants_.size() || constants_[next].shape() != buffer.shape) {
        return absl::InvalidArgumentError(
            absl::StrCat("constant '", buffer.name, "' is missing or of another shape"));
      }
      constant_of_[input] = &constants_[next++];
    }
    return absl::OkStatus();
  }

  // A large constant's name is its address and size. Constants are immutable, and everything made
  // from them keeps them alive, so that equal addresses mean equal contents. A small constant's
  // name is its contents: each binding of a model makes many of them anew, and repacks weights with
  // them.
  std::vector<std::string> ConstantNames() const {
    std::vector<std::string> names(list_.buffers.size());
    for (size_t b = 0; b < names.size(); ++b) {
      if (constant_of_[b] == nullptr) continue;
      const absl::Span<const uint8_t> bytes = constant_of_[b]->bytes();
      if (bytes.size() <= kSmallConstantBytes) {
        const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        names[b] = absl::StrCat("contents ", Digest(text), " ", bytes.size());
        continue;
      }
      names[b] =
          absl::StrCat("constant ", reinterpret_cast<uintptr_t>(bytes.data()), " ", bytes.size());
    }
    return names;
  }

  // Takes a buffer from the pool and keeps its memory alive in `holders`, or marks it as missing.
  void Find(int buffer, std::vector<std::shared_ptr<const ResidentMemory>>* holders) {
    if (buffers_[buffer] != nullptr || is_missing_[buffer]) return;
    std::vector<std::weak_ptr<const ResidentMemory>>& memories = pool_.memories_;
    memories.erase(std::remove_if(memories.begin(), memories.end(),
                                  [](const auto& memory) { return memory.expired(); }),
                   memories.end());
    for (const std::weak_ptr<const ResidentMemory>& weak : memories) {
      std::shared_ptr<const ResidentMemory> memory = weak.lock();
      if (memory == nullptr) continue;
      const auto part = memory->parts.find(names_[buffer]);
      if (part == memory->parts.end()) continue;
      buffers_[buffer] = part->second;
      if (std::find(holders->begin(), holders->end(), memory) == holders->end()) {
        holders->push_back(std::move(memory));
      }
      return;
    }
    is_missing_[buffer] = true;
  }

  std::vector<int> Missing() const {
    std::vector<int> missing;
    for (size_t b = 0; b < is_missing_.size(); ++b) {
      if (is_missing_[b]) missing.push_back(static_cast<int>(b));
    }
    return missing;
  }

  // The setup steps that compute missing buffers, and their dependencies. They overwrite nothing
  // that is in use: a step's results are all missing, or none is.
  std::vector<compiler::Step> StepsForMissing() {
    std::vector<bool> is_needed(list_.setup.size(), false);
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (size_t s = list_.setup.size(); s-- > 0;) {
        const compiler::StepBuffers used = compiler::BuffersOf(list_, list_.setup[s]);
        const bool makes_missing = std::any_of(used.written.begin(), used.written.end(),
                                               [&](int buffer) { return is_missing_[buffer]; });
        if (is_needed[s] || !makes_missing) continue;
        is_needed[s] = true;
        has_changed = true;
        for (int buffer : used.written) {
          buffers_[buffer] = nullptr;
          is_missing_[buffer] = true;
        }
        for (int buffer : used.read) Find(buffer, &read_);
      }
    }
    std::vector<compiler::Step> steps;
    for (size_t s = 0; s < list_.setup.size(); ++s) {
      if (is_needed[s]) steps.push_back(list_.setup[s]);
    }
    std::stable_partition(steps.begin(), steps.end(),
                          [&](const compiler::Step& step) { return ReadsOnlyFiles(step); });
    return steps;
  }

  // Returns whether a step reads only constants, one of which stays in a file for executions, and
  // is the only writer of its results. Such steps come first, so that the file's pages are released
  // before other steps allocate memory.
  bool ReadsOnlyFiles(const compiler::Step& step) const {
    const compiler::StepBuffers used = compiler::BuffersOf(list_, step);
    const auto is_constant = [&](int buffer) { return constant_of_[buffer] != nullptr; };
    const auto is_made_here = [&](int buffer) {
      return std::count_if(list_.setup.begin(), list_.setup.end(), [&](const auto& other) {
               const std::vector<int> written = compiler::BuffersOf(list_, other).written;
               return std::find(written.begin(), written.end(), buffer) != written.end();
             }) == 1;
    };
    return std::any_of(used.read.begin(), used.read.end(),
                       [&](int buffer) { return IsKeptInPlace(buffer); }) &&
           std::all_of(used.read.begin(), used.read.end(), is_constant) &&
           std::all_of(used.written.begin(), used.written.end(), is_made_here);
  }

  // A large constant that executions read.
  bool IsKeptInPlace(int buffer) const {
    const std::vector<int>& resident = program_.resident();
    return IsSeparate(buffer) &&
           std::find(resident.begin(), resident.end(), buffer) != resident.end();
  }

  bool IsSeparate(int buffer) const { return program_.IsSeparate(buffer); }

  // Large constants stay where they are if the device can read them there. Streamed constants are
  // copied out of a file, because its small scattered pages cost a sixth of memory bandwidth. But
  // the system cannot reclaim copies when memory is short.
  absl::Status AllocateSeparate(int buffer) {
    const HostTensor& constant = *constant_of_[buffer];
    const auto bytes = static_cast<int64_t>(constant.bytes().size());
    if (program_.IsStreamed(buffer) && MappedFile::Holds(constant.bytes()) &&
        copied_bytes_ + bytes <= device().info().memory_bytes / kCopiedShare &&
        AllocateAlone(buffer).ok()) {
      copied_bytes_ += bytes;
      return absl::OkStatus();
    }
    TARTAN_ASSIGN_OR_RETURN(
        buffers_[buffer],
        device().Wrap(constant.bytes(), std::make_shared<const HostTensor>(constant)));
    if (buffers_[buffer] == nullptr) return AllocateAlone(buffer);
    is_wrapped_[buffer] = true;
    return absl::OkStatus();
  }

  absl::Status Allocate(const std::vector<int>& kept) {
    constexpr int kForever = std::numeric_limits<int>::max();
    std::vector<Lifetime> lifetimes;
    for (int buffer : kept) lifetimes.push_back({list_.buffers[buffer].bytes, -1, kForever});
    TARTAN_RETURN_IF_ERROR(AllocateTogether(kept, lifetimes, Sharing::kAnywhere));
    for (int buffer : kept) {
      if (IsSeparate(buffer)) TARTAN_RETURN_IF_ERROR(AllocateSeparate(buffer));
    }
    return absl::OkStatus();
  }

  // Allocates all buffers but separate ones from common arenas.
  absl::Status AllocateTogether(const std::vector<int>& buffers,
                                const std::vector<Lifetime>& lifetimes, Sharing sharing) {
    CompiledProgram::Region region;
    region.slot.assign(list_.buffers.size(), -1);
    std::vector<Lifetime> together;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (IsSeparate(buffers[i])) continue;
      region.slot[buffers[i]] = static_cast<int>(together.size());
      together.push_back(lifetimes[i]);
    }
    const hal::DeviceInfo& info = device().info();
    TARTAN_ASSIGN_OR_RETURN(region.plan, PlanCache(together, info.buffer_alignment,
                                                   info.max_allocation_bytes, sharing));
    return AllocateRegion(program_, region, &buffers_);
  }

  absl::Status AllocateAlone(int buffer) {
    const compiler::BufferInfo& info = list_.buffers[buffer];
    absl::StatusOr<hal::BufferPtr> allocated = device().Allocate(info.bytes);
    if (!allocated.ok()) {
      return absl::Status(allocated.status().code(),
                          absl::StrCat("'", info.name, "' ", info.shape.ToString(), ": ",
                                       allocated.status().message()));
    }
    buffers_[buffer] = *std::move(allocated);
    return absl::OkStatus();
  }

  // Steps that execute before memory is released.
  struct Portion {
    std::vector<compiler::Step> steps;
    std::vector<int> begin;  // temporary buffers that it uses first
    std::vector<int> end;    // temporary buffers that it uses last
  };

  // Groups steps so that the temporary buffers of a portion barely exceed kPortionBytes.
  std::vector<Portion> Portions(const std::vector<int>& passing,
                                const std::vector<compiler::Step>& steps,
                                std::vector<Lifetime>* lifetimes) const {
    std::vector<int> place(list_.buffers.size(), -1);
    for (size_t i = 0; i < passing.size(); ++i) place[passing[i]] = static_cast<int>(i);
    for (int buffer : passing) lifetimes->push_back({list_.buffers[buffer].bytes, -1, -1});
    std::vector<Portion> portions;
    int64_t bytes = kPortionBytes;
    for (const compiler::Step& step : steps) {
      if (bytes >= kPortionBytes) {
        portions.emplace_back();
        bytes = 0;
      }
      const int now = static_cast<int>(portions.size()) - 1;
      compiler::StepBuffers used = compiler::BuffersOf(list_, step);
      used.read.insert(used.read.end(), used.written.begin(), used.written.end());
      for (int buffer : used.read) {
        if (place[buffer] < 0) continue;
        Lifetime& life = (*lifetimes)[place[buffer]];
        if (life.first < 0) {
          life.first = now;
          portions.back().begin.push_back(buffer);
          bytes += life.bytes;
        }
        life.last = now;
      }
      portions.back().steps.push_back(step);
    }
    for (size_t i = 0; i < passing.size(); ++i) {
      if ((*lifetimes)[i].last >= 0) portions[(*lifetimes)[i].last].end.push_back(passing[i]);
    }
    return portions;
  }

  // Releases the host's pages of a constant that has been copied.
  absl::Status UploadConstant(hal::Queue& queue, int buffer) {
    const HostTensor* const constant = constant_of_[buffer];
    if (constant == nullptr || is_wrapped_[buffer]) return absl::OkStatus();
    const absl::Span<const uint8_t> bytes = constant->bytes();
    for (size_t begin = 0; begin < bytes.size(); begin += kPortionBytes) {
      const absl::Span<const uint8_t> part = bytes.subspan(begin, kPortionBytes);
      TARTAN_RETURN_IF_ERROR(queue.Write(buffers_[buffer], static_cast<int64_t>(begin), part));
      MappedFile::ReleasePages(part);
    }
    return absl::OkStatus();
  }

  absl::Status RunPortion(hal::Queue& queue, const Portion& portion) {
    for (int buffer : portion.begin) {
      if (IsSeparate(buffer)) TARTAN_RETURN_IF_ERROR(AllocateSeparate(buffer));
      TARTAN_RETURN_IF_ERROR(UploadConstant(queue, buffer));
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Command> commands,
                            RecordSteps(program_, portion.steps, buffers_));
    TARTAN_RETURN_IF_ERROR(RunCommands(program_, commands, buffers_, queue, nullptr));
    TARTAN_RETURN_IF_ERROR(queue.Finish());
    TARTAN_RETURN_IF_ERROR(
        CheckBoundsReport(program_, list_.bounds_reports.setup, buffers_, queue));
    for (const compiler::Step& step : portion.steps) ReleaseKeptPages(step);
    return absl::OkStatus();
  }

  // Releases the pages of large constants that a step has read. Executions that read them, too, may
  // need only a few rows.
  void ReleaseKeptPages(const compiler::Step& step) {
    for (const int buffer : compiler::BuffersOf(list_, step).read) {
      if (constant_of_[buffer] == nullptr || !IsKeptInPlace(buffer)) continue;
      MappedFile::ReleasePages(constant_of_[buffer]->bytes());
    }
  }

  absl::Status Fill(const std::vector<int>& kept, const std::vector<int>& passing,
                    const std::vector<compiler::Step>& steps) {
    if (kept.empty() && passing.empty()) return absl::OkStatus();
    std::vector<Lifetime> lifetimes;
    const std::vector<Portion> portions = Portions(passing, steps, &lifetimes);
    const Sharing sharing =
        device().info().sub_buffers_may_overlap ? Sharing::kAnywhere : Sharing::kWholePieces;
    TARTAN_RETURN_IF_ERROR(AllocateTogether(passing, lifetimes, sharing));
    TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<hal::Queue> queue, device().CreateQueue(false));
    for (int buffer : kept) TARTAN_RETURN_IF_ERROR(UploadConstant(*queue, buffer));
    for (const Portion& portion : portions) {
      TARTAN_RETURN_IF_ERROR(RunPortion(*queue, portion));
      for (int buffer : portion.end) {
        buffers_[buffer] = nullptr;
        if (is_wrapped_[buffer]) MappedFile::ReleasePages(constant_of_[buffer]->bytes());
      }
    }
    return queue->Finish();
  }

  hal::Device& device() const { return *program_.device(); }

  const CompiledProgram& program_;
  const compiler::KernelList& list_;
  const absl::Span<const HostTensor> constants_;
  ResidentPool& pool_;
  // The following vectors have an element per buffer of the list.
  std::vector<const HostTensor*> constant_of_;  // constants to upload if missing
  std::vector<std::string> names_;
  std::vector<bool> is_missing_;
  std::vector<bool> is_wrapped_;  // the device reads host memory directly
  int64_t copied_bytes_ = 0;      // of constants in files
  Buffers buffers_;
  std::vector<std::shared_ptr<const ResidentMemory>> read_;  // memory that the setup steps read
};

absl::StatusOr<ResidentBuffers> LoadResidentBuffers(const CompiledProgram& program,
                                                    absl::Span<const HostTensor> constants,
                                                    ResidentPool& pool) {
  return ResidentLoader(program, constants, pool).Load();
}

}  // namespace tartan::evaluator
