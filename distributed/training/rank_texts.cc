// SPDX-License-Identifier: Apache-2.0
#include "distributed/training/rank_texts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

absl::Span<uint8_t> BytesOf(std::string* text) {
  return absl::MakeSpan(reinterpret_cast<uint8_t*>(text->data()), text->size());
}

// Facts are lines "name\tvalue".
std::string ToText(const std::map<std::string, std::string>& facts) {
  std::string text;
  for (const auto& [name, value] : facts) absl::StrAppend(&text, name, "\t", value, "\n");
  return text;
}

absl::Status CompareTexts(const std::vector<std::string>& texts) {
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    const std::vector<std::string> first = absl::StrSplit(texts[0], '\n');
    const std::vector<std::string> other = absl::StrSplit(texts[rank], '\n');
    size_t line = 0;
    while (line + 1 < std::min(first.size(), other.size()) && first[line] == other[line]) ++line;
    const auto shown = [](std::string text) {
      std::replace(text.begin(), text.end(), '\t', ' ');
      return text;
    };
    return absl::InvalidArgumentError(absl::StrCat("the ranks differ: rank 0 has ",
                                                   shown(first[line]), ", rank ", rank, " has ",
                                                   shown(other[line])));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BroadcastText(HostTransport& transport, std::string* text) {
  int64_t size = static_cast<int64_t>(text->size());
  TARTAN_RETURN_IF_ERROR(
      transport.Broadcast(absl::MakeSpan(reinterpret_cast<uint8_t*>(&size), sizeof(size)), 0));
  text->resize(static_cast<size_t>(size));
  return size == 0 ? absl::OkStatus() : transport.Broadcast(BytesOf(text), 0);
}

absl::StatusOr<std::vector<std::string>> GatherTexts(HostTransport& transport, std::string text) {
  const int64_t ranks = transport.place().ranks;
  std::vector<int64_t> sizes(static_cast<size_t>(ranks));
  const int64_t own = static_cast<int64_t>(text.size());
  TARTAN_RETURN_IF_ERROR(transport.AllGather(
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&own), sizeof(own)),
      absl::MakeSpan(reinterpret_cast<uint8_t*>(sizes.data()), sizes.size() * sizeof(own))));
  const int64_t most = std::max<int64_t>(1, *std::max_element(sizes.begin(), sizes.end()));
  text.resize(static_cast<size_t>(most));
  std::string all(static_cast<size_t>(most * ranks), '\0');
  TARTAN_RETURN_IF_ERROR(transport.AllGather(BytesOf(&text), BytesOf(&all)));
  std::vector<std::string> texts;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    texts.push_back(all.substr(static_cast<size_t>(rank * most),
                               static_cast<size_t>(sizes[static_cast<size_t>(rank)])));
  }
  return texts;
}

absl::Status CompareFacts(HostTransport& transport,
                          const std::map<std::string, std::string>& facts) {
  TARTAN_ASSIGN_OR_RETURN(const auto texts, GatherTexts(transport, ToText(facts)));
  return CompareTexts(texts);
}

}  // namespace tartan::distributed
