// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/build_identity.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tartan::evaluator {
namespace {

struct Lookup {
  uintptr_t address = 0;  // an address inside the object file to find
  std::string id;
};

constexpr size_t Padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

// The build id among the notes of a segment, or "".
std::string FindId(const char* notes, size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof header);
    const size_t name_at = sizeof header;
    const size_t id_at = name_at + Padded(header.n_namesz);
    const size_t end = id_at + Padded(header.n_descsz);
    if (end > bytes) break;
    const bool is_gnu = header.n_namesz == 4 && std::memcmp(notes + name_at, "GNU", 4) == 0;
    if (is_gnu && header.n_type == NT_GNU_BUILD_ID) {
      return std::string(notes + id_at, header.n_descsz);
    }
    notes += end;
    bytes -= end;
  }
  return "";
}

int VisitObject(dl_phdr_info* object, size_t, void* data) {
  auto* lookup = static_cast<Lookup*>(data);
  bool is_here = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    is_here |= segment.p_type == PT_LOAD && lookup->address >= begin &&
               lookup->address < begin + segment.p_memsz;
  }
  if (!is_here) return 0;
  for (int i = 0; i < object->dlpi_phnum && lookup->id.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    lookup->id =
        FindId(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string BuildIdentity() {
  Lookup lookup;
  lookup.address = reinterpret_cast<uintptr_t>(&BuildIdentity);
  dl_iterate_phdr(VisitObject, &lookup);
  return lookup.id;
}

}  // namespace tartan::evaluator
