// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/picture_folder.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
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

constexpr char kImages[] = "images";
constexpr char kMasks[] = "masks";

struct File {
  std::string path;
  int64_t label = 0;
  std::string mask = "";  // path
};

struct Listing {
  std::vector<std::string> classes;
  std::vector<File> files;
  bool has_masks = false;
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

// The files of a subfolder, all of which are pictures.
absl::StatusOr<std::vector<std::string>> Pictures(const fs::path& folder) {
  TARTAN_ASSIGN_OR_RETURN(const auto files, Entries(folder));
  std::vector<std::string> paths;
  for (const fs::directory_entry& file : files) {
    paths.push_back(file.path().string());
    if (!IsPictureName(paths.back()))
      return At(paths.back(), absl::InvalidArgumentError("is not a .png or .jpg picture"));
  }
  return paths;
}

// Pictures and masks by the same names without extensions.
absl::StatusOr<Listing> ListMasks(const fs::path& folder) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> masks, Pictures(folder / kMasks));
  std::map<std::string, std::string> by_name;
  for (const std::string& mask : masks) {
    const auto [at, is_new] = by_name.try_emplace(fs::path(mask).stem().string(), mask);
    if (!is_new)
      return At(mask, absl::InvalidArgumentError(absl::StrCat("has the name of ", at->second)));
  }
  Listing listing;
  listing.has_masks = true;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> pictures, Pictures(folder / kImages));
  for (const std::string& picture : pictures) {
    auto mask = by_name.extract(fs::path(picture).stem().string());
    if (mask.empty())
      return At(picture, absl::InvalidArgumentError("has no mask of its own with the same name"));
    listing.files.push_back({picture, 0, std::move(mask.mapped())});
  }
  if (by_name.empty()) return listing;
  return At(by_name.begin()->second, absl::InvalidArgumentError("is a mask without a picture"));
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
    if (folder.is_directory(ignored)) listing.classes.push_back(folder.path().filename().string());
  }
  if (listing.classes == std::vector<std::string>{kImages, kMasks}) return ListMasks(path);
  for (size_t label = 0; label < listing.classes.size(); ++label) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> pictures,
                            Pictures(fs::path(path) / listing.classes[label]));
    for (const std::string& picture : pictures)
      listing.files.push_back({picture, static_cast<int64_t>(label)});
  }
  if (listing.classes.empty()) {
    return At(path, absl::InvalidArgumentError(
                        "has no subfolders; expected one per class of pictures, or the two "
                        "subfolders images and masks"));
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
  const auto fits = [&](const std::string& path, const PictureHeader& header) {
    if (header.width == common.width && header.height == common.height) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path), ": has ", header.width, " × ", header.height, " pixels, but ",
                     Printable(files[0].path), " has ", common.width, " × ", common.height));
  };
  for (const File& file : files) {
    TARTAN_ASSIGN_OR_RETURN(const PictureHeader header, ReadHeader(file.path));
    if (&file == &files[0]) common = header;
    TARTAN_RETURN_IF_ERROR(fits(file.path, header));
    if (!file.mask.empty()) {
      TARTAN_ASSIGN_OR_RETURN(const PictureHeader mask, ReadHeader(file.mask));
      TARTAN_RETURN_IF_ERROR(fits(file.mask, mask));
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

  int64_t rows() const { return static_cast<int64_t>(states_.size()); }

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
                 {"y",
                  {DataType::kInt64, listing.has_masks
                                         ? std::vector<int64_t>{header.height, header.width}
                                         : std::vector<int64_t>{}},
                  std::move(listing.classes)}},
                static_cast<int64_t>(listing.files.size())),
        files_(std::move(listing.files)),
        header_(header),
        channels_last_(options.channels_last),
        // Stores bytes unless a picture has 16-bit samples; they take a quarter of the memory.
        decoded_{header.bit_depth > 8 ? DataType::kFloat32 : DataType::kUInt8, std::move(dims)},
        cache_(std::min(size(), options.cache_bytes / decoded_.byte_size()), decoded_.byte_size()),
        masks_(listing.has_masks ? cache_.rows() : 0, header.height * header.width),
        mask_values_(options.mask_values) {}

  absl::Status DoRead(int column, absl::Span<const int64_t> rows,
                      absl::Span<uint8_t> out) const override {
    const size_t width = out.size() / rows.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      const absl::Span<uint8_t> to = out.subspan(i * width, width);
      if (column == 1 && !files_[rows[i]].mask.empty()) {
        TARTAN_RETURN_IF_ERROR(ReadMask(rows[i], to));
      } else if (column == 1) {
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

  absl::Status ReadMask(int64_t row, absl::Span<uint8_t> out) const {
    const size_t pixels = static_cast<size_t>(header_.height * header_.width);
    if (const uint8_t* cached = masks_.Find(row)) {
      Convert(DataType::kUInt8, {cached, pixels}, 1, DataType::kInt64, out);
      return absl::OkStatus();
    }
    const std::string& path = files_[row].mask;
    TARTAN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
    absl::StatusOr<Mask> mask = DecodeMask(file->bytes());
    if (!mask.ok()) return At(path, mask.status());
    if (mask->width != header_.width || mask->height != header_.height)
      return At(path, absl::FailedPreconditionError("has changed since it was opened"));
    for (uint8_t& value : mask->classes) {
      if (mask_values_.empty()) break;
      const auto found = std::find(mask_values_.begin(), mask_values_.end(), value);
      if (found == mask_values_.end()) {
        return At(path, absl::InvalidArgumentError(
                            absl::StrCat("has the sample ", value, ", which is no mask value")));
      }
      value = static_cast<uint8_t>(found - mask_values_.begin());
    }
    masks_.Put(row, mask->classes.data());
    Convert(DataType::kUInt8, mask->classes, 1, DataType::kInt64, out);
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
  mutable Cache masks_;
  const std::vector<uint8_t> mask_values_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> OpenPictureFolder(const std::string& path,
                                                                 const PictureOptions& options) {
  return PictureFolder::Open(path, options);
}

}  // namespace tartan::data
