// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/picture_folder.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/data/convert.h"
#include "frontend/data/picture.h"
#include "frontend/data/picture_file.h"
#include "tile/base/mapped_file.h"
#include "tile/base/printable.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

namespace fs = std::filesystem;

struct File {
  std::string path;
  int64_t label;
};

struct Listing {
  std::vector<std::string> classes;
  std::vector<File> files;
};

absl::Status At(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(Printable(path), ": ", status.message()));
}

// The sorted entries of the folder, without names that begin with a dot.
absl::StatusOr<std::vector<fs::directory_entry>> Entries(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string()[0] != '.') entries.push_back(*it);
  }
  if (error) return At(folder.string(), absl::UnavailableError(error.message()));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.path().filename().string() < b.path().filename().string();
  });
  return entries;
}

absl::StatusOr<Listing> ListPictures(const std::string& path) {
  Listing listing;
  TARTAN_ASSIGN_OR_RETURN(const auto folders, Entries(path));
  std::error_code ignored;
  for (const fs::directory_entry& folder : folders) {
    if (IsPictureName(folder.path().string())) {
      return At(folder.path().string(),
                absl::InvalidArgumentError("is not in a subfolder that names its class"));
    }
    if (!folder.is_directory(ignored)) continue;
    TARTAN_ASSIGN_OR_RETURN(const auto files, Entries(folder.path()));
    for (const fs::directory_entry& file : files) {
      if (!IsPictureName(file.path().string())) {
        return At(file.path().string(),
                  absl::InvalidArgumentError("is not a .png or .jpg picture"));
      }
      listing.files.push_back({file.path().string(), static_cast<int64_t>(listing.classes.size())});
    }
    listing.classes.push_back(folder.path().filename().string());
  }
  if (listing.classes.empty()) {
    return At(path,
              absl::InvalidArgumentError("has no subfolders; expected one per class of pictures"));
  }
  return listing;
}

absl::StatusOr<PictureHeader> ReadHeader(const std::string& path) {
  TARTAN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const absl::StatusOr<PictureHeader> header = ReadPictureHeader(file->bytes());
  return header.ok() ? header : At(path, header.status());
}

// A header that all pictures can be converted to.
absl::StatusOr<PictureHeader> CommonHeader(const std::vector<File>& files) {
  PictureHeader common;
  for (const File& file : files) {
    TARTAN_ASSIGN_OR_RETURN(const PictureHeader header, ReadHeader(file.path));
    if (&file == &files[0]) common = header;
    if (header.width != common.width || header.height != common.height) {
      return absl::InvalidArgumentError(absl::StrCat(
          Printable(file.path), ": has ", header.width, " × ", header.height, " pixels, but ",
          Printable(files[0].path), " has ", common.width, " × ", common.height));
    }
    common.channels = std::max(common.channels, header.channels);
    common.bit_depth = std::max(common.bit_depth, header.bit_depth);
  }
  return common;
}

// A cache of the first rows' decoded bytes. It keeps the first rows it gets and never evicts, which
// is optimal when every epoch reads every row.
class Cache {
 public:
  Cache(int64_t rows, int64_t row_bytes)
      : row_bytes_(row_bytes),
        // calloc: pages are allocated on first write.
        bytes_(static_cast<uint8_t*>(std::calloc(static_cast<size_t>(rows), row_bytes))),
        states_(bytes_ != nullptr ? static_cast<size_t>(rows) : 0) {}
  ~Cache() { std::free(bytes_); }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Null if the row is not cached.
  const uint8_t* Find(int64_t row) const {
    if (row >= static_cast<int64_t>(states_.size())) return nullptr;
    return states_[row].load(std::memory_order_acquire) == kReady ? At(row) : nullptr;
  }

  void Put(int64_t row, const uint8_t* bytes) {
    if (row >= static_cast<int64_t>(states_.size())) return;
    uint8_t state = kEmpty;
    if (!states_[row].compare_exchange_strong(state, kBeingWritten)) return;
    std::memcpy(At(row), bytes, row_bytes_);
    states_[row].store(kReady, std::memory_order_release);
  }

