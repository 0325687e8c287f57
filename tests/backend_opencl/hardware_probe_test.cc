// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/hardware_probe.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/match.h"

namespace tartan::opencl {
namespace {

using hal::DeviceType;

ReportedHardware Cpu() {
  ReportedHardware reported;
  reported.type = DeviceType::kCpu;
  reported.compute_units = 16;
  reported.clock_mhz = 3000;
  reported.max_work_group_size = 4096;
  reported.max_work_item_sizes = {4096, 4096, 4096};
  reported.native_float_vector_width = 16;
  reported.preferred_float_vector_width = 16;
  reported.local_memory_bytes = 512 * 1024;
  reported.cache_bytes = 32 * 1024 * 1024;
  reported.cache_line_bytes = 64;
  reported.has_float64 = true;
  return reported;
}

ReportedHardware Gpu() {
  ReportedHardware reported;
  reported.type = DeviceType::kGpu;
  reported.compute_units = 132;
  reported.clock_mhz = 1980;
  reported.max_work_group_size = 1024;
  reported.max_work_item_sizes = {1024, 1024, 64};
  reported.native_float_vector_width = 1;
  reported.preferred_float_vector_width = 1;
  reported.local_memory_is_dedicated = true;
  reported.local_memory_bytes = 48 * 1024;
  reported.cache_bytes = 4 * 1024 * 1024;
  reported.cache_line_bytes = 128;
  reported.has_float16 = true;
  reported.has_float64 = true;
  return reported;
}

TEST(SettingsFor, GivesACpuOneItemPerGroupAndVectors) {
  const HardwareSettings settings = SettingsFor(Cpu());
  EXPECT_EQ(settings.threads, 1);
  EXPECT_EQ(settings.vector_width, 16);
  EXPECT_FALSE(settings.has_local_memory);
  EXPECT_EQ(settings.compute_units, 16);
  EXPECT_EQ(settings.cache_line_bytes, 64);
  EXPECT_EQ(settings.l1_bytes, 32 * 1024);
  EXPECT_EQ(settings.l2_bytes, 1024 * 1024);        // the reported cache is L3
  EXPECT_EQ(settings.register_bytes, 32 * 16 * 4);  // AVX-512
  EXPECT_FALSE(settings.has_float16);
  EXPECT_TRUE(settings.has_float64);
}

TEST(SettingsFor, GivesAGpuGroupsAndLocalMemory) {
  const HardwareSettings settings = SettingsFor(Gpu());
  EXPECT_EQ(settings.threads, 256);
  EXPECT_EQ(settings.vector_width, 1);
  EXPECT_TRUE(settings.has_local_memory);
  EXPECT_EQ(settings.local_memory_bytes, 48 * 1024);
  EXPECT_EQ(settings.cache_line_bytes, 128);
  EXPECT_EQ(settings.l2_bytes, 4 * 1024 * 1024);
  EXPECT_EQ(settings.max_work_item_sizes[2], 64);
  EXPECT_TRUE(settings.has_float16);
}

TEST(SettingsFor, VectorisesForACpuThatReportsNoVectorWidth) {
  for (const int64_t width : {0, 1, 3, 1000}) {
    ReportedHardware reported = Cpu();
    reported.native_float_vector_width = reported.preferred_float_vector_width = width;
    EXPECT_EQ(SettingsFor(reported).vector_width, 8) << width;
  }
}

TEST(SettingsFor, HasNoVectorsWiderThanTheLanguage) {
  ReportedHardware reported = Cpu();
  reported.native_float_vector_width = 64;
  EXPECT_EQ(SettingsFor(reported).vector_width, 16);
}

TEST(SettingsFor, TakesThePreferredWidthWhereNoNativeOneIsReported) {
  ReportedHardware reported = Cpu();
  reported.native_float_vector_width = 0;
  reported.preferred_float_vector_width = 4;
  EXPECT_EQ(SettingsFor(reported).vector_width, 4);
}

CompilerFeatures Avx512() {
  CompilerFeatures compiler;
  compiler.is_x86 = compiler.sse2 = compiler.avx = compiler.avx2 = compiler.fma = true;
  compiler.avx512f = compiler.avx512bw = compiler.avx512vl = true;
  return compiler;
}

CompilerFeatures Avx2() {
  CompilerFeatures compiler = Avx512();
  compiler.avx512f = compiler.avx512bw = compiler.avx512vl = false;
  return compiler;
}

HostFeatures Vnni() {
  HostFeatures host;
  host.is_x86 = host.fma = host.avx512_vnni = host.avx_vnni = true;
  return host;
}

TEST(FollowCpu, TakesWhatBothTheCompilerAndTheProcessorHave) {
  HardwareSettings settings = SettingsFor(Cpu());
  FollowCpu(Avx512(), Vnni(), &settings);
  EXPECT_EQ(settings.packed_dot_width, 4);
  EXPECT_TRUE(settings.packs_unsigned);
  EXPECT_EQ(settings.vector_width, 16);
  EXPECT_EQ(CpuBuildOptions(Avx512(), Vnni()), "-DTARTAN_AVX512_VNNI ");
  EXPECT_FALSE(settings.prefers_one_stream);
  EXPECT_FALSE(settings.hides_l2_latency);
  HostFeatures epyc = Vnni();
  epyc.prefers_one_stream = true;
  epyc.hides_l2_latency = true;
  FollowCpu(Avx512(), epyc, &settings);
  EXPECT_TRUE(settings.prefers_one_stream);
  EXPECT_TRUE(settings.hides_l2_latency);
  // A processor without VNNI uses pairs.
  HostFeatures skylake = Vnni();
  skylake.avx512_vnni = skylake.avx_vnni = false;
  FollowCpu(Avx512(), skylake, &settings);
  EXPECT_EQ(settings.packed_dot_width, 2);
  EXPECT_FALSE(settings.packs_unsigned);
  EXPECT_EQ(CpuBuildOptions(Avx512(), skylake), "");
  // A compiler whose target has fewer features than the processor.
  FollowCpu(Avx2(), Vnni(), &settings);
  EXPECT_EQ(settings.vector_width, 8);
  EXPECT_EQ(settings.register_bytes, 16 * 8 * 4);
  EXPECT_EQ(settings.packed_dot_width, 2);
  EXPECT_EQ(CpuBuildOptions(Avx2(), Vnni()), "");
  EXPECT_TRUE(settings.has_fma);
  CompilerFeatures alder_lake = Avx2();
  alder_lake.avx_vnni = true;
  FollowCpu(alder_lake, Vnni(), &settings);
  EXPECT_EQ(settings.packed_dot_width, 4);
  CompilerFeatures sandy_bridge = Avx2();
  sandy_bridge.avx2 = sandy_bridge.fma = false;
  FollowCpu(sandy_bridge, Vnni(), &settings);
  EXPECT_EQ(settings.vector_width, 8);
  EXPECT_EQ(settings.packed_dot_width, 2);
  EXPECT_FALSE(settings.has_fma);
  sandy_bridge.avx = false;
  FollowCpu(sandy_bridge, Vnni(), &settings);
  EXPECT_EQ(settings.vector_width, 4);
}

TEST(FollowCpu, MultipliesBFloat16WhereBothCanWithVectorsOf512Bits) {
  HostFeatures zen4 = Vnni();
  zen4.avx512_bf16 = true;
  HardwareSettings settings = SettingsFor(Cpu());
  FollowCpu(Avx512(), zen4, &settings);
  EXPECT_TRUE(settings.multiplies_bfloat16);
  EXPECT_EQ(CpuBuildOptions(Avx512(), zen4), "-DTARTAN_AVX512_VNNI -DTARTAN_AVX512_BF16 ");
  for (const auto& [compiler, host] : {std::pair(Avx512(), Vnni()), std::pair(Avx2(), zen4),
                                       std::pair(CompilerFeatures{}, zen4)}) {
    FollowCpu(compiler, host, &settings);
    EXPECT_FALSE(settings.multiplies_bfloat16);
    EXPECT_FALSE(absl::StrContains(CpuBuildOptions(compiler, host), "BF16"));
  }
}

TEST(FollowCpu, KeepsWhatIsReportedWhereTheCompilerIsUnknown) {
  HardwareSettings settings = SettingsFor(Cpu());
  FollowCpu({}, Vnni(), &settings);
  EXPECT_EQ(settings.vector_width, 16);
  EXPECT_EQ(settings.packed_dot_width, 1);
  EXPECT_TRUE(settings.has_fma);
  HostFeatures old;
  old.is_x86 = true;
  FollowCpu({}, old, &settings);
  EXPECT_FALSE(settings.has_fma);
}

TEST(SettingsFor, KeepsAGpusGroupWithinWhatItReports) {
  ReportedHardware reported = Gpu();
  reported.max_work_group_size = 200;
  EXPECT_EQ(SettingsFor(reported).threads, 128);
  reported.max_work_item_sizes = {48, 1, 1};
  EXPECT_EQ(SettingsFor(reported).threads, 32);
}

TEST(SettingsFor, DoesWithoutLocalMemoryWhereItIsNoneOfItsOwn) {
  ReportedHardware reported = Gpu();
  reported.local_memory_is_dedicated = false;
  EXPECT_FALSE(SettingsFor(reported).has_local_memory);
  reported.local_memory_is_dedicated = true;
  reported.local_memory_bytes = 0;
  EXPECT_FALSE(SettingsFor(reported).has_local_memory);
}

TEST(SettingsFor, TreatsAnUnknownDeviceAsACpu) {
  ReportedHardware reported = Gpu();
  reported.type = DeviceType::kOther;
  EXPECT_EQ(SettingsFor(reported).threads, 1);
}

TEST(SettingsFor, IsUsableWhateverIsReported) {
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{7}, int64_t{1} << 40}) {
    for (const DeviceType type :
         {DeviceType::kCpu, DeviceType::kGpu, DeviceType::kAccelerator, DeviceType::kOther}) {
      ReportedHardware reported;
      reported.type = type;
      reported.compute_units = reported.clock_mhz = reported.max_work_group_size = value;
      reported.max_work_item_sizes = {value, value, value};
      reported.native_float_vector_width = reported.preferred_float_vector_width = value;
      reported.local_memory_bytes = reported.cache_bytes = reported.cache_line_bytes = value;
      const HardwareSettings settings = SettingsFor(reported);
      SCOPED_TRACE(testing::Message() << hal::Name(type) << " reporting " << value);
      EXPECT_GE(settings.threads, 1);
      EXPECT_LE(settings.threads, settings.max_work_group_size);
      EXPECT_LE(settings.threads, settings.max_work_item_sizes[0]);
      EXPECT_GE(settings.vector_width, 1);
      EXPECT_LE(settings.vector_width, 64);
      EXPECT_GE(settings.local_memory_bytes, 1);
      EXPECT_GE(settings.l1_bytes, 1);
      EXPECT_GE(settings.l2_bytes, settings.l1_bytes);
      EXPECT_GE(settings.register_bytes, 1);
      EXPECT_GE(settings.cache_line_bytes, 16);
      EXPECT_LE(settings.cache_line_bytes, 1024);
      EXPECT_GE(settings.compute_units, 1);
      EXPECT_GE(settings.clock_mhz, 0);
    }
  }
}

}  // namespace
}  // namespace tartan::opencl
