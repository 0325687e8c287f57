// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/resident_buffers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/resident_names.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {

using compiler::BufferKind;

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
        buffers_(list_.buffers.size()) {}

  absl::StatusOr<ResidentBuffers> Load() {
    TARTAN_RETURN_IF_ERROR(MatchConstants());
    std::lock_guard<std::mutex> lock(pool_.mutex_);
    names_ = ResidentNames(list_, program_.kernel_digests(), ConstantNames());
    ResidentBuffers resident;
    for (int buffer : program_.resident()) Find(buffer, &resident.memories);
    const std::vector<compiler::Step> steps = StepsForMissing();
    std::vector<int> kept;
    std::vector<int> passing = Missing();  // used by those steps alone
    for (int buffer : program_.resident()) {
      if (!is_missing_[buffer]) continue;
      kept.push_back(buffer);
      passing.erase(std::find(passing.begin(), passing.end(), buffer));
    }
    TARTAN_RETURN_IF_ERROR(Allocate(kept));
    TARTAN_RETURN_IF_ERROR(Allocate(passing));
    TARTAN_RETURN_IF_ERROR(Fill(steps));
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

  // Constants do not change, and are held by whoever holds something made of them: two at one
  // address are the same.
  std::vector<std::string> ConstantNames() const {
    std::vector<std::string> names(list_.buffers.size());
    for (size_t b = 0; b < names.size(); ++b) {
      if (constant_of_[b] == nullptr) continue;
      const absl::Span<const uint8_t> bytes = constant_of_[b]->bytes();
      names[b] =
          absl::StrCat("constant ", reinterpret_cast<uintptr_t>(bytes.data()), " ", bytes.size());
    }
    return names;
  }

  // Takes a buffer from the pool, whose memory `holders` then keep, or notes that it is missing.
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

  // The setup steps that make what is missing, and what those read. Nothing that programs use
  // already is written: a step's results are all missing or none.
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
    return steps;
  }

  // Large constants are left where they are, if the device can read them there.
  absl::Status Allocate(const std::vector<int>& missing) {
    constexpr int kForever = std::numeric_limits<int>::max();
    CompiledProgram::Region region;
    region.slot.assign(list_.buffers.size(), -1);
    std::vector<Lifetime> lifetimes;
    for (int buffer : missing) {
      if (!program_.IsSeparate(buffer)) {
        region.slot[buffer] = static_cast<int>(lifetimes.size());
        lifetimes.push_back({list_.buffers[buffer].bytes, -1, kForever});
        continue;
      }
      const HostTensor& constant = *constant_of_[buffer];
      TARTAN_ASSIGN_OR_RETURN(
          buffers_[buffer],
          device().Wrap(constant.bytes(), std::make_shared<const HostTensor>(constant)));
      if (buffers_[buffer] != nullptr) {
        constant_of_[buffer] = nullptr;  // it is there
      } else {
        TARTAN_RETURN_IF_ERROR(AllocateAlone(buffer));
      }
    }
    const hal::DeviceInfo& info = device().info();
    TARTAN_ASSIGN_OR_RETURN(
        region.plan, PlanMemory(lifetimes, info.buffer_alignment, info.max_allocation_bytes));
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

  absl::Status Fill(const std::vector<compiler::Step>& steps) {
    const std::vector<int> missing = Missing();
    if (missing.empty()) return absl::OkStatus();
    TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<hal::Queue> queue, device().CreateQueue(false));
    for (int buffer : missing) {
      if (constant_of_[buffer] == nullptr) continue;
      TARTAN_RETURN_IF_ERROR(Upload(*queue, buffers_[buffer], *constant_of_[buffer]));
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Command> commands,
                            RecordSteps(program_, steps, buffers_));
    TARTAN_RETURN_IF_ERROR(RunCommands(program_, commands, buffers_, *queue, nullptr));
    return queue->Finish();
  }

  hal::Device& device() const { return *program_.device(); }

  const CompiledProgram& program_;
  const compiler::KernelList& list_;
  const absl::Span<const HostTensor> constants_;
  ResidentPool& pool_;
  // Per buffer of the list.
  std::vector<const HostTensor*> constant_of_;  // to be uploaded where it is missing
  std::vector<std::string> names_;
  std::vector<bool> is_missing_;
  Buffers buffers_;
  std::vector<std::shared_ptr<const ResidentMemory>> read_;  // by the setup steps
};

absl::StatusOr<ResidentBuffers> LoadResidentBuffers(const CompiledProgram& program,
                                                    absl::Span<const HostTensor> constants,
                                                    ResidentPool& pool) {
  return ResidentLoader(program, constants, pool).Load();
}

}  // namespace tartan::evaluator
