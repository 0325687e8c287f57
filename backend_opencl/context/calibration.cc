// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/context/calibration.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend_opencl/device/features/bfloat16_rate.h"
#include "proto/hal.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

using Clock = std::chrono::steady_clock;

// Samples are short, so that some are undisturbed even on a busy machine. A measurement ends after
// kMaxSeconds, or after kSteady samples and kSteadySeconds without an improvement of more than one
// percent.
constexpr double kMaxSeconds = 0.1;      // maximum duration of a measurement
constexpr double kSteadySeconds = 0.02;  // minimum time without improvement
constexpr int kSteady = 5;               // minimum samples without improvement
constexpr double kSampleMs = 2;          // duration of a sample

constexpr int64_t kMiB = int64_t{1} << 20;

// Independent multiply-add chains per work-item. Twelve cover two FMA units with a latency of five
// cycles, and fit into 16 registers with their two operands.
constexpr int kChains = 12;
constexpr int kSteps = 1024;  // multiply-adds per chain

enum KernelNumber { kNothing, kMultiplyAdd, kCopy };

constexpr char kNothingText[] = R"(
kernel void nothing(global float* out) {}
)";

constexpr char kMultiplyAddText[] = R"(
kernel void multiply_add(global float* out) {
  const floatv a = (floatv)(out[0]), b = (floatv)(out[1]);
  floatv x[CHAINS];
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) x[c] = (floatv)(out[2] + c);
  for (int i = 0; i < STEPS; ++i) {
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) x[c] = NEXT(x[c]);
  }
  floatv sum = x[0];
#pragma unroll
  for (int c = 1; c < CHAINS; ++c) sum += x[c];
  global floatv* to = (global floatv*)(out + 16);
  to[get_global_id(0)] = sum;
}
)";

// Copy kernel. On a CPU, each work-item copies a contiguous piece; on a GPU, adjacent work-items
// copy adjacent vectors.
constexpr char kCopyText[] = R"(
kernel void copy(global const float4* from, global float4* to) {
  const size_t first = get_global_id(0) * PIECE;
  for (size_t i = 0; i < PIECE; ++i) to[first + i] = from[first + i];
}
)";

struct Probe {
  hal::Device& device;
  HardwareSettings settings;
  hal::ExecutablePtr executable;
  std::unique_ptr<hal::Queue> queue;
  int64_t piece = 1;  // vectors of four floats per work-item of the copy

  bool is_cpu() const { return settings.threads == 1; }
};

absl::StatusOr<Probe> MakeProbe(hal::Device& device) {
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings,
                          device.Settings(hal::Knowledge::kCompiler));
  Probe probe{device, settings, nullptr, nullptr};
  const int64_t width = settings.vector_width;
  probe.piece = probe.is_cpu() ? 4096 : 1;
  hal::ExecutableSource source;
  source.format = "opencl-c";
  source.prologue = absl::StrCat("#define CHAINS ", kChains, "\n#define STEPS ", kSteps,
                                 "\n#define PIECE ", probe.piece, "\n#define NEXT(x) ",
                                 settings.has_fma ? "fma(x, a, b)" : "x * a + b", "\ntypedef float",
                                 width > 1 ? absl::StrCat(width) : "", " floatv;\n");
  source.kernels = {
      {"nothing", kNothingText}, {"multiply_add", kMultiplyAddText}, {"copy", kCopyText}};
  TARTAN_ASSIGN_OR_RETURN(probe.executable, device.Compile(source));
  TARTAN_ASSIGN_OR_RETURN(probe.queue, device.CreateQueue(false));
  return probe;
}

// Returns the average duration of `count` replays, in milliseconds.
absl::StatusOr<double> ReplayMs(Probe& probe, const hal::RecordingPtr& recording, int64_t count) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < count; ++i) {
    TARTAN_RETURN_IF_ERROR(probe.queue->Replay(recording));
  }
  TARTAN_RETURN_IF_ERROR(probe.queue->Finish());
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count() /
         static_cast<double>(count);
}

