// SPDX-License-Identifier: Apache-2.0
// Creates files for the tests of frontend/data: temporary folders, arrays, zip archives and PNG
// pictures.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

// A new temporary folder; its destructor removes it with all its contents.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string Path(absl::string_view name) const;
  // Writes the file, creates its parent folders and returns its path.
  std::string Write(absl::string_view name, absl::string_view bytes) const;

 private:
  std::string path_;
};

struct ArchiveMember {
  std::string name;
  std::string bytes;
  bool deflate = false;
  int64_t zeros = 0;  // number of zero bytes after `data`; with any, the archive has no checksum
};

// A zip archive in NumPy's format.
std::string Zip(const std::vector<ArchiveMember>& members);
// Writes an archive that may be longer than 4 GiB, with its zeros as holes of a sparse file.
// Returns its path.
std::string WriteZip(const TestFolder& folder, absl::string_view name,
                     const std::vector<ArchiveMember>& members);

template <class T>
HostTensor Tensor(DataType type, std::vector<int64_t> dims, const std::vector<T>& values) {
  return HostTensor::FromVector<T>({type, std::move(dims)}, values);
}

std::string Npy(const HostTensor& tensor);

// A PNG file; `format` is one of libpng's PNG_FORMAT_… constants.
std::string EncodePng(int width, int height, uint32_t format, const void* samples);

// The rows of the column as doubles; fails the test when they cannot be read.
std::vector<double> Rows(const Dataset& dataset, absl::string_view column,
                         const std::vector<int64_t>& rows);

absl::Span<const uint8_t> BytesOf(const std::string& text);

}  // namespace tartan::data
