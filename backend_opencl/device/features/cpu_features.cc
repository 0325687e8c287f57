// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/cpu_features.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backend_opencl/device/features/probe_program.h"
#include "tile/base/status_macros.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace tartan::opencl {
namespace {

struct Feature {
  absl::string_view macro;
  bool CompilerFeatures::*field;
};

constexpr Feature kFeatures[] = {
    {"__x86_64__", &CompilerFeatures::is_x86},     {"__i386__", &CompilerFeatures::is_x86},
    {"__aarch64__", &CompilerFeatures::is_arm64},  {"__SSE2__", &CompilerFeatures::sse2},
    {"__AVX__", &CompilerFeatures::avx},           {"__AVX2__", &CompilerFeatures::avx2},
    {"__FMA__", &CompilerFeatures::fma},           {"__FMA4__", &CompilerFeatures::fma},
    {"__AVX512F__", &CompilerFeatures::avx512f},   {"__AVX512BW__", &CompilerFeatures::avx512bw},
    {"__AVX512VL__", &CompilerFeatures::avx512vl}, {"__AVXVNNI__", &CompilerFeatures::avx_vnni},
};

constexpr absl::string_view kPrefix = "tartan_has";

// Source with one kernel per defined macro. The kernels' names can be queried, while some drivers
// print warnings and build failures to stderr.
std::string Question() {
  std::string text = absl::StrCat("__kernel void ", kPrefix, "() {}\n");
  for (const Feature& feature : kFeatures) {
    absl::StrAppend(&text, "#ifdef ", feature.macro, "\n__kernel void ", kPrefix, feature.macro,
                    "() {}\n#endif\n");
  }
  return text;
}

CompilerFeatures FromNames(absl::string_view names) {
  const std::set<absl::string_view> kernels = absl::StrSplit(names, ';');
  CompilerFeatures features;
  for (const Feature& feature : kFeatures) {
    if (kernels.count(absl::StrCat(kPrefix, feature.macro)) > 0) features.*feature.field = true;
  }
  return features;
}

#if defined(__x86_64__) || defined(__i386__)
std::string Maker() {
  unsigned a = 0;
  std::array<unsigned, 3> letters = {};
  if (__get_cpuid(0, &a, letters.data(), &letters[2], &letters[1]) == 0) return "";
  std::string maker(sizeof(letters), '\0');
  std::memcpy(maker.data(), letters.data(), sizeof(letters));
  return maker;
}

constexpr unsigned kZen5Family = 26;

// Extracts the processor family from register eax of cpuid leaf 1.
unsigned Family(unsigned signature) {
  const unsigned family = signature >> 8 & 15;
  return family == 15 ? family + (signature >> 20 & 255) : family;
}
#endif

}  // namespace

HostFeatures ReadHostFeatures() {
  HostFeatures host;
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const auto ask = [&](unsigned leaf, unsigned part) {
    const bool answered = __get_cpuid_count(leaf, part, &a, &b, &c, &d) != 0;
    if (!answered) a = b = c = d = 0;
    if (leaf == 1) b = 0;  // ebx contains the number of the current core
    absl::StrAppend(&host.identity, leaf, ".", part, ":", absl::Hex(a), ",", absl::Hex(b), ",",
                    absl::Hex(c), ",", absl::Hex(d), " ");
  };
  host.is_x86 = true;
  const std::string maker = Maker();
  host.prefers_one_stream = maker == "AuthenticAMD" || maker == "HygonGenuine";
  ask(1, 0);
  host.hides_l2_latency = maker == "AuthenticAMD" && Family(a) >= kZen5Family;
  host.fma = (c >> 12 & 1) != 0;
  ask(7, 0);
  host.avx512_vnni = (c >> 11 & 1) != 0;
  ask(7, 1);
  host.avx_vnni = (a >> 4 & 1) != 0;
  host.avx512_bf16 = (a >> 5 & 1) != 0;
#endif
  return host;
}

absl::StatusOr<CompilerFeatures> ReadCompilerFeatures(cl_context context, cl_device_id device) {
  TARTAN_ASSIGN_OR_RETURN(const ProgramHandle program, BuildProbe(context, device, Question()));
  size_t size = 0;
  TARTAN_CL_CALL(clGetProgramInfo, program.get(), CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size);
  std::string names(size, '\0');
  TARTAN_CL_CALL(clGetProgramInfo, program.get(), CL_PROGRAM_KERNEL_NAMES, size, names.data(),
                 nullptr);
  names.resize(std::min(names.size(), names.find('\0')));
  return FromNames(names);
}

std::string ToText(const CompilerFeatures& features) {
  std::vector<std::string> names = {std::string(kPrefix)};
  for (const Feature& feature : kFeatures) {
    if (features.*feature.field) names.push_back(absl::StrCat(kPrefix, feature.macro));
  }
  return absl::StrJoin(names, ";");
}

std::optional<CompilerFeatures> FeaturesFromText(absl::string_view text) {
  const std::vector<absl::string_view> names = absl::StrSplit(text, ';');
  if (names.empty() || names[0] != kPrefix) return std::nullopt;
  return FromNames(text);
}

}  // namespace tartan::opencl
