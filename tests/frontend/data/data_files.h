// SPDX-License-Identifier: Apache-2.0
// Files for the tests of the data layer: a folder of their own, arrays, and archives of them.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

// A new folder, removed with all that is in it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string Path(absl::string_view name) const;
  // Writes the file, in folders that are made for it, and gives its path.
  std::string Write(absl::string_view name, absl::string_view bytes) const;

 private:
  std::string path_;
};

struct ArchiveMember {
  std::string name;
  std::string bytes;
  bool deflate = false;
  int64_t zeros = 0;  // as many more bytes; no checksum is made then
};

// A zip archive as NumPy writes it.
std::string Zip(const std::vector<ArchiveMember>& members);
// One that may be longer than 4 GiB: its zeros are holes of the file. Gives its path.
std::string WriteZip(const TestFolder& folder, absl::string_view name,
                     const std::vector<ArchiveMember>& members);

template <class T>
HostTensor Tensor(DataType type, std::vector<int64_t> dims, const std::vector<T>& values) {
  return HostTensor::FromVector<T>({type, std::move(dims)}, values);
}

std::string Npy(const HostTensor& tensor);

// A PNG file; `format` is one of libpng's PNG_FORMAT_…
std::string EncodePng(int width, int height, uint32_t format, const void* samples);

// The column's rows as numbers; a failure of the test where they cannot be read.
std::vector<double> Rows(const Dataset& dataset, absl::string_view column,
                         const std::vector<int64_t>& rows);

absl::Span<const uint8_t> BytesOf(const std::string& text);

}  // namespace tartan::data
