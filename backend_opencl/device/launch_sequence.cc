// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/launch_sequence.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backend_opencl/device/opencl_buffer.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

constexpr char kName[] = "tartan_sequence";

// `taken` and `done` count work-items of a launch. A thread that waits long gives its processor to
// others: what it waits for may be done by a thread that has none.
constexpr char kFunctions[] = R"(
#ifdef TARTAN_PORTABLE
static int tt_take(__global volatile int* taken, int count) { return atomic_add(taken, count); }
static void tt_note(__global volatile int* done, int count) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  atomic_add(done, count);
}
static void tt_wait(__global volatile int* done, int count) {
  while (atomic_add(done, 0) < count) {}
  mem_fence(CLK_GLOBAL_MEM_FENCE);
}
#else
static int tt_take(__global volatile int* taken, int count) {
  return __atomic_fetch_add(taken, count, __ATOMIC_RELAXED);
}
static void tt_note(__global volatile int* done, int count) {
  __atomic_fetch_add(done, count, __ATOMIC_SEQ_CST);
}
static void tt_wait(__global volatile int* done, int count) {
  for (int i = 0; __atomic_load_n(done, __ATOMIC_ACQUIRE) < count; ++i) {
#ifdef __x86_64__
    __asm__ volatile("pause");
#ifdef __linux__
    ulong result = 24;
    if ((i & 255) == 255) __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
#endif
#endif
  }
}
#endif
)";

// `steps`: of each launch the kernel's case, its first argument, its work-items, how many are taken
// at once, and the width and height of its grid. `counters`: how many work-groups have ended, and
// from kCountersPerStep on what is taken and done of each launch, in cache lines of their own. They
// are zero when no run is under way. With a negative end, the address of `buffer` is found out.
constexpr int kCountersPerStep = 32;
constexpr char kKernel[] = R"(
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void tartan_sequence(__global const int* steps, __global ulong* arguments,
                     __global volatile int* counters, __global char* buffer, const int begin,
                     const int end) {
  if (end < 0) {
    arguments[begin] = (ulong)buffer;
    return;
  }
  for (int s = begin; s < end; ++s) {
    __global const int* step = steps + 6 * s;
    const int items = step[2];
    const int chunk = step[3];
    __global const ulong* a = arguments + step[1];
    __global volatile int* taken = counters + 32 * (s + 1);
    __global volatile int* done = taken + 16;
    for (int first; (first = tt_take(taken, chunk)) < items;) {
      const int last = min(first + chunk, items);
      switch (step[0]) {
$CASES      }
      tt_note(done, last - first);
    }
    tt_wait(done, items);
  }
  if (tt_take(counters, 1) + 1 < (int)get_num_groups(0)) return;
  for (int s = begin; s < end; ++s) {
    counters[32 * (s + 1)] = 0;
    counters[32 * (s + 1) + 16] = 0;
  }
  counters[0] = 0;
}
)";

// So many pieces of a launch for each thread even out that some take longer.
constexpr int64_t kPiecesPerWorker = 4;

absl::StatusOr<MemoryHandle> Allocate(const OpenClContext& context, size_t bytes,
                                      const void* values) {
  cl_int error = CL_SUCCESS;
  MemoryHandle memory(CreateCl(&error, clCreateBuffer, context.context(),
                               cl_mem_flags{CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR}, bytes,
                               const_cast<void*>(values)));
  if (!IsOutOfMemory(error)) TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateBuffer"));
  if (error != CL_SUCCESS) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a table of ", bytes, " bytes: ", ErrorName(error), "; ", context.FreeMemoryText()));
  }
  return memory;
}

template <class T>
absl::StatusOr<MemoryHandle> Allocate(const OpenClContext& context, const std::vector<T>& values) {
  return Allocate(context, values.size() * sizeof(T), values.data());
}

// Finds out where buffers lie that nobody has asked for before.
class AddressProbe {
 public:
  AddressProbe(const OpenClContext& context, cl_kernel kernel)
      : context_(context), kernel_(kernel) {}

  absl::StatusOr<uint64_t> AddressOf(const hal::BufferPtr& buffer) {
    const hal::BufferPtr& root = buffer->parent() == nullptr ? buffer : buffer->parent();
    auto& memory = static_cast<OpenClBuffer&>(*root);
    if (memory.address() == 0) {
      TARTAN_ASSIGN_OR_RETURN(const uint64_t found, Find(memory.memory()));
      memory.SetAddress(found);
    }
    return memory.address() + static_cast<uint64_t>(buffer->offset());
  }

 private:
  absl::StatusOr<uint64_t> Find(cl_mem memory) {
    uint64_t address = 0;
    if (!queue_) {
      cl_int error = CL_SUCCESS;
      queue_ = QueueHandle(CreateCl(&error, clCreateCommandQueue, context_.context(), context_.id(),
                                    cl_command_queue_properties{0}));
      TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateCommandQueue"));
      TARTAN_ASSIGN_OR_RETURN(result_, Allocate(context_, sizeof(address), &address));
    }
    const cl_mem result = result_.get();
    const cl_int first = 0;
    const cl_int probe = -1;
    for (cl_uint i : {0U, 1U, 2U}) {
      TARTAN_CL_CALL(clSetKernelArg, kernel_, i, sizeof(result), &result);
    }
    TARTAN_CL_CALL(clSetKernelArg, kernel_, 3, sizeof(memory), &memory);
    TARTAN_CL_CALL(clSetKernelArg, kernel_, 4, sizeof(first), &first);
    TARTAN_CL_CALL(clSetKernelArg, kernel_, 5, sizeof(probe), &probe);
    const size_t one = 1;
    TARTAN_CL_CALL(clEnqueueNDRangeKernel, queue_.get(), kernel_, 1, nullptr, &one, &one, 0,
                   nullptr, nullptr);
    TARTAN_CL_CALL(clEnqueueReadBuffer, queue_.get(), result, CL_TRUE, 0, sizeof(address), &address,
                   0, nullptr, nullptr);
    if (address == 0) return absl::InternalError("the driver gives a buffer no address");
    return address;
  }