// Returns the minimum of `best` and of repeated samples of `take`.
absl::StatusOr<double> BestSample(double best,
                                  const std::function<absl::StatusOr<double>(double best)>& take) {
  const auto since = [](Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  };
  const auto begin = Clock::now();
  auto improved = begin;
  int steady = 0;  // samples since the last improvement
  while (since(begin) < kMaxSeconds && (steady < kSteady || since(improved) < kSteadySeconds)) {
    TARTAN_ASSIGN_OR_RETURN(const double ms, take(best));
    ++steady;
    if (ms < 0.99 * best) {
      improved = Clock::now();
      steady = 0;
    }
    best = std::min(best, ms);
  }
  return best;
}

absl::StatusOr<double> BestMs(Probe& probe, const hal::RecordingPtr& recording) {
  // Drivers finish compiling at the first launch.
  TARTAN_RETURN_IF_ERROR(ReplayMs(probe, recording, 1).status());
  TARTAN_ASSIGN_OR_RETURN(const double first, ReplayMs(probe, recording, 1));
  const auto sample = [&](double ms) {
    const double count = std::clamp(kSampleMs / ms, 1.0, 10'000.0);
    return ReplayMs(probe, recording, static_cast<int64_t>(count));
  };
  TARTAN_ASSIGN_OR_RETURN(const double best, BestSample(first, sample));
  return std::max(best, 1e-6);
}

absl::StatusOr<double> BestMs(Probe& probe, KernelNumber kernel,
                              std::vector<hal::BufferPtr> arguments, int64_t items, int64_t group) {
  hal::Launch launch;
  launch.entry_point = kernel;
  launch.arguments = std::move(arguments);
  launch.global_size = {items, 1, 1};
  launch.local_size = {group, 1, 1};
  TARTAN_ASSIGN_OR_RETURN(const hal::RecordingPtr recording,
                          probe.device.Record(probe.executable, {&launch, 1}));
  return BestMs(probe, recording);
}

absl::StatusOr<hal::BufferPtr> Zeros(Probe& probe, int64_t bytes) {
  TARTAN_ASSIGN_OR_RETURN(hal::BufferPtr buffer, probe.device.Allocate(bytes));
  const uint8_t zero[4] = {};
  TARTAN_RETURN_IF_ERROR(probe.queue->Fill(buffer, 0, bytes, zero));
  TARTAN_RETURN_IF_ERROR(probe.queue->Finish());
  return buffer;
}

absl::StatusOr<double> MeasureLaunch(Probe& probe) {
  TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr buffer, Zeros(probe, 64));
  TARTAN_ASSIGN_OR_RETURN(const double ms, BestMs(probe, kNothing, {buffer}, 1, 1));
  return 1000 * ms;
}

absl::StatusOr<double> MeasureArithmetic(Probe& probe) {
  const HardwareSettings& settings = probe.settings;
  // Enough work-items to occupy every compute unit and to make the launch cost negligible.
  const int64_t items = settings.compute_units * (probe.is_cpu() ? 16 : 64 * settings.threads);
  const int64_t bytes = 64 + 4 * items * settings.vector_width;
  TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr buffer, Zeros(probe, bytes));
  TARTAN_ASSIGN_OR_RETURN(const double ms,
                          BestMs(probe, kMultiplyAdd, {buffer}, items, settings.threads));
  const double operations = 2.0 * kChains * kSteps * settings.vector_width * items;
  return operations / ms * 1e-6;
}

struct Bandwidth {
  double gbps = 0;
  int64_t threads = 0;
};

