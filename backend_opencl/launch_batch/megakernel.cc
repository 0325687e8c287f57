// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/launch_batch/megakernel.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "backend_opencl/launch_batch/address_probe.h"
#include "backend_opencl/launch_batch/megakernel_source.h"
#include "tile/base/launch_batch_limits.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

bool IsCopy(const hal::Launch& launch) { return launch.entry_point == hal::kCopy; }

// Bytes that a work-item copies at a time if the data are aligned.
constexpr int64_t kCopiedBytes = 16;

// Work-groups of a launch, or pieces of a copy.
std::array<int64_t, 3> GridOf(const hal::Launch& launch) {
  constexpr int64_t kPiece = kCopiedBytes * kMegakernelGroupItems;
  if (IsCopy(launch)) return {(launch.numbers[2] + kPiece - 1) / kPiece, 1, 1};
  std::array<int64_t, 3> grid = {};
  for (int i = 0; i < 3; ++i) grid[i] = launch.global_size[i] / launch.local_size[i];
  return grid;
}

// Words of the launch's table entry. The integers of a copy are two offsets and a number of bytes;
// the offsets are added to the addresses.
size_t WordsOf(const hal::Launch& launch) {
  return kHeadWords + (IsCopy(launch) ? 3 : launch.arguments.size() + launch.numbers.size());
}

// Upper bound of the bytes in the buffers of a small launch. Empirical.
constexpr int64_t kSmallBytes = 64 << 10;

// True if one persistent work-group executes the launch as fast as many do.
bool IsSmall(const hal::Launch& launch) {
  if (IsCopy(launch)) return false;
  const auto [x, y, z] = launch.local_size;
  const auto [width, height, depth] = GridOf(launch);
  // Work-items that a team occupies: whole warps, or a power of two within a warp.
  int64_t span = kBatchWarp;
  while (span < x * y * z) span += kBatchWarp;
  while (span > 1 && span / 2 >= x * y * z) span /= 2;
  int64_t bytes = 0;
  for (const hal::BufferPtr& argument : launch.arguments) bytes += argument->size();
  return width * height * depth <= kMegakernelGroupItems / span && bytes <= kSmallBytes;
}

// True if one call of a weight-stationary kernel may execute both launches.
bool ContinuesCall(const hal::Launch& launch, const hal::Launch& next,
                   absl::Span<const std::vector<int>> kept) {
  if (IsCopy(launch) || next.entry_point != launch.entry_point) return false;
  const std::vector<int>& same = kept[static_cast<size_t>(launch.entry_point)];
  const auto is_same = [&](int argument) {
    return launch.arguments[static_cast<size_t>(argument)] ==
           next.arguments[static_cast<size_t>(argument)];
  };
  return !same.empty() && launch.global_size == launch.local_size &&
         next.global_size == launch.global_size && next.numbers == launch.numbers &&
         std::all_of(same.begin(), same.end(), is_same);
}

using Head = std::array<uint64_t, kHeadWords>;

// Computes the words that precede the arguments of each launch. All launches of a weight-stationary
// call have the barrier flag of its last launch.
std::vector<Head> HeadsOf(absl::Span<const int> cases, absl::Span<const std::vector<int>> kept,
                          absl::Span<const hal::Launch> launches) {
  std::vector<Head> heads(launches.size());
  for (size_t i = launches.size(); i-- > 0;) {
    const hal::Launch& launch = launches[i];
    const auto [width, height, depth] = GridOf(launch);
    const bool has_next = i + 1 < launches.size();
    const bool before_small = has_next && IsSmall(launches[i + 1]);
    const bool after_small = i > 0 && IsSmall(launches[i - 1]);
    const bool is_one = IsSmall(launch) && (after_small || before_small);
    const bool is_in_run = has_next && ContinuesCall(launch, launches[i + 1], kept);
    const auto pieces = static_cast<uint64_t>(width * height * depth);
    Head& head = heads[i];
    head[kCaseWord] = static_cast<uint64_t>(
        int64_t{IsCopy(launch) ? kCopyGroups : cases[static_cast<size_t>(launch.entry_point)]});
    head[kPiecesWord] = pieces;
    head[kWidthWord] = static_cast<uint64_t>(width);
    head[kHeightWord] = static_cast<uint64_t>(height);
    head[kParticipantsWord] = is_one ? 1 : pieces;
    head[kCallLaunchesWord] = is_in_run ? heads[i + 1][kCallLaunchesWord] + 1 : 1;
    head[kHasBarrierWord] =
        is_in_run ? heads[i + 1][kHasBarrierWord] : uint64_t{!is_one || !before_small};
  }
  return heads;
}