  const OpenClContext& context_;
  const cl_kernel kernel_;
  QueueHandle queue_;
  MemoryHandle result_;
};

}  // namespace

std::string SequenceSource(absl::Span<const hal::KernelSource> kernels) {
  std::string cases;
  int next = 0;
  for (const hal::KernelSource& kernel : kernels) {
    if (!kernel.in_sequence) continue;
    absl::StrAppend(&cases, "        case ", next++, ": ", kernel.name,
                    "_items(a, first, last, step[4], step[5]); break;\n");
  }
  if (cases.empty()) return "";
  std::string text = absl::StrCat(kFunctions, kKernel);
  const std::string mark = "$CASES";
  return text.replace(text.find(mark), mark.size(), cases);
}

int EntryPointCount(absl::Span<const hal::KernelSource> kernels) {
  const auto in_sequence =
      std::count_if(kernels.begin(), kernels.end(),
                    [](const hal::KernelSource& kernel) { return kernel.in_sequence; });
  return static_cast<int>(kernels.size()) - static_cast<int>(in_sequence) +
         (in_sequence > 0 ? 1 : 0);
}

bool MayBeInSequence(const hal::Launch& launch) {
  int64_t left = int64_t{1} << 29;
  for (const int64_t size : launch.global_size) left /= std::max<int64_t>(size, 1);
  return left > 0;
}

absl::StatusOr<std::unique_ptr<LaunchSequence>> LaunchSequence::Create(
    const OpenClContext& context, cl_program program, absl::Span<const int> cases,
    absl::Span<const hal::Launch> launches) {
  auto sequence = std::unique_ptr<LaunchSequence>(new LaunchSequence());
  sequence->size_ = static_cast<int>(launches.size());
  // Threads that share a processor would wait for each other.
  const int64_t processors = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  const int64_t units = std::max<int64_t>(context.info().settings.compute_units, 1);
  sequence->workers_ = static_cast<size_t>(std::min(units, processors));
  cl_int error = CL_SUCCESS;
  sequence->kernel_ = KernelHandle(CreateCl(&error, clCreateKernel, program, +kName));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("clCreateKernel of ", kName)));
  AddressProbe probe(context, sequence->kernel_.get());
  std::vector<int32_t> steps;
  std::vector<uint64_t> arguments;
  for (const hal::Launch& launch : launches) {
    const auto& [width, height, depth] = launch.global_size;
    const int64_t items = width * height * depth;
    const int64_t pieces =
        sequence->workers_ == 1 ? 1 : static_cast<int64_t>(sequence->workers_) * kPiecesPerWorker;
    steps.push_back(cases[launch.entry_point]);
    steps.push_back(static_cast<int32_t>(arguments.size()));
    steps.push_back(static_cast<int32_t>(items));
    steps.push_back(static_cast<int32_t>((items + pieces - 1) / pieces));
    steps.push_back(static_cast<int32_t>(width));
    steps.push_back(static_cast<int32_t>(height));
    for (const hal::BufferPtr& buffer : launch.arguments) {
      TARTAN_ASSIGN_OR_RETURN(arguments.emplace_back(), probe.AddressOf(buffer));
    }
    arguments.insert(arguments.end(), launch.numbers.begin(), launch.numbers.end());
  }
  const std::vector<int32_t> counters(kCountersPerStep * (launches.size() + 1), 0);
  TARTAN_ASSIGN_OR_RETURN(sequence->steps_, Allocate(context, steps));
  TARTAN_ASSIGN_OR_RETURN(sequence->arguments_, Allocate(context, arguments));
  TARTAN_ASSIGN_OR_RETURN(sequence->counters_, Allocate(context, counters));
  const std::array<cl_mem, 4> memories = {sequence->steps_.get(), sequence->arguments_.get(),
                                          sequence->counters_.get(), sequence->steps_.get()};
  for (cl_uint i = 0; i < memories.size(); ++i) {
    TARTAN_CL_CALL(clSetKernelArg, sequence->kernel_.get(), i, sizeof(cl_mem), &memories[i]);
  }
  return sequence;
}

cl_int LaunchSequence::Enqueue(cl_command_queue queue, int begin, int end, cl_event* event) const {
  for (const auto& [position, value] : {std::pair(4U, begin), std::pair(5U, end)}) {
    const cl_int number = value;
    const cl_int error = CallCl(clSetKernelArg, kernel_.get(), position, sizeof(number), &number);
    if (error != CL_SUCCESS) return error;
  }
  const size_t one = 1;
  return CallCl(clEnqueueNDRangeKernel, queue, kernel_.get(), 1, nullptr, &workers_, &one, 0,
                nullptr, event);
}

}  // namespace tartan::opencl
