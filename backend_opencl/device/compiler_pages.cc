// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/compiler_pages.h"

#ifdef __linux__
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/cache/file_io.h"
#include "backend_opencl/device/missing_device.h"

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
    // Read-only segments are identical to the file, so they can be dropped.
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (library->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    const uintptr_t end = (library->dlpi_addr + segment.p_vaddr + segment.p_filesz) / page * page;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the dynamic linker tells numbers
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

// Maximum size in bytes of a driver library that is parsed. Drivers are small compared with the
// libraries that they depend on.
constexpr int64_t kMaxDriverBytes = int64_t{256} << 20;

// A library's file. Reads outside the file return nothing.
class LibraryFile {
 public:
  explicit LibraryFile(const std::string& path) {
    if (!ReadWholeFile(path, kMaxDriverBytes, &bytes_)) bytes_.clear();
  }

  template <class T>
  std::vector<T> Read(uint64_t offset, uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return {};
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), bytes_.data() + offset, count * sizeof(T));
    return values;
  }

  std::string Text(uint64_t offset) const {
    if (offset >= bytes_.size()) return "";
    const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, std::find(begin, bytes_.end(), '\0')};
  }

 private:
  std::string bytes_;
};

// Returns the path at which the dynamic linker would find the library. Distributions put drivers
// into the same folder as the OpenCL loader.
std::string PathOf(const std::string& driver) {
  if (absl::StrContains(driver, '/')) return driver;
  Dl_info loader;
  if (dladdr(reinterpret_cast<void*>(&clGetPlatformIDs), &loader) == 0) return "";
  return std::filesystem::path(loader.dli_fname).parent_path() / driver;
}

}  // namespace

void ReturnCompilerPages() { dl_iterate_phdr(&ReturnText, nullptr); }

std::vector<std::string> NeededLibraries(const std::string& path) {
  const LibraryFile file(path);
  const auto header = file.Read<ElfW(Ehdr)>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto segments = file.Read<ElfW(Phdr)>(header[0].e_phoff, header[0].e_phnum);
  std::vector<ElfW(Dyn)> entries;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    entries = file.Read<ElfW(Dyn)>(segment.p_offset, segment.p_filesz / sizeof(ElfW(Dyn)));
  }
  const auto texts = std::find_if(entries.begin(), entries.end(),
                                  [](const ElfW(Dyn) & entry) { return entry.d_tag == DT_STRTAB; });
  if (texts == entries.end()) return {};
  // Dynamic section entries contain addresses, which are converted to file offsets.
  uint64_t texts_offset = 0;
  for (const ElfW(Phdr) & segment : segments) {
    const uint64_t distance = texts->d_un.d_ptr - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || distance >= segment.p_filesz) continue;
    texts_offset = segment.p_offset + distance;
  }
  std::vector<std::string> needed;
  for (const ElfW(Dyn) & entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) needed.push_back(file.Text(texts_offset + entry.d_un.d_val));
  }
  return needed;
}

void LoadCompilers() {
  for (const std::string& driver : InstalledDrivers()) {
    if (!absl::StrContains(driver, "pocl")) continue;
    std::vector<std::string> needed = NeededLibraries(PathOf(driver));
    // LLVM is loaded first, because the other libraries depend on it.
    std::stable_sort(needed.begin(), needed.end(), [](const std::string& a, const std::string& b) {
      return absl::StrContains(a, "libLLVM") && !absl::StrContains(b, "libLLVM");
    });
    for (const std::string& library : needed) {
      if (!IsOfCompiler(library)) continue;
      dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);  // stays loaded for the driver
      ReturnCompilerPages();
    }
  }
}

}  // namespace tartan::opencl
#else
namespace tartan::opencl {
void ReturnCompilerPages() {}
void LoadCompilers() {}
std::vector<std::string> NeededLibraries(const std::string&) { return {}; }
}  // namespace tartan::opencl
#endif
