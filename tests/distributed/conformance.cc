// SPDX-License-Identifier: Apache-2.0
#include "tests/distributed/conformance.h"

#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <vector>

#include "tile/base/float16.h"

namespace tartan::distributed {

std::ostream& operator<<(std::ostream& out, const Implementation& implementation) {
  return out << implementation.name;
}

std::string NameOf(const testing::TestParamInfo<Implementation>& info) { return info.param.name; }

namespace {

using testing::ElementsAreArray;

template <class T>
absl::Span<const uint8_t> BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

// Values in device memory, at an offset in a larger buffer.
class Values {
 public:
  static constexpr int64_t kOffset = 64;

  template <class T>
  Values(Communicator& ranks, const hal::DevicePtr& device, const std::vector<T>& values) {
    const absl::Span<const uint8_t> bytes = BytesOf(values);
    queue_ = *device->CreateQueue(false);
    const int64_t size = static_cast<int64_t>(bytes.size());
    range_ = {*ranks.Allocate(device, kOffset + size + kOffset), kOffset, size};
    const std::vector<uint8_t> border(kOffset, 0xab);
    EXPECT_TRUE(queue_->Write(range_.buffer, 0, border).ok());
    EXPECT_TRUE(queue_->Write(range_.buffer, kOffset, bytes).ok());
    EXPECT_TRUE(queue_->Write(range_.buffer, kOffset + range_.size, border).ok());
    written_ = *queue_->Mark();
  }

  const Range& range() const { return range_; }
  const hal::EventPtr& written() const { return written_; }

  // Checks that no byte outside the range changed.
  template <class T>
  std::vector<T> Read() {
    std::vector<uint8_t> all(static_cast<size_t>(range_.size + 2 * kOffset));
    EXPECT_TRUE(queue_->Read(range_.buffer, 0, absl::MakeSpan(all)).ok());
    for (int64_t i = 0; i < kOffset; ++i) {
      EXPECT_EQ(all[static_cast<size_t>(i)], 0xab);
      EXPECT_EQ(all[static_cast<size_t>(kOffset + range_.size + i)], 0xab);
    }
    std::vector<T> values(static_cast<size_t>(range_.size) / sizeof(T));
    std::memcpy(values.data(), all.data() + kOffset, static_cast<size_t>(range_.size));
    return values;
  }

 private:
  std::unique_ptr<hal::Queue> queue_;
  Range range_;
  hal::EventPtr written_;
};

// A value of element `i` on a rank.
template <class T>
std::vector<T> Own(int64_t rank, size_t count) {
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(static_cast<T>(static_cast<int64_t>(i * 7 % 1013) - 500 + 1000 * rank));
  return values;
}

template <class T>
std::vector<T> Total(int64_t ranks, size_t count) {
  std::vector<T> sums(count, 0);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const std::vector<T> own = Own<T>(rank, count);
    for (size_t i = 0; i < count; ++i) sums[i] += own[i];
  }
  return sums;
}

template <class T>
void CheckSum(Communicator& ranks, const hal::DevicePtr& device, DataType type, size_t count) {
  Values values(ranks, device, Own<T>(ranks.place().rank, count));
  const auto event = ranks.AllReduce(values.range(), type, values.written());
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ((*event)->Wait(), absl::OkStatus());
  EXPECT_THAT(values.Read<T>(), ElementsAreArray(Total<T>(ranks.place().ranks, count)));
}

TEST_P(Collectives, AddsElementsOfEachType) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    CheckSum<float>(ranks, device, DataType::kFloat32, 1);
    CheckSum<float>(ranks, device, DataType::kFloat32, 1237);
    CheckSum<double>(ranks, device, DataType::kFloat64, 5);
    CheckSum<int32_t>(ranks, device, DataType::kInt32, 129);
    CheckSum<int64_t>(ranks, device, DataType::kInt64, 3);
  });
}

