// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/chunk_program.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/programs/loaded_programs.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {

absl::StatusOr<std::unique_ptr<ChunkProgram>> ChunkProgram::Create(const CacheModel& model,
                                                                   const CacheMemory& memory,
                                                                   int64_t size,
                                                                   ChunkKernels kernels) {
  std::unique_ptr<ChunkProgram> made(new ChunkProgram(model, memory.capacity(), size));
  TARTAN_ASSIGN_OR_RETURN(made->bound_, BindToCache(model, memory.capacity(), size, false));
  const bool is_exact = kernels == ChunkKernels::kOnDisk || model.session.tier == api::Tier::kExact;
  const auto tier = is_exact ? compiler::Tier::kExact : compiler::Tier::kReady;
  const auto where = kernels == ChunkKernels::kOnDisk ? api::CompileWhere::kCachedOnly
                                                      : api::CompileWhere::kInProcess;
  api::LoadedPrograms loaded(model.device->WithTier(tier), nullptr, model.session.pool);
  auto program = api::DeviceProgram::Create(loaded, made->bound_.source, nullptr, where);
  if (absl::IsInvalidArgument(program.status())) {
    return absl::UnimplementedError(program.status().message());
  }
  TARTAN_RETURN_IF_ERROR(program.status());
  made->program_ = *std::move(program);
  TARTAN_RETURN_IF_ERROR(made->program_->Bind(memory.tensors()));
  return made;
}

void ChunkProgram::CompileLater(std::shared_ptr<const CacheModel> model, int64_t capacity,
                                int64_t size, std::function<void()> then) {
  const std::shared_ptr<const api::Device> device = model->device;
  api::CompileExactLater(
      device,
      [model = std::move(model), capacity, size]() -> absl::StatusOr<api::ProgramGraph> {
        TARTAN_ASSIGN_OR_RETURN(CacheProgram bound, BindToCache(*model, capacity, size, false));
        return std::move(bound.source);
      },
      std::move(then));
}

absl::Status ChunkProgram::Read(absl::Span<const int64_t> tokens, int64_t before) {
  std::vector<int64_t> whole(tokens.begin(), tokens.end());
  whole.resize(static_cast<size_t>(size_), tokens.back());
  return program_->Start(bound_.Feed(model_.inputs, whole, before, capacity_));
}

ChunkNotes::ChunkNotes(std::shared_ptr<const CacheModel> model, int64_t size)
    : model_(std::move(model)), digest_(absl::StrCat(size, " ", model_->model->Digest())) {}

std::string ChunkNotes::KeyOf(int64_t capacity) const {
  return absl::StrCat("chunks of a decoder\n", capacity, " ", digest_);
}

ChunkNotes::Known ChunkNotes::Get(int64_t capacity) const {
  const std::optional<std::string> note = model_->device->LoadNote(KeyOf(capacity));
  if (note == "compiled") return Known::kCompiled;
  if (note == "right") return Known::kRight;
  return note == "wrong" ? Known::kWrong : Known::kNothing;
}

void ChunkNotes::Set(int64_t capacity, Known known) const {
  const char* const note = known == Known::kCompiled ? "compiled"
                           : known == Known::kRight  ? "right"
                           : known == Known::kWrong  ? "wrong"
                                                     : "";
  model_->device->StoreNote(KeyOf(capacity), note);
}

}  // namespace tartan::generate