// Returns the higher bandwidth of the driver's own copy and a copy kernel.
absl::StatusOr<Bandwidth> MeasureMemory(Probe& probe) {
  const hal::DeviceInfo& info = probe.device.info();
  const int64_t unit = 16 * probe.piece * 1024;  // bytes; multiple of a piece and of a work-group
  const int64_t most = std::min(info.max_allocation_bytes, info.memory_bytes / 8);
  const int64_t bytes =
      std::max(std::min((probe.is_cpu() ? 64 : 512) * kMiB, most) / unit, int64_t{1}) * unit;
  TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr from, Zeros(probe, bytes));
  TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr to, Zeros(probe, bytes));
  const double moved = 2.0 * bytes;
  const int64_t items = bytes / 16 / probe.piece;
  Bandwidth result;
  result.threads = probe.settings.threads;
  TARTAN_ASSIGN_OR_RETURN(double best, BestMs(probe, kCopy, {from, to}, items, result.threads));
  // A different work-group size is chosen only if it is 10 % faster.
  for (const int64_t threads : {64, 128, 512, 1024}) {
    if (probe.is_cpu() || threads > probe.settings.max_work_group_size) continue;
    TARTAN_ASSIGN_OR_RETURN(const double ms, BestMs(probe, kCopy, {from, to}, items, threads));
    if (ms > 0.9 * best) continue;
    best = ms;
    result.threads = threads;
  }
  const auto copy = [&](double) -> absl::StatusOr<double> {
    const auto start = Clock::now();
    TARTAN_RETURN_IF_ERROR(probe.queue->Copy(from, 0, to, 0, bytes));
    TARTAN_RETURN_IF_ERROR(probe.queue->Finish());
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  TARTAN_ASSIGN_OR_RETURN(best, BestSample(best, copy));
  result.gbps = moved / best * 1e-6;
  return result;
}

std::string KeyOf(const hal::DeviceInfo& info) {
  return absl::StrCat("calibration 2\n", info.platform, "\n", info.name, "\n", info.driver_version,
                      "\n", info.settings.compute_units, "\n", info.settings.vector_width);
}

}  // namespace

absl::StatusOr<Calibration> Calibrate(hal::Device& device) {
  TARTAN_ASSIGN_OR_RETURN(Probe probe, MakeProbe(device));
  Calibration calibration;
  TARTAN_ASSIGN_OR_RETURN(calibration.launch_us, MeasureLaunch(probe));
  TARTAN_ASSIGN_OR_RETURN(calibration.gflops, MeasureArithmetic(probe));
  TARTAN_ASSIGN_OR_RETURN(const Bandwidth bandwidth, MeasureMemory(probe));
  calibration.gbps = bandwidth.gbps;
  calibration.threads = bandwidth.threads;
  calibration.has_slow_dots =
      probe.settings.multiplies_bfloat16 && !HasFastDots(MeasureBFloat16Rate());
  return calibration;
}

std::optional<Calibration> LoadCalibration(DiskCache& cache, const hal::DeviceInfo& info) {
  const std::optional<std::string> payload = cache.Load(KeyOf(info));
  proto::HardwareSettings stored;
  if (!payload.has_value() || !stored.ParseFromString(*payload)) return std::nullopt;
  return Calibration{stored.gflops(), stored.gbps(), stored.launch_us(), stored.threads(),
                     !stored.multiplies_bfloat16()};
}

void StoreCalibration(DiskCache& cache, const hal::DeviceInfo& info,
                      const Calibration& calibration) {
  proto::HardwareSettings stored;
  stored.set_gflops(calibration.gflops);
  stored.set_gbps(calibration.gbps);
  stored.set_launch_us(calibration.launch_us);
  stored.set_threads(calibration.threads);
  stored.set_multiplies_bfloat16(!calibration.has_slow_dots);
  cache.Store(KeyOf(info), stored.SerializeAsString());
}

void Apply(const Calibration& calibration, HardwareSettings* settings) {
  settings->gflops = calibration.gflops;
  settings->gbps = calibration.gbps;
  settings->launch_us = calibration.launch_us;
  settings->threads = calibration.threads;
  if (calibration.has_slow_dots) settings->multiplies_bfloat16 = false;
}

}  // namespace tartan::opencl