TEST_P(Collectives, RoundsSumsOfBFloat16) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    // Numbers of 8 bits, whose sums need more.
    const auto of_rank = [](int64_t rank) { return static_cast<float>(129 + 2 * rank); };
    const int64_t count = ranks.place().ranks;
    float exact = 0;
    for (int64_t rank = 0; rank < count; ++rank) exact += of_rank(rank);
    const float own = of_rank(ranks.place().rank);
    Values values(ranks, device, std::vector<uint16_t>(1237, FloatToBFloat16(own)));
    const auto event = ranks.AllReduce(values.range(), DataType::kBFloat16, values.written());
    ASSERT_TRUE(event.ok()) << event.status();
    ASSERT_EQ((*event)->Wait(), absl::OkStatus());
    for (const uint16_t sum : values.Read<uint16_t>())
      ASSERT_NEAR(BFloat16ToFloat(sum), exact, exact * count / 256);
  });
}

TEST_P(Collectives, AddsMoreThanOnePieceOfSharedMemory) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    CheckSum<float>(ranks, device, DataType::kFloat32, (3 << 20) + 77);
  });
}

TEST_P(Collectives, AddsAPartOfMemory) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    const int64_t part = device->info().buffer_alignment;
    const hal::BufferPtr whole = *ranks.Allocate(device, 2 * part);
    const hal::BufferPtr second = *device->SubBuffer(whole, part, part);
    const std::unique_ptr<hal::Queue> queue = *device->CreateQueue(false);
    const std::vector<uint8_t> ones(static_cast<size_t>(2 * part), 1);
    ASSERT_TRUE(queue->Write(whole, 0, ones).ok());
    const auto event = ranks.AllReduce({second, 0, part}, DataType::kInt32, *queue->Mark());
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ((*event)->Wait(), absl::OkStatus());
    std::vector<uint8_t> sums(ones.size());
    ASSERT_TRUE(queue->Read(whole, 0, absl::MakeSpan(sums)).ok());
    const auto half = static_cast<std::ptrdiff_t>(part);
    std::vector<uint8_t> expected(ones.begin(), ones.begin() + half);
    expected.resize(ones.size(), static_cast<uint8_t>(ranks.place().ranks));
    EXPECT_THAT(sums, ElementsAreArray(expected));
  });
}

TEST_P(Collectives, GivesAllRanksTheSameBits) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    std::vector<float> own(5000);
    for (size_t i = 0; i < own.size(); ++i)
      own[i] = 1.0F / static_cast<float>(3 + i + 17 * static_cast<size_t>(ranks.place().rank));
    Values values(ranks, device, own);
    ASSERT_TRUE(
        (*ranks.AllReduce(values.range(), DataType::kFloat32, values.written()))->Wait().ok());
    const std::vector<float> sums = values.Read<float>();
    Values first(ranks, device, sums);
    ASSERT_TRUE((*ranks.Broadcast(first.range(), 0, first.written()))->Wait().ok());
    EXPECT_THAT(sums, ElementsAreArray(first.Read<float>()));
  });
}

TEST_P(Collectives, GathersThePartsInTheOrderOfRanks) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    Values part(ranks, device, Own<int32_t>(ranks.place().rank, 301));
    Values whole(ranks, device,
                 std::vector<int32_t>(static_cast<size_t>(301 * ranks.place().ranks)));
    ASSERT_TRUE(whole.written()->Wait().ok());
    const auto event = ranks.AllGather(part.range(), whole.range(), part.written());
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ((*event)->Wait(), absl::OkStatus());
    std::vector<int32_t> expected;
    for (int64_t rank = 0; rank < ranks.place().ranks; ++rank) {
      const std::vector<int32_t> own = Own<int32_t>(rank, 301);
      expected.insert(expected.end(), own.begin(), own.end());
    }
    EXPECT_THAT(whole.Read<int32_t>(), ElementsAreArray(expected));
  });
}