 private:
  static constexpr uint8_t kEmpty = 0;
  static constexpr uint8_t kBeingWritten = 1;
  static constexpr uint8_t kReady = 2;

  uint8_t* At(int64_t row) const { return bytes_ + row * row_bytes_; }

  const int64_t row_bytes_;
  uint8_t* const bytes_;
  std::vector<std::atomic<uint8_t>> states_;
};

class PictureFolder : public Dataset {
 public:
  static absl::StatusOr<std::shared_ptr<const Dataset>> Open(const std::string& path,
                                                             const PictureOptions& options) {
    TARTAN_ASSIGN_OR_RETURN(Listing listing, ListPictures(path));
    if (listing.files.empty()) return At(path, absl::InvalidArgumentError("has no pictures"));
    TARTAN_ASSIGN_OR_RETURN(const PictureHeader header, CommonHeader(listing.files));
    std::vector<int64_t> dims = {header.channels, header.height, header.width};
    if (options.channels_last) dims = {header.height, header.width, header.channels};
    return std::shared_ptr<const Dataset>(
        new PictureFolder(path, std::move(listing), header, std::move(dims), options));
  }

 private:
  PictureFolder(std::string path, Listing listing, const PictureHeader& header,
                std::vector<int64_t> dims, const PictureOptions& options)
      : Dataset(std::move(path),
                {{"x", {DataType::kFloat32, dims}},
                 {"y", {DataType::kInt64, {}}, std::move(listing.classes)}},
                static_cast<int64_t>(listing.files.size())),
        files_(std::move(listing.files)),
        header_(header),
        channels_last_(options.channels_last),
        // Stores bytes unless a picture has 16-bit samples; they take a quarter of the memory.
        decoded_{header.bit_depth > 8 ? DataType::kFloat32 : DataType::kUInt8, std::move(dims)},
        cache_(std::min(size(), options.cache_bytes / decoded_.byte_size()), decoded_.byte_size()) {
  }

  absl::Status DoRead(int column, absl::Span<const int64_t> rows,
                      absl::Span<uint8_t> out) const override {
    const size_t width = out.size() / rows.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      const absl::Span<uint8_t> to = out.subspan(i * width, width);
      if (column == 1) {
        std::memcpy(to.data(), &files_[rows[i]].label, width);
      } else {
        TARTAN_RETURN_IF_ERROR(ReadPicture(rows[i], to));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadPicture(int64_t row, absl::Span<uint8_t> out) const {
    if (const uint8_t* cached = cache_.Find(row)) {
      Give({cached, static_cast<size_t>(decoded_.byte_size())}, out);
      return absl::OkStatus();
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<uint8_t> decoded, Decode(files_[row].path));
    cache_.Put(row, decoded.data());
    Give(decoded, out);
    return absl::OkStatus();
  }

  void Give(absl::Span<const uint8_t> decoded, absl::Span<uint8_t> out) const {
    const double scale = decoded_.type == DataType::kUInt8 ? 1.0 / 255 : 1;
    Convert(decoded_.type, decoded, scale, DataType::kFloat32, out);
  }

  absl::StatusOr<std::vector<uint8_t>> Decode(const std::string& path) const {
    TARTAN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
    const absl::StatusOr<Picture> picture = DecodePicture(file->bytes());
    if (!picture.ok()) return At(path, picture.status());
    if (picture->width != header_.width || picture->height != header_.height) {
      return At(path, absl::FailedPreconditionError("has changed since it was opened"));
    }
    return PictureBytes(*picture, decoded_.type, header_.channels, channels_last_);
  }

  const std::vector<File> files_;
  const PictureHeader header_;  // common to all pictures
  const bool channels_last_;
  const TensorShape decoded_;
  mutable Cache cache_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> OpenPictureFolder(const std::string& path,
                                                                 const PictureOptions& options) {
  return PictureFolder::Open(path, options);
}

}  // namespace tartan::data
