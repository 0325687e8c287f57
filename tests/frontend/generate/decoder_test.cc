// SPDX-License-Identifier: Apache-2.0
// Tests that decoders choose the same tokens as onnxruntime for every kind of cache.
// scripts/write_decoder_models.py writes the models and tokens.
#include "frontend/generate/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "frontend/generate/sampler.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/api/background_barrier.h"

namespace tartan::generate::decoder_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string DataPath(const std::string& file) {
  const char* source = std::getenv("TARTAN_SOURCE_DIR");
  return absl::StrCat(source == nullptr ? "." : source, "/tests/frontend/generate/data/", file);
}

struct Wanted {
  std::vector<int64_t> prompt;
  std::vector<int64_t> tokens;
  std::vector<float> scores;  // scores after the last token
};

template <class T>
std::vector<T> NumbersOf(std::istream& stream) {
  std::string line;
  std::getline(stream, line);
  std::istringstream numbers(line);
  std::vector<T> values;
  for (T value; numbers >> value;) values.push_back(value);
  return values;
}

Wanted ReadWanted(const std::string& name) {
  std::ifstream stream(DataPath(name + ".tokens"));
  Wanted wanted;
  wanted.prompt = NumbersOf<int64_t>(stream);
  wanted.tokens = NumbersOf<int64_t>(stream);
  wanted.scores = NumbersOf<float>(stream);
  EXPECT_EQ(wanted.tokens.size(), 40u);
  return wanted;
}

// Tolerance of the scores. In float16, onnxruntime rounds each result to 11 bits. With 8-bit
// activations, one of them may round the other way.
double Tolerance(const std::string& name) {
  return name == "half" || name == "quantized" ? 0.03 : 2e-4;
}

std::vector<int64_t> SomeTokens(size_t count) {
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < count; ++i) tokens.push_back(static_cast<int64_t>(i * i % 61));
  return tokens;
}

class DecoderTest : public testing::Test {
 protected:
  void SetUp() override {
    static const auto* const device =
        new absl::StatusOr<std::shared_ptr<api::Device>>(api::Device::Open());
    if (!device->ok()) GTEST_SKIP() << device->status();
    device_ = **device;
  }

  std::unique_ptr<Decoder> Make(const std::string& name, DecoderOptions options = {}) {
    options.session.tier = api::Tier::kReady;
    auto model = onnx::OnnxModel::Load(DataPath(name + ".onnx"));
    EXPECT_TRUE(model.ok()) << model.status();
    auto decoder = Decoder::Create(*model, device_, std::move(options));
    EXPECT_TRUE(decoder.ok()) << decoder.status();
    return *std::move(decoder);
  }

  // Expects the tokens of `wanted`, reading each as soon as it has the maximum score.
  static void ExpectTokens(Decoder& decoder, const Wanted& wanted, double tolerance = 2e-4) {
    auto scores = decoder.Read(wanted.prompt);
    for (const int64_t token : wanted.tokens) {
      ASSERT_TRUE(scores.ok()) << scores.status();
      ASSERT_EQ(Candidates(*scores, {})->at(0).token, token) << "after " << decoder.length();
      scores = decoder.Read({token});
    }
    ASSERT_TRUE(scores.ok()) << scores.status();
    ASSERT_EQ(scores->size(), wanted.scores.size());
    for (size_t i = 0; i < scores->size(); ++i) {
      EXPECT_NEAR((*scores)[i], wanted.scores[i], tolerance) << i;
    }
    EXPECT_EQ(decoder.length(), 46);
  }

  std::shared_ptr<api::Device> device_;
};

TEST_F(DecoderTest, CachesThatGrowAreAppendedToInPlace) {
  for (const char* name : {"masked", "rotary", "plain", "added", "joint", "attention", "multihead",
                           "grouped", "window", "half", "quantized"}) {
    const auto decoder = Make(name);
    ExpectTokens(*decoder, ReadWanted(name), Tolerance(name));
    EXPECT_EQ(decoder->kind(), CacheKind::kInPlace) << name << decoder->why_not_in_place();
    EXPECT_GT(decoder->capacity(), 46);
  }
}