TEST_P(Collectives, ScattersTheSums) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    const int64_t count = ranks.place().ranks;
    Values whole(ranks, device, Own<double>(ranks.place().rank, static_cast<size_t>(33 * count)));
    Values part(ranks, device, std::vector<double>(33));
    ASSERT_TRUE(part.written()->Wait().ok());
    const auto event =
        ranks.ReduceScatter(whole.range(), part.range(), DataType::kFloat64, whole.written());
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ((*event)->Wait(), absl::OkStatus());
    const std::vector<double> sums = Total<double>(count, static_cast<size_t>(33 * count));
    const auto first = sums.begin() + 33 * ranks.place().rank;
    EXPECT_THAT(part.Read<double>(), ElementsAreArray(std::vector<double>(first, first + 33)));
  });
}

TEST_P(Collectives, BroadcastsFromEachRank) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    for (int64_t root = 0; root < ranks.place().ranks; ++root) {
      Values values(ranks, device, Own<int64_t>(ranks.place().rank, 40));
      const auto event = ranks.Broadcast(values.range(), root, values.written());
      ASSERT_TRUE(event.ok()) << event.status();
      EXPECT_EQ((*event)->Wait(), absl::OkStatus());
      EXPECT_THAT(values.Read<int64_t>(), ElementsAreArray(Own<int64_t>(root, 40)));
    }
  });
}

TEST_P(Collectives, SendsAlongAChainOfRanks) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    const Place place = ranks.place();
    Values values(ranks, device, std::vector<int32_t>(1000, place.rank == 0 ? 42 : 0));
    hal::EventPtr last = values.written();
    if (place.rank > 0) last = *ranks.Receive(values.range(), place.rank - 1, last);
    if (place.rank + 1 < place.ranks) last = *ranks.Send(values.range(), place.rank + 1, last);
    EXPECT_EQ(last->Wait(), absl::OkStatus());
    EXPECT_THAT(values.Read<int32_t>(), ElementsAreArray(std::vector<int32_t>(1000, 42)));
  });
}

TEST_P(Collectives, ExecutesOperationsInTheOrderOfTheirStart) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    Values values(ranks, device, std::vector<int64_t>{1});
    hal::EventPtr last;
    int64_t expected = 1;
    for (int i = 0; i < 6; ++i) {
      last = *ranks.AllReduce(values.range(), DataType::kInt64, values.written());
      expected *= ranks.place().ranks;
    }
    EXPECT_EQ(last->Wait(), absl::OkStatus());
    EXPECT_THAT(values.Read<int64_t>(), testing::ElementsAre(expected));
    const auto timing = last->GetTiming();
    ASSERT_TRUE(timing.ok());
    EXPECT_LE(timing->start_ns, timing->end_ns);
  });
}

TEST_P(Collectives, RefusesRangesThatDoNotFit) {
  GetParam().run([](Communicator& ranks, const hal::DevicePtr& device) {
    const Place place = ranks.place();
    Values values(ranks, device, std::vector<float>(6));
    Range beyond = values.range();
    beyond.size += 1000;
    const auto code = [](const auto& result) { return result.status().code(); };
    const auto invalid = absl::StatusCode::kInvalidArgument;
    EXPECT_EQ(code(ranks.AllReduce(beyond, DataType::kFloat32, nullptr)), invalid);
    EXPECT_EQ(code(ranks.AllReduce(values.range(), DataType::kBool, nullptr)), invalid);
    EXPECT_EQ(code(ranks.AllGather(values.range(), values.range(), nullptr)),
              place.ranks == 1 ? absl::StatusCode::kOk : invalid);
    EXPECT_EQ(code(ranks.Broadcast(values.range(), place.ranks, nullptr)), invalid);
    EXPECT_EQ(code(ranks.Send(values.range(), place.rank, nullptr)), invalid);
    EXPECT_EQ(code(ranks.Receive({}, 0, nullptr)), invalid);
  });
}

}  // namespace
}  // namespace tartan::distributed
