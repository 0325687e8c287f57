// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/kernel_library.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/digest.h"
#include "tile/base/status_macros.h"

namespace tartan::evaluator {
namespace {

std::string KeyOf(const hal::ExecutableSource& source, const hal::KernelSource& kernel) {
  return absl::StrCat(source.options, "\n", kernel.source);
}

std::string KernelKey(const KernelLibrary::Disk& disk, absl::string_view kernel) {
  return absl::StrCat("kernel\n", disk.key, "\n", kernel);
}

std::string ExecutableKey(const KernelLibrary::Disk& disk, absl::string_view digest) {
  return absl::StrCat("executable\n", disk.key, "\n", digest);
}

// Serializes the kernel texts alone.
std::string Serialize(const hal::ExecutableSource& source) {
  ProgramSource program;
  program.source = source;
  for (const hal::KernelSource& kernel : source.kernels) {
    program.list.kernels.emplace_back().name = kernel.name;
  }
  return SerializeProgram(program);
}

// Records on disk which executable contains each of these kernels, for later processes.
void Keep(const hal::ExecutableSource& source, const std::vector<int>& positions,
          const std::vector<BuiltKernel>& built, const KernelLibrary::Disk& disk) {
  // The kernels of each executable in the order of their entry points, which is its source.
  std::map<const hal::Executable*, std::map<int, int>> executables;
  for (size_t m = 0; m < positions.size(); ++m) {
    executables[built[m].executable.get()][built[m].entry_point] = positions[m];
  }
  for (const auto& [executable, kernels] : executables) {
    hal::ExecutableSource part{source.format, source.prologue, {}, source.options};
    for (const auto& [entry_point, position] : kernels) {
      part.kernels.push_back(source.kernels[position]);
    }
    const std::string bytes = Serialize(part);
    const std::string digest = Digest(bytes);
    disk.store.store(ExecutableKey(disk, digest), bytes);
    for (const hal::KernelSource& kernel : part.kernels) {
      disk.store.store(KernelKey(disk, KeyOf(part, kernel)), digest);
    }
  }
}

}  // namespace

void KernelLibrary::Restore(hal::Device& device, const hal::ExecutableSource& source,
                            const std::string& key, const Disk& disk) {
  const std::optional<std::string> digest = disk.store.load(KernelKey(disk, key));
  if (!digest.has_value()) return;
  const std::optional<std::string> bytes = disk.store.load(ExecutableKey(disk, *digest));
  std::optional<ProgramSource> program = bytes.has_value() ? ParseProgram(*bytes) : std::nullopt;
  if (!program.has_value()) return;
  program->source.format = source.format;
  program->source.options = source.options;
  if (!disk.is_compiled(program->source)) return;
  const absl::StatusOr<hal::ExecutablePtr> executable = device.Compile(program->source);
  if (!executable.ok()) return;  // these kernels are built anyway
  for (size_t k = 0; k < program->source.kernels.size(); ++k) {
    kernels_.insert(
        {KeyOf(source, program->source.kernels[k]), {*executable, static_cast<int>(k)}});
  }
}

absl::StatusOr<std::vector<BuiltKernel>> KernelLibrary::Get(hal::Device& device,
                                                            const hal::ExecutableSource& source,
                                                            const Disk& disk, const Build& build) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (kernels_.size() > capacity_) kernels_.clear();
  std::vector<BuiltKernel> kernels(source.kernels.size());
  std::vector<int> missing;
  for (size_t k = 0; k < source.kernels.size(); ++k) {
    const std::string key = KeyOf(source, source.kernels[k]);
    auto found = kernels_.find(key);
    if (found == kernels_.end() && disk.store.load && disk.is_compiled) {
      Restore(device, source, key, disk);
      found = kernels_.find(key);
    }
    if (found == kernels_.end()) {
      missing.push_back(static_cast<int>(k));
    } else {
      kernels[k] = found->second;
    }
  }
  if (missing.empty()) return kernels;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<BuiltKernel> built, build(missing));
  for (size_t m = 0; m < missing.size(); ++m) {
    kernels[missing[m]] = built[m];
    kernels_.emplace(KeyOf(source, source.kernels[missing[m]]), built[m]);
  }
  if (disk.store.store) Keep(source, missing, built, disk);
  return kernels;
}

}  // namespace tartan::evaluator
