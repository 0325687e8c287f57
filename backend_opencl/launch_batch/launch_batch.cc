// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/launch_batch/launch_batch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backend_opencl/launch_batch/address_probe.h"
#include "backend_opencl/launch_batch/launch_batch_source.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

// Pieces of a launch per thread, for load balancing. Empirical.
constexpr int64_t kPiecesPerWorker = 4;

AddressProbe MakeProbe(const OpenClContext& context, cl_kernel kernel) {
  return {context, kernel, 3, kAddressCount, {0, -1, 0, 0}};
}

int64_t Nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool MayBeInSequence(const hal::Launch& launch) {
  int64_t left = int64_t{1} << 29;
  for (const int64_t size : launch.global_size) left /= std::max<int64_t>(size, 1);
  return left > 0;
}

absl::StatusOr<std::unique_ptr<LaunchBatch>> LaunchBatch::Create(
    const OpenClContext& context, cl_program program, absl::Span<const int> cases,
    absl::Span<const hal::Launch> launches) {
  auto sequence = std::unique_ptr<LaunchBatch>(new LaunchBatch(context));
  sequence->size_ = static_cast<int>(launches.size());
  // Threads that share a processor would spin while waiting for each other.
  const int64_t processors = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  const int64_t units = std::max<int64_t>(context.info().settings.compute_units, 1);
  sequence->workers_ = static_cast<size_t>(std::min(units, processors));
  cl_int error = CL_SUCCESS;
  sequence->kernel_ =
      KernelHandle(CreateCl(&error, clCreateKernel, program, +kLaunchBatchKernelName));
  TARTAN_RETURN_IF_ERROR(
      ToStatus(error, absl::StrCat("clCreateKernel of ", kLaunchBatchKernelName)));
  AddressProbe probe = MakeProbe(context, sequence->kernel_.get());
  std::vector<int32_t> steps;
  std::vector<uint64_t> arguments;
  const int64_t pieces =
      sequence->workers_ == 1 ? 1 : static_cast<int64_t>(sequence->workers_) * kPiecesPerWorker;
  for (const hal::Launch& launch : launches) {
    const bool is_copy = launch.entry_point == hal::kCopy;
    const std::array<int64_t, 3> grid =
        is_copy ? std::array<int64_t, 3>{(launch.numbers[2] + kBlockBytes - 1) / kBlockBytes, 1, 1}
                : launch.global_size;
    const int64_t items = grid[0] * grid[1] * grid[2];
    const int64_t chunk = std::max<int64_t>((items + pieces - 1) / pieces, 1);
    for (const int64_t number : {int64_t{is_copy ? kCopyCase : cases[launch.entry_point]},
                                 static_cast<int64_t>(arguments.size()), items, chunk, grid[0],
                                 grid[1], (items + chunk - 1) / chunk}) {
      steps.push_back(static_cast<int32_t>(number));
    }
    for (size_t b = 0; b < launch.arguments.size(); ++b) {
      TARTAN_ASSIGN_OR_RETURN(arguments.emplace_back(), probe.Ask(launch.arguments[b]));
      if (is_copy) arguments.back() += static_cast<uint64_t>(launch.numbers[b]);
    }
    const auto first_number = launch.numbers.begin() + (is_copy ? 2 : 0);
    arguments.insert(arguments.end(), first_number, launch.numbers.end());
  }
  TARTAN_ASSIGN_OR_RETURN(sequence->steps_, AllocateTable(context, steps));
  TARTAN_ASSIGN_OR_RETURN(sequence->arguments_, AllocateTable(context, arguments));
  TARTAN_RETURN_IF_ERROR(sequence->MakeCounters());
  return sequence;
}

absl::Status LaunchBatch::MakeCounters() {
  const std::vector<int32_t> zeros(static_cast<size_t>(kCountersPerStep) * size_, 0);
  TARTAN_ASSIGN_OR_RETURN(counters_, AllocateTable(context_, zeros));
  AddressProbe probe = MakeProbe(context_, kernel_.get());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<uint64_t> places,
                          probe.Find({steps_.get(), arguments_.get(), counters_.get()}));
  std::copy_n(places.begin(), places_.size(), places_.begin());
  // The probe's result buffer is released with the probe, so another buffer replaces it as the
  // argument.
  const cl_mem unused = counters_.get();
  TARTAN_CL_CALL(clSetKernelArg, kernel_.get(), 3, sizeof(unused), &unused);
  code_ = LaunchBatchCode::At(places_[kCodeAddress]);
  run_ = 0;
  is_broken_ = false;
  return absl::OkStatus();
}

absl::Status LaunchBatch::ResetAfterFailure(cl_command_queue queue) {
  if (!is_broken_) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(ToStatus(CallCl(clFinish, queue), "clFinish"));
  return MakeCounters();
}

cl_int LaunchBatch::Launch(cl_command_queue queue, int begin, int end, size_t workers, bool alone,
                           cl_event* event) {
  const std::array<cl_int, 4> numbers = {begin, end, static_cast<cl_int>(run_), alone ? 1 : 0};
  for (cl_uint i = 0; i < numbers.size(); ++i) {
    const cl_int error = CallCl(clSetKernelArg, kernel_.get(), i + 4, sizeof(cl_int), &numbers[i]);
    if (error != CL_SUCCESS) return error;
  }
  const size_t one = 1;
  return CallCl(clEnqueueNDRangeKernel, queue, kernel_.get(), 1, nullptr, &workers, &one, 0,
                nullptr, event);
}

cl_int LaunchBatch::Enqueue(cl_command_queue queue, int begin, int end, cl_event* event) {
  const bool alone = workers_ == 1;
  const cl_int error = Launch(queue, begin, end, workers_, alone, event);
  if (error != CL_SUCCESS) {
    is_broken_ = true;
  } else if (end == size_ && !alone) {
    ++run_;
  }
  return error;
}

bool LaunchBatch::RunOnHost(cl_command_queue queue) {
  const bool wants_help = workers_ > 1 && help_.WantsHelp();
  const int64_t start = Nanoseconds();
  const bool has_help =
      wants_help && Launch(queue, 0, size_, workers_ - 1, /*alone=*/false, nullptr) == CL_SUCCESS;
  if (has_help) CallCl(clFlush, queue);
  code_->Run(places_, size_, run_, /*alone=*/!has_help);
  if (has_help) ++run_;
  help_.Note(wants_help, Nanoseconds() - start);
  return has_help;
}

}  // namespace tartan::opencl
