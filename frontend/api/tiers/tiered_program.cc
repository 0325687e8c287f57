// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/tiered_program.h"

#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "frontend/api/tiers/compile_in_processes.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/compile_kernels.h"

namespace tartan::api {
namespace {

using LoadedPtr = std::shared_ptr<evaluator::LoadedProgram>;

Repayment RepaymentOf(const evaluator::LoadedProgram& loaded, const ExactSource* exact) {
  if (exact == nullptr) return Repayment({}, {});
  return Repayment(exact->common->rule,
                   ForecastExact(loaded.program(), exact->common->device->info()));
}

absl::StatusOr<LoadedPtr> MakeProgram(const ExactSource& source, bool apart,
                                      const Background::ContinueCallback& should_continue) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<LoadedPtr> {
    const ExactPrograms& common = *source.common;
    if (common.before_compile) TARTAN_RETURN_IF_ERROR(common.before_compile());
    if (!should_continue()) return absl::CancelledError("the compilation is no longer needed");
    if (apart) {
      TARTAN_RETURN_IF_ERROR(CompileInProcesses(*common.device, source.program, should_continue));
    }
    TARTAN_ASSIGN_OR_RETURN(const auto compiled, common.device->Compile(source.program));
    if (!compiled->has_all_kernels()) {
      TARTAN_RETURN_IF_ERROR(evaluator::CompileKernels(*compiled, should_continue));
    }
    if (!should_continue()) return absl::CancelledError("the compilation is no longer needed");
    return evaluator::LoadedProgram::Load(compiled, source.constants, common.pool.get());
  });
}

void TellFailure(const absl::Status& status, ExactPrograms* common) {
  if (common->has_reported_failure.exchange(true) || common->device->quiet()) return;
  std::fprintf(stderr, "tartan: runs continue with slower kernels, because exact ones failed: %s\n",
               std::string(status.message()).c_str());
}

}  // namespace

TieredProgram::TieredProgram(LoadedPtr loaded, bool is_ready, proto::Program source,
                             std::shared_ptr<const ExactSource> exact)
    : source_(std::move(source)),
      loaded_(std::move(loaded)),
      is_ready_(is_ready),
      repayment_(RepaymentOf(*loaded_, exact.get())),
      state_(exact == nullptr ? State::kSettled : State::kReady),
      exact_(std::move(exact)) {}

LoadedPtr TieredProgram::loaded() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return loaded_;
}

bool TieredProgram::is_ready() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return is_ready_;
}

LoadedPtr TieredProgram::BeginRun(RunStatistics* statistics) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++(loaded_->program().host() != nullptr ? statistics->host_programs
     : is_ready_                          ? statistics->ready_programs
                                          : statistics->exact_programs);
  return loaded_;
}

void TieredProgram::EndRun(double ms) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (state_ != State::kReady || !repayment_.AddRun(ms)) return;
  }
  RequestExact();
}

LoadedPtr TieredProgram::TakeReplaced(const evaluator::LoadedProgram& used) {
  std::lock_guard<std::mutex> lock(mutex_);
  return &used == loaded_.get() ? std::exchange(replaced_, nullptr) : nullptr;
}

void TieredProgram::RequestExact() {
  const std::weak_ptr<TieredProgram> weak = weak_from_this();
  Background::OfProcess().Add({[weak] {
                                 const auto program = weak.lock();
                                 return program == nullptr ? -1 : program->Urgency();
                               },
                               [weak](const Background::ContinueCallback& should_continue) {
                                 MakeInBackground(weak, should_continue);
                               }});
}

double TieredProgram::Urgency() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return state_ == State::kReady ? repayment_.lost_ms() : -1;
}

std::shared_ptr<const ExactSource> TieredProgram::BeginMaking() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (state_ != State::kReady) return nullptr;
  state_ = State::kMaking;
  return exact_;
}

void TieredProgram::EndMaking(Making made) {
  LoadedPtr replaced;  // released after unlocking
  std::shared_ptr<const ExactSource> exact;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (absl::IsCancelled(made.status())) {
      state_ = State::kReady;
    } else {
      state_ = State::kSettled;
      exact = std::move(exact_);
      failure_ = made.status();
    }
    if (made.ok()) {
      replaced = std::exchange(loaded_, *std::move(made));
      is_ready_ = false;
      if (exact->common->compares_kernels) replaced_ = replaced;
    }
  }
  settled_.notify_all();
  if (exact != nullptr && !made.ok()) TellFailure(made.status(), exact->common.get());
}

void TieredProgram::MakeInBackground(const std::weak_ptr<TieredProgram>& weak,
                                     const Background::ContinueCallback& should_continue) {
  std::shared_ptr<const ExactSource> source;
  if (const auto program = weak.lock()) source = program->BeginMaking();
  if (source == nullptr) return;
  Making made = MakeProgram(*source, /*apart=*/true, [&] {
    if (!source->common->completes_compilations) return !weak.expired() && should_continue();
    IdleTime::OfProcess().MayWork();  // stops and continues the compiler
    return true;
  });
  if (const auto program = weak.lock()) program->EndMaking(std::move(made));
}

absl::Status TieredProgram::MakeExact() {
  while (true) {
    if (const std::shared_ptr<const ExactSource> source = BeginMaking()) {
      const Background::Pause pause;
      EndMaking(MakeProgram(*source, /*apart=*/false, [] { return true; }));
    }
    std::unique_lock<std::mutex> lock(mutex_);
    settled_.wait(lock, [&] { return state_ != State::kMaking; });
    if (state_ == State::kSettled) return failure_;
  }
}

}  // namespace tartan::api
