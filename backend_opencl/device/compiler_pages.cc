// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/compiler_pages.h"

#ifdef __linux__
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace tartan::opencl {
namespace {

bool IsOfCompiler(absl::string_view path) {
  return absl::StrContains(path, "libLLVM") || absl::StrContains(path, "libclang");
}

int ReturnText(dl_phdr_info* library, size_t, void*) {
  if (library->dlpi_name == nullptr || !IsOfCompiler(library->dlpi_name)) return 0;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    // What nobody may write is as it is in the file.
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (library->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    const uintptr_t end = (library->dlpi_addr + segment.p_vaddr + segment.p_filesz) / page * page;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the dynamic linker tells numbers
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void ReturnCompilerPages() { dl_iterate_phdr(&ReturnText, nullptr); }

}  // namespace tartan::opencl
#else
namespace tartan::opencl {
void ReturnCompilerPages() {}
}  // namespace tartan::opencl
#endif
