// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/channel_blocks.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/onnx.pb.h"

namespace tartan::onnx {
namespace {

constexpr int64_t kBlocks[] = {8, 16};

// The filter of a convolution on blocked channels, and its number of output channels without
// padding (-1: unknown).
struct BlockedConv {
  const HostTensor* filter = nullptr;
  int64_t channels = -1;
};

// Collects the blocked convolutions of a graph and its nested graphs.
class ConvFinder {
 public:
  // False where a filter is computed at run time.
  bool Visit(const Graph& graph) {
    std::unordered_map<std::string, const NodeProto*> makers;
    std::unordered_map<const NodeProto*, int64_t> channels;
    for (const NodeProto* node : graph.nodes) {
      for (const std::string& output : node->output()) makers[output] = node;
      if (node->domain() != kBlockedDomain) continue;
      has_any_ = true;
      if (node->op_type() == "ReorderOutput")
        channels[ConvBefore(*node, makers)] = ChannelsOf(*node);
    }
    for (const NodeProto* node : graph.nodes) {
      if (node->domain() != kBlockedDomain || node->op_type() != "Conv") continue;
      const auto constant = graph.constants.find(node->input_size() > 1 ? node->input(1) : "");
      if (constant == graph.constants.end()) return false;
      const auto known = channels.find(node);
      convs_.push_back(
          {constant->second.tensor().constant(), known == channels.end() ? -1 : known->second});
    }
    return std::all_of(graph.subgraphs.begin(), graph.subgraphs.end(),
                       [&](const auto& entry) { return Visit(*entry.second); });
  }

  bool has_any() const { return has_any_; }
  const std::vector<BlockedConv>& convs() const { return convs_; }

 private:
  static int64_t ChannelsOf(const NodeProto& reorder) {
    for (const AttributeProto& attribute : reorder.attribute()) {
      if (attribute.name() == "channels") return attribute.i();
    }
    return -1;
  }

  // The convolution before a node, reached through pools, which keep the channels. Null if there is
  // none.
  static const NodeProto* ConvBefore(
      const NodeProto& node, const std::unordered_map<std::string, const NodeProto*>& makers) {
    const NodeProto* at = &node;
    while (at->input_size() > 0) {
      const auto maker = makers.find(at->input(0));
      if (maker == makers.end() || maker->second->domain() != kBlockedDomain) return nullptr;
      at = maker->second;
      if (at->op_type() == "Conv") return at;
    }
    return nullptr;
  }

  bool has_any_ = false;
  std::vector<BlockedConv> convs_;
};

bool IsZero(absl::Span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

// Zeros must fill the last block after the convolution's output channels.
bool Fits(const BlockedConv& conv, int64_t block) {
  if (conv.filter == nullptr || !IsBlockedFilter(conv.filter->shape(), block)) return false;
  const int64_t outputs = conv.filter->shape().dims[0];
  if (conv.channels < 0) return true;
  if (conv.channels > outputs || outputs - conv.channels >= block) return false;
  const HostTensor plain = PlainFilter(*conv.filter, block);
  const size_t row = plain.bytes().size() / static_cast<size_t>(outputs);
  return IsZero(plain.bytes().subspan(static_cast<size_t>(conv.channels) * row));
}

}  // namespace

bool IsBlockedFilter(const TensorShape& filter, int64_t block) {
  if (filter.rank() < 3 || filter.element_count() == 0 || filter.dims[0] % block != 0) return false;
  return filter.dims[1] < block || filter.dims[1] % block == 0;
}

HostTensor PlainFilter(const HostTensor& filter, int64_t block) {
  const std::vector<int64_t>& dims = filter.shape().dims;
  const int64_t inputs = dims[1];
  const int64_t space = filter.element_count() / (dims[0] * inputs);
  const int64_t inner = inputs < block ? 1 : block;  // input channels in one block
  const auto width = static_cast<size_t>(ByteWidth(filter.type()));
  const uint8_t* from = filter.bytes().data();
  std::vector<uint8_t> plain(filter.bytes().size());
  for (int64_t o = 0; o < dims[0]; o += block) {
    for (int64_t i = 0; i < inputs; i += inner) {
      for (int64_t s = 0; s < space; ++s) {
        for (int64_t k = 0; k < inner * block; ++k, from += width) {
          const int64_t to = ((o + k % block) * inputs + i + k / block) * space + s;
          std::memcpy(plain.data() + static_cast<size_t>(to) * width, from, width);
        }
      }
    }
  }
  return HostTensor(filter.shape(), plain);
}

absl::StatusOr<int64_t> FindChannelBlock(const Graph& graph) {
  ConvFinder finder;
  const bool are_known = finder.Visit(graph);
  if (!finder.has_any()) return 0;
  std::vector<int64_t> possible;
  for (const int64_t block : kBlocks) {
    const auto fits = [&](const BlockedConv& conv) { return Fits(conv, block); };
    const std::vector<BlockedConv>& convs = finder.convs();
    if (are_known && std::all_of(convs.begin(), convs.end(), fits)) possible.push_back(block);
  }
  if (possible.size() == 1) return possible[0];
  return absl::UnimplementedError(
      absl::StrCat("onnxruntime saved the model for one processor (", kBlockedDomain,
                   "), and its filters ", possible.empty() ? "fit no" : "do not determine the",
                   " size of its channel blocks; save it with the graph_optimization_level "
                   "ORT_ENABLE_EXTENDED instead of the default, ORT_ENABLE_ALL"));
}

}  // namespace tartan::onnx