// Prompts shorter than a chunk, and of several chunks and a remainder, read at once or in parts.
TEST_F(DecoderTest, PromptsAreReadInChunks) {
  for (const char* name : {"masked", "rotary", "plain", "added", "joint", "attention", "multihead",
                           "grouped", "window", "half"}) {
    for (const size_t first : {7, 40}) {
      DecoderOptions whole;
      whole.appends_in_place = false;
      const auto beside = Make(name, whole);
      DecoderOptions options;
      options.chunk = 16;
      options.waits_for_chunks = true;
      const auto decoder = Make(name, options);
      const std::vector<int64_t> tokens = SomeTokens(first + 23);
      const absl::Span<const int64_t> all(tokens);
      ASSERT_TRUE(decoder->Read(all.subspan(0, first)).ok()) << name;
      EXPECT_EQ(decoder->kind(), CacheKind::kInPlace) << name;
      const auto scores = decoder->Read(all.subspan(first));
      const auto wanted = beside->Read(tokens);
      ASSERT_TRUE(scores.ok()) << scores.status();
      ASSERT_TRUE(wanted.ok()) << wanted.status();
      EXPECT_EQ(decoder->length(), tokens.size());
      // the last tokens are read one by one
      EXPECT_EQ(decoder->read_in_chunks(), tokens.size() - 2) << name;
      for (size_t i = 0; i < scores->size(); ++i) {
        EXPECT_NEAR((*scores)[i], (*wanted)[i], Tolerance(name)) << name << i;
      }
    }
  }
}

TEST_F(DecoderTest, ChunksChooseTheSameTokens) {
  for (const char* name : {"masked", "rotary", "plain", "added", "joint", "attention", "multihead",
                           "grouped", "window", "half"}) {
    DecoderOptions options;
    options.chunk = 4;
    options.waits_for_chunks = true;
    const auto decoder = Make(name, options);
    ExpectTokens(*decoder, ReadWanted(name), Tolerance(name));
    EXPECT_EQ(decoder->read_in_chunks(), 5) << name;
  }
}

// Activations are quantized by the range of all tokens read together, so chunks would change the
// results. A cache without appends has no chunks either.
TEST_F(DecoderTest, WhatIsAnotherInChunksIsReadAsAWhole) {
  for (const char* name : {"quantized", "sliced"}) {
    DecoderOptions options;
    options.chunk = 4;
    options.waits_for_chunks = true;
    const auto decoder = Make(name, options);
    ExpectTokens(*decoder, ReadWanted(name), Tolerance(name));
    EXPECT_EQ(decoder->read_in_chunks(), 0) << name;
  }
}

TEST_F(DecoderTest, ABadTokenInAChunkChangesNothing) {
  DecoderOptions options;
  options.chunk = 16;
  options.waits_for_chunks = true;
  const std::vector<int64_t> tokens = SomeTokens(40);
  for (const int64_t bad : {3, 35}) {
    const auto decoder = Make("masked", options);
    std::vector<int64_t> wrong = tokens;
    wrong[bad] = 61;
    EXPECT_EQ(decoder->Read(wrong).status().code(), absl::StatusCode::kOutOfRange) << bad;
    EXPECT_EQ(decoder->length(), 0);
    const auto scores = decoder->Read(tokens);
    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_EQ(decoder->length(), 40);
    EXPECT_EQ(decoder->Read(wrong).status().code(), absl::StatusCode::kOutOfRange) << bad;
    EXPECT_EQ(decoder->length(), 40);
    const auto next = decoder->Read({5});
    const auto beside = Make("masked");
    ASSERT_TRUE(beside->Read(tokens).ok());
    const auto wanted = beside->Read({5});
    ASSERT_TRUE(next.ok() && wanted.ok()) << next.status() << wanted.status();
    for (size_t i = 0; i < wanted->size(); ++i) EXPECT_NEAR((*next)[i], (*wanted)[i], 2e-4) << i;
  }
}

TEST_F(DecoderTest, ChunksOfMorePositionsThanThereAreAreNone) {
  DecoderOptions options;
  options.chunk = 90;
  options.waits_for_chunks = true;
  const auto decoder = Make("plain", options);
  ASSERT_TRUE(decoder->Read(SomeTokens(40)).ok());
  EXPECT_EQ(decoder->length(), 40);
  EXPECT_EQ(decoder->read_in_chunks(), 0);
}

