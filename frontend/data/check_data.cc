// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/check_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

constexpr int64_t kChunkBytes = int64_t{4} << 20;

// The first element whose exponent bits (`mask`) are all set: NaN or infinity.
template <class Bits>
std::optional<int64_t> FirstWith(Bits mask, absl::Span<const uint8_t> bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof(Bits));
    if ((bits & mask) == mask) return static_cast<int64_t>(at / sizeof(Bits));
  }
  return std::nullopt;
}

std::optional<int64_t> FirstNonFinite(const HostTensor& values) {
  switch (values.type()) {
    case DataType::kFloat16:
      return FirstWith<uint16_t>(0x7c00, values.bytes());
    case DataType::kBFloat16:
      return FirstWith<uint16_t>(0x7f80, values.bytes());
    case DataType::kFloat32:
      return FirstWith<uint32_t>(0x7f800000, values.bytes());
    case DataType::kFloat64:
      return FirstWith<uint64_t>(0x7ff0000000000000, values.bytes());
    default:
      return std::nullopt;
  }
}

bool IsLabel(const HostTensor& values, int64_t i, const Labels& labels) {
  const int64_t value = values.GetInt(i);
  if (IsFloat(values.type()) && static_cast<double>(value) != values.GetDouble(i)) return false;
  return (value >= 0 && value < labels.classes) || value == labels.ignored;
}

// An invalid value: its element, and a description.
struct Fault {
  int64_t element;
  std::string what;
};

std::optional<Fault> FindFault(const HostTensor& values, const std::vector<Labels>& all_labels) {
  const std::optional<int64_t> wild = FirstNonFinite(values);
  if (wild.has_value())
    return Fault{*wild, absl::StrCat(values.GetDouble(*wild), " is not a finite number")};
  for (const Labels& labels : all_labels) {
    for (int64_t i = 0; i < values.element_count(); ++i) {
      if (IsLabel(values, i, labels)) continue;
      const std::string value = IsFloat(values.type()) ? absl::StrCat(values.GetDouble(i))
                                                       : absl::StrCat(values.GetInt(i));
      const std::string ignored =
          labels.ignored.has_value()
              ? absl::StrCat(", and is not the ignored label ", *labels.ignored)
              : "";
      return Fault{i,
                   absl::StrCat("label ", value, " is not in [0, ", labels.classes, ")", ignored)};
    }
  }
  return std::nullopt;
}

absl::Status CheckColumn(const Dataset& dataset, int column, const std::vector<Labels>& labels) {
  const TensorShape& example = dataset.columns()[column].example;
  const int64_t width = example.element_count();
  if (width == 0 || (!IsFloat(example.type) && labels.empty())) return absl::OkStatus();
  const int64_t chunk = std::clamp<int64_t>(kChunkBytes / example.byte_size(), 1, dataset.size());
  std::vector<uint8_t> bytes(static_cast<size_t>(chunk * example.byte_size()));
  std::vector<int64_t> rows(static_cast<size_t>(chunk));
  for (int64_t first = 0; first < dataset.size(); first += chunk) {
    rows.resize(static_cast<size_t>(std::min(chunk, dataset.size() - first)));
    std::iota(rows.begin(), rows.end(), first);
    const auto out = absl::MakeSpan(bytes).subspan(0, rows.size() * example.byte_size());
    TARTAN_RETURN_IF_ERROR(dataset.Read(column, rows, out));
    const HostTensor values(dataset.columns()[column].Batch(rows.size()), out, nullptr);
    const std::optional<Fault> fault = FindFault(values, labels);
    if (!fault.has_value()) continue;
    const int64_t row = first + fault->element / width;
    return absl::InvalidArgumentError(
        absl::StrCat(dataset.Place(column, row, fault->element % width), ": ", fault->what));
  }
  return absl::OkStatus();
}

absl::Status Check(const Dataset& dataset, const CheckOptions& options) {
  std::vector<bool> is_wanted(dataset.columns().size(), options.columns.empty());
  std::vector<std::vector<Labels>> labels(dataset.columns().size());
  for (const std::string& column : options.columns) {
    TARTAN_ASSIGN_OR_RETURN(const int index, dataset.Find(column));
    is_wanted[index] = true;
  }
  for (const Labels& of_column : options.labels) {
    TARTAN_ASSIGN_OR_RETURN(const int index, dataset.Find(of_column.column));
    is_wanted[index] = true;
    labels[index].push_back(of_column);
  }
  TARTAN_RETURN_IF_ERROR(dataset.Verify());
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!is_wanted[i]) continue;
    TARTAN_RETURN_IF_ERROR(CheckColumn(dataset, static_cast<int>(i), labels[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckData(const Dataset& dataset, const CheckOptions& options) {
  return CatchOutOfMemory([&] { return Check(dataset, options); });
}

}  // namespace tartan::data
