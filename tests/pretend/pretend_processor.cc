// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that hides processor features from LLVM, so that PoCL compiles, and
// Tartan plans, for an older processor. TARTAN_PRETEND lists prefixes of LLVM's feature names, as
// in "avx512,avxvnni". The library overrides llvm::sys::getHostCPUFeatures, which fills a
// StringMap<bool>. The struct `Map` copies the memory layout of that type, which is the same since
// LLVM 11.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

// Mangled name of bool llvm::sys::getHostCPUFeatures(StringMap<bool>&).
#define TARTAN_FEATURES _ZN4llvm3sys18getHostCPUFeaturesERNS_9StringMapIbNS_15MallocAllocatorEEE
#define TARTAN_TEXT(x) #x
#define TARTAN_NAME(x) TARTAN_TEXT(x)

struct Entry {
  size_t length;
  bool value;
};

struct Map {
  Entry** table;
  unsigned buckets, entries, tombstones, entry_size;
};

int FindLlvm(dl_phdr_info* info, size_t, void* found) {
  if (std::strstr(info->dlpi_name, "libLLVM") == nullptr) return 0;
  *static_cast<void**>(found) = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return 1;
}

bool IsTaken(std::string_view feature) {
  const char* list = std::getenv("TARTAN_PRETEND");
  for (std::string_view rest = list == nullptr ? "" : list; !rest.empty();) {
    const size_t comma = rest.find(',');
    const std::string_view prefix = rest.substr(0, comma);
    if (!prefix.empty() && feature.substr(0, prefix.size()) == prefix) return true;
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return false;
}

}  // namespace

extern "C" bool TARTAN_FEATURES(Map& features) {
  void* llvm = nullptr;
  dl_iterate_phdr(FindLlvm, &llvm);
  using Function = bool (*)(Map&);
  const auto original = llvm == nullptr
                            ? nullptr
                            : reinterpret_cast<Function>(dlsym(llvm, TARTAN_NAME(TARTAN_FEATURES)));
  if (original == nullptr || !original(features)) return false;
  for (unsigned i = 0; i < features.buckets; ++i) {
    Entry* entry = features.table[i];
    // Skips empty buckets and the tombstones of deleted entries, which are not valid addresses.
    if (entry == nullptr || reinterpret_cast<uintptr_t>(entry) > UINTPTR_MAX - 4096) continue;
    const char* name = reinterpret_cast<const char*>(entry) + features.entry_size;
    if (IsTaken({name, entry->length})) entry->value = false;
  }
  return true;
}