TEST_F(DecoderTest, ChunksGoOnWhereTheCacheGrows) {
  DecoderOptions options;
  options.expected = 16;
  options.chunk = 16;
  options.waits_for_chunks = true;
  const auto decoder = Make("rotary", options);
  const std::vector<int64_t> tokens = SomeTokens(200);
  const absl::Span<const int64_t> all(tokens);
  ASSERT_TRUE(decoder->Read(all.subspan(0, 40)).ok());
  const int64_t room = decoder->capacity();
  const auto scores = decoder->Read(all.subspan(40));
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_GT(decoder->capacity(), room);
  EXPECT_EQ(decoder->read_in_chunks(), 198);
  const auto wanted = Make("rotary")->Read(tokens);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  for (size_t i = 0; i < scores->size(); ++i) EXPECT_NEAR((*scores)[i], (*wanted)[i], 2e-4) << i;
}

// A chunk padded beyond the last position is not used.
TEST_F(DecoderTest, ChunksEndWherePositionsDo) {
  DecoderOptions options;
  options.chunk = 16;
  options.waits_for_chunks = true;
  const auto decoder = Make("plain", options);
  EXPECT_THAT(decoder->Read(std::vector<int64_t>(97, 1)).status().message(),
              HasSubstr("out of range"));
  ASSERT_TRUE(decoder->Read(std::vector<int64_t>(96, 1)).ok());
  EXPECT_EQ(decoder->read_in_chunks(), 95);
}

// Some exporters give the operator the length of each sample in a separate row.
TEST_F(DecoderTest, LengthsMayHaveTwoDimensions) {
  std::ifstream stream(DataPath("grouped.onnx"), std::ios::binary);
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromIstream(&stream));
  int changed = 0;
  for (onnx::NodeProto& node : *proto.mutable_graph()->mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.name() != "keepdims") continue;
      attribute.set_i(1);
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1);
  const std::string bytes = proto.SerializeAsString();
  const auto model = onnx::OnnxModel::LoadBytes(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "grouped");
  ASSERT_TRUE(model.ok()) << model.status();
  DecoderOptions options;
  options.session.tier = api::Tier::kReady;
  const auto decoder = Decoder::Create(*model, device_, options);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  ExpectTokens(**decoder, ReadWanted("grouped"));
  EXPECT_EQ((*decoder)->kind(), CacheKind::kInPlace) << (*decoder)->why_not_in_place();
}

