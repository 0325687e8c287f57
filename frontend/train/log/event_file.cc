// SPDX-License-Identifier: Apache-2.0
// Writes the format of TensorFlow's tfrecord and event files.
#include "frontend/train/log/event_file.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/event.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr uint32_t kCastagnoli = 0x82f63b78;  // the polynomial, bits reversed
constexpr uint32_t kMaskDelta = 0xa282ead8;

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int b = 0; b < bytes; ++b) text.push_back(static_cast<char>(value >> (8 * b)));
  return text;
}

std::string MaskedSum(absl::string_view bytes) {
  const uint32_t sum = Crc32c(bytes);
  return LittleEndian((sum >> 15 | sum << 17) + kMaskDelta, 4);
}

absl::Status Unwritable(const std::string& path, const std::string& why) {
  return absl::UnavailableError(absl::StrCat(path, ": cannot be written: ", why));
}

void AddScalar(const std::string& tag, double value, proto::EventSummary* summary) {
  proto::EventSummary::Value* scalar = summary->add_value();
  scalar->set_tag(tag);
  scalar->set_simple_value(static_cast<float>(value));
}

}  // namespace

uint32_t Crc32c(absl::string_view bytes) {
  uint32_t sum = ~uint32_t{0};
  for (const char byte : bytes) {
    sum ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? kCastagnoli : 0);
  }
  return ~sum;
}

std::string RecordOf(absl::string_view bytes) {
  const std::string length = LittleEndian(bytes.size(), 8);
  return absl::StrCat(length, MaskedSum(length), bytes, MaskedSum(bytes));
}

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::Open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Unwritable(folder, error.message());
  char host[256] = "host";
  (void)gethostname(host, sizeof(host) - 1);
  // TensorBoard finds files by this name. A process that trains again within a second gets another
  // number.
  for (int number = 0;; ++number) {
    const std::string path =
        absl::StrCat(folder, "/events.out.tfevents.", static_cast<int64_t>(Now()), ".", host, ".",
                     getpid(), ".", number);
    std::FILE* file = std::fopen(path.c_str(), "wxb");
    if (file == nullptr && errno == EEXIST) continue;
    if (file == nullptr) return Unwritable(path, std::strerror(errno));
    std::unique_ptr<EventFile> made(new EventFile(file, path));
    proto::Event event;
    event.set_wall_time(Now());
    event.set_file_version("brain.Event:2");
    TARTAN_RETURN_IF_ERROR(made->Write(event.SerializeAsString()));
    return made;
  }
}

EventFile::~EventFile() { std::fclose(file_); }

absl::Status EventFile::Write(const std::string& event) {
  const std::string record = RecordOf(event);
  if (std::fwrite(record.data(), 1, record.size(), file_) == record.size() &&
      std::fflush(file_) == 0) {
    return absl::OkStatus();
  }
  return Unwritable(path_, std::strerror(errno));
}

absl::Status EventFile::Add(const LogLine& line) {
  proto::Event event;
  event.set_wall_time(Now());
  event.set_step(line.step);
  proto::EventSummary* summary = event.mutable_summary();
  AddScalar("train/loss", line.loss, summary);
  AddScalar("train/rate", line.rate, summary);
  AddScalar("train/step_ms", line.step_ms, summary);
  if (line.loss_scale.has_value()) AddScalar("train/loss_scale", *line.loss_scale, summary);
  for (const auto& [name, value] : line.metrics) {
    absl::string_view metric = name;
    const bool is_validation = absl::ConsumePrefix(&metric, "val_");
    AddScalar(absl::StrCat(is_validation ? "validation/" : "train/", metric), value, summary);
  }
  return Write(event.SerializeAsString());
}

}  // namespace tartan::train