absl::StatusOr<KernelHandle> MakeKernel(cl_program program, const char* name) {
  cl_int error = CL_SUCCESS;
  KernelHandle kernel(CreateCl(&error, clCreateKernel, program, name));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("clCreateKernel of ", name)));
  return kernel;
}

}  // namespace

bool CanBeInMegakernel(const hal::Launch& launch) {
  const auto [x, y, z] = launch.local_size;
  int64_t left = int64_t{1} << 29;
  for (const int64_t size : GridOf(launch)) left /= std::max<int64_t>(size, 1);
  return left > 0 && x * y * z <= kMaxBatchWorkItems && WordsOf(launch) <= kMaxWords;
}

absl::StatusOr<std::unique_ptr<Megakernel>> Megakernel::Create(
    const OpenClContext& context, cl_program program, absl::Span<const int> cases,
    absl::Span<const std::vector<int>> kept, absl::Span<const hal::Launch> launches,
    int64_t groups) {
  TARTAN_ASSIGN_OR_RETURN(const KernelHandle address, MakeKernel(program, kAddressKernel));
  AddressProbe probe(context, address.get(), 1, 1, {});
  size_t words = 0;
  for (const hal::Launch& launch : launches) words = std::max(words, WordsOf(launch));
  std::vector<uint64_t> table(words * launches.size(), 0);
  const std::vector<Head> heads = HeadsOf(cases, kept, launches);
  auto next = table.begin();
  for (size_t i = 0; i < launches.size(); ++i) {
    const hal::Launch& launch = launches[i];
    auto word = std::copy(heads[i].begin(), heads[i].end(), next);
    auto numbers = launch.numbers.begin();
    for (const hal::BufferPtr& argument : launch.arguments) {
      TARTAN_ASSIGN_OR_RETURN(*word, probe.Ask(argument));
      if (IsCopy(launch)) *word += static_cast<uint64_t>(*numbers++);
      ++word;
    }
    std::copy(numbers, launch.numbers.end(), word);
    next += static_cast<int64_t>(words);
  }
  auto sequence = std::make_unique<Megakernel>();
  sequence->size_ = static_cast<int>(launches.size());
  groups = std::clamp<int64_t>(groups, 1, kMaxGroups);
  sequence->items_ = static_cast<size_t>(groups * kMegakernelGroupItems);
  TARTAN_ASSIGN_OR_RETURN(sequence->table_, AllocateTable(context, table));
  TARTAN_ASSIGN_OR_RETURN(sequence->state_,
                          AllocateTable(context, std::vector<uint32_t>(kStateWords, 0)));
  TARTAN_ASSIGN_OR_RETURN(sequence->kernel_, MakeKernel(program, kMegakernelName));
  const cl_kernel kernel = sequence->kernel_.get();
  const std::array<cl_mem, 2> memories = {sequence->table_.get(), sequence->state_.get()};
  for (cl_uint i = 0; i < memories.size(); ++i) {
    TARTAN_CL_CALL(clSetKernelArg, kernel, i, sizeof(cl_mem), &memories[i]);
  }
  const auto stride = static_cast<cl_int>(words);
  TARTAN_CL_CALL(clSetKernelArg, kernel, cl_uint{4}, sizeof(stride), &stride);
  return sequence;
}

cl_int Megakernel::Enqueue(cl_command_queue queue, int begin, int end, cl_event* event) {
  const std::array<cl_int, 2> numbers = {begin, end};
  for (cl_uint i = 0; i < numbers.size(); ++i) {
    const cl_int error = CallCl(clSetKernelArg, kernel_.get(), i + 2, sizeof(cl_int), &numbers[i]);
    if (error != CL_SUCCESS) return error;
  }
  const size_t group = kMegakernelGroupItems;
  return CallCl(clEnqueueNDRangeKernel, queue, kernel_.get(), 1, nullptr, &items_, &group, 0,
                nullptr, event);
}

}  // namespace tartan::opencl