// A step allocates neither a second cache nor a copy of its rows.
TEST_F(DecoderTest, AStepCopiesNoCache) {
  for (const char* name : {"masked", "rotary", "plain", "added", "joint", "attention", "multihead",
                           "grouped", "half"}) {
    DecoderOptions options;
    options.expected = 1000;
    const auto decoder = Make(name, options);
    ASSERT_TRUE(decoder->Read({1, 2}).ok());
    ASSERT_EQ(decoder->kind(), CacheKind::kInPlace) << name;
    const api::ProgramMemory memory = decoder->memory();
    EXPECT_GT(memory.states, 100'000) << name;
    EXPECT_LT(memory.scratch, memory.states / 4) << name;
  }
}

TEST_F(DecoderTest, TheSameGoesThroughTheHost) {
  DecoderOptions options;
  options.appends_in_place = false;
  const auto decoder = Make("masked", options);
  ExpectTokens(*decoder, ReadWanted("masked"));
  EXPECT_EQ(decoder->kind(), CacheKind::kHost);
}

TEST_F(DecoderTest, AModelThatCannotBeAppendedToGoesThroughTheHost) {
  for (const char* name : {"sliced"}) {
    const auto decoder = Make(name);
    ExpectTokens(*decoder, ReadWanted(name));
    EXPECT_EQ(decoder->kind(), CacheKind::kHost) << name;
    EXPECT_NE(decoder->why_not_in_place(), "") << name;
  }
}

TEST_F(DecoderTest, WithoutACacheAllIsReadAgain) {
  const auto decoder = Make("whole");
  ExpectTokens(*decoder, ReadWanted("whole"));
  EXPECT_EQ(decoder->kind(), CacheKind::kNone);
}

TEST_F(DecoderTest, StatesOfOneSizeStayOnTheDevice) {
  DecoderOptions options;
  options.states = {{"h_out", "h_in"}};
  const auto decoder = Make("recurrent", options);
  ExpectTokens(*decoder, ReadWanted("recurrent"));
  EXPECT_EQ(decoder->kind(), CacheKind::kStates);
}

// In the default tier, single tokens use exact (shape-specialised) kernels once the background has
// compiled them, for every kind of cache.
TEST_F(DecoderTest, SingleTokensReachExactKernels) {
  for (const char* name : {"rotary", "joint", "recurrent"}) {
    api::DeviceOptions fresh;
    fresh.use_disk_cache = false;
    const auto device = api::Device::Open("", fresh);
    ASSERT_TRUE(device.ok()) << device.status();
    const auto model = onnx::OnnxModel::Load(DataPath(absl::StrCat(name, ".onnx")));
    ASSERT_TRUE(model.ok()) << model.status();
    DecoderOptions options;
    options.session.host_ms = 0;
    options.session.exact_lost_share = 0;
    if (absl::string_view(name) == "recurrent") options.states = {{"h_out", "h_in"}};
    const auto decoder = Decoder::Create(*model, *device, options);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    const Wanted wanted = ReadWanted(name);
    auto scores = (*decoder)->Read(wanted.prompt);
    for (size_t i = 0; i < wanted.tokens.size(); ++i) {
      ASSERT_TRUE(scores.ok()) << scores.status();
      ASSERT_EQ(Candidates(*scores, {})->at(0).token, wanted.tokens[i]) << name << i;
      if (i == 10) api::WaitForBackground();
      scores = (*decoder)->Read({wanted.tokens[i]});
      const api::RunStatistics& run = (*decoder)->last_run();
      if (i == 0) {
        EXPECT_EQ(run.exact_programs, 0) << name;
      } else if (i >= 10) {
        EXPECT_EQ(run.ready_programs, 0) << name << i;
        EXPECT_GT(run.exact_programs, 0) << name << i;
      }
    }
  }
}

TEST_F(DecoderTest, TheCacheGrows) {
  DecoderOptions options;
  options.expected = 16;
  const auto decoder = Make("rotary", options);
  const std::vector<int64_t> tokens = SomeTokens(200);
  auto one_by_one = decoder->Read({tokens[0]});
  ASSERT_TRUE(one_by_one.ok()) << one_by_one.status();
  const int64_t room = decoder->capacity();
  EXPECT_LT(room, 100);
  for (size_t i = 1; i < tokens.size(); ++i) {
    one_by_one = decoder->Read({tokens[i]});
    ASSERT_TRUE(one_by_one.ok()) << one_by_one.status();
  }
  EXPECT_GE(decoder->capacity(), 200);
  const auto beside = Make("rotary");
  const auto at_once = beside->Read(tokens);
  ASSERT_TRUE(at_once.ok()) << at_once.status();
  for (size_t i = 0; i < at_once->size(); ++i) {
    EXPECT_NEAR((*one_by_one)[i], (*at_once)[i], 2e-4) << i;
  }
}

TEST_F(DecoderTest, ABadTokenChangesNothing) {
  for (const char* name : {"masked", "sliced", "whole"}) {
    const Wanted wanted = ReadWanted(name);
    const auto decoder = Make(name);
    EXPECT_EQ(decoder->Read({3, 61}).status().code(), absl::StatusCode::kOutOfRange) << name;
    auto scores = decoder->Read(wanted.prompt);
    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_EQ(decoder->Read({1000}).status().code(), absl::StatusCode::kOutOfRange) << name;
    EXPECT_EQ(decoder->Read({-100}).status().code(), absl::StatusCode::kOutOfRange) << name;
    scores = decoder->Read({wanted.tokens[0]});
    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_EQ(Candidates(*scores, {})->at(0).token, wanted.tokens[1]) << name;
  }
}

TEST_F(DecoderTest, PositionsEnd) {
  for (const char* name : {"masked", "plain"}) {
    const auto decoder = Make(name);
    EXPECT_THAT(decoder->Read(std::vector<int64_t>(97, 1)).status().message(),
                HasSubstr("out of range"));
    ASSERT_TRUE(decoder->Read(std::vector<int64_t>(96, 1)).ok());
    EXPECT_EQ(decoder->Read({1}).status().code(), absl::StatusCode::kOutOfRange) << name;
  }
}

TEST_F(DecoderTest, SaysWhatItDoesNotKnow) {
  auto model = onnx::OnnxModel::Load(DataPath("recurrent.onnx"));
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(Decoder::Create(*model, device_, {}).status().message(),
              AllOf(HasSubstr("h_in"), HasSubstr("--state")));
  DecoderOptions options;
  options.states = {{"h", "h_in"}};
  EXPECT_THAT(Decoder::Create(*model, device_, options).status().message(),
              HasSubstr("no output 'h'; it has logits, h_out"));
}

}  // namespace
}  // namespace tartan::generate::decoder_test
