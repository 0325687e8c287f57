// SPDX-License-Identifier: Apache-2.0
#include "tests/hal/conformance.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "tests/hal/conformance_support.h"

namespace tartan::hal {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::ostream& operator<<(std::ostream& out, const Backend& backend) { return out << backend.name; }

std::string BackendName(const testing::TestParamInfo<Backend>& info) { return info.param.name; }

namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

}  // namespace

void Conformance::SetUp() {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  for (const auto& [name, reason] : GetParam().skipped) {
    if (test.rfind(name + "/", 0) == 0) GTEST_SKIP() << reason;
  }
  driver_ = GetParam().make_driver();
  const auto devices = driver_->ListDevices();
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_FALSE(devices->empty());
  auto device = driver_->Open(devices->front());
  ASSERT_TRUE(device.ok()) << device.status();
  device_ = *device;
}

BufferPtr Conformance::Allocate(int64_t bytes) {
  auto buffer = device_->Allocate(bytes);
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  return buffer.ok() ? *buffer : nullptr;
}

std::unique_ptr<Queue> Conformance::CreateQueue(bool profiling) {
  auto queue = device_->CreateQueue(profiling);
  EXPECT_TRUE(queue.ok()) << queue.status();
  return queue.ok() ? *std::move(queue) : nullptr;
}

ExecutablePtr Conformance::Compile() {
  ExecutableSource source;
  source.format = GetParam().format;
  source.kernels = {GetParam().add_one, GetParam().scale};
  auto executable = device_->Compile(source);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return executable.ok() ? *executable : nullptr;
}

BufferPtr Conformance::Upload(Queue& queue, const std::vector<float>& values) {
  const BufferPtr buffer = Allocate(values.size() * sizeof(float));
  EXPECT_OK(queue.Write(buffer, 0, Bytes(values)));
  return buffer;
}

std::vector<float> Conformance::Download(Queue& queue, const BufferPtr& buffer) {
  std::vector<float> values(buffer->size() / sizeof(float));
  EXPECT_OK(queue.Read(buffer, 0, MutableBytes(values)));
  return values;
}

TEST_P(Conformance, ReportsUsableDevices) {
  const auto devices = driver_->ListDevices();
  ASSERT_TRUE(devices.ok());
  for (size_t i = 0; i < devices->size(); ++i) {
    const DeviceInfo& info = (*devices)[i];
    EXPECT_EQ(info.ordinal, static_cast<int>(i));
    EXPECT_EQ(info.backend, driver_->name());
    EXPECT_NE(info.name, "");
    EXPECT_GT(info.memory_bytes, 0);
    EXPECT_GT(info.max_allocation_bytes, 0);
    EXPECT_GT(info.buffer_alignment, 0);
    EXPECT_GE(info.settings.threads, 1);
    EXPECT_LE(info.settings.threads, info.settings.max_work_group_size);
    EXPECT_GE(info.settings.vector_width, 1);
    EXPECT_GE(info.settings.compute_units, 1);
    EXPECT_THAT(info.settings.max_work_item_sizes, Each(testing::Ge(1)));
  }
}

TEST_P(Conformance, AnswersAlikeWhateverIsAskedOfADevice) {
  for (const Knowledge knowledge :
       {Knowledge::kMeasured, Knowledge::kCompiler, Knowledge::kReported}) {
    const auto settings = device_->Settings(knowledge);
    ASSERT_TRUE(settings.ok()) << settings.status();
    EXPECT_TRUE(device_->Knows(knowledge));
    EXPECT_EQ(*device_->Settings(knowledge), *settings);
    EXPECT_GE(settings->threads, 1);
    EXPECT_LE(settings->threads, settings->max_work_group_size);
    EXPECT_GE(settings->vector_width, 1);
  }
  EXPECT_EQ(*device_->Settings(Knowledge::kReported), device_->info().settings);
}

TEST_P(Conformance, RefusesToOpenADeviceThatIsNotThere) {
  DeviceInfo info = device_->info();
  info.ordinal = 1000;
  EXPECT_EQ(CodeOf(driver_->Open(info)), absl::StatusCode::kUnavailable);
}

TEST_P(Conformance, ReadsWhatWasWritten) {
  const auto queue = CreateQueue();
  const BufferPtr buffer = Upload(*queue, {1, 2, 3, 4});
  EXPECT_OK(queue->Write(buffer, 4, Bytes({20, 30})));
  EXPECT_THAT(Download(*queue, buffer), ElementsAre(1, 20, 30, 4));
  std::vector<float> part(2);
  EXPECT_OK(queue->Read(buffer, 8, MutableBytes(part)));
  EXPECT_THAT(part, ElementsAre(30, 4));
}

TEST_P(Conformance, LetsTheCallerReuseWhatItWrote) {
  const auto queue = CreateQueue();
  for (const size_t count : {size_t{16}, size_t{1} << 20}) {  // below and above any staging limit
    std::vector<float> values(count, 1.0f);
    const BufferPtr buffer = Upload(*queue, values);
    std::fill(values.begin(), values.end(), 2.0f);
    EXPECT_THAT(Download(*queue, buffer), Each(1.0f));
  }
}

TEST_P(Conformance, LetsTheCallerReuseWhatItWroteBehindWorkInFlight) {
  const auto queue = CreateQueue();
  constexpr size_t kCount = size_t{1} << 20;
  const BufferPtr other = Allocate(kCount * sizeof(float));
  std::vector<BufferPtr> written;
  std::vector<float> values(kCount);
  for (int i = 0; i < 4; ++i) {
    EXPECT_OK(queue->Fill(other, 0, other->size(), Bytes({1})));
    std::fill(values.begin(), values.end(), static_cast<float>(i));
    written.push_back(Allocate(kCount * sizeof(float)));
    EXPECT_OK(queue->Write(written.back(), 0, Bytes(values)));
  }
  std::fill(values.begin(), values.end(), -1.0f);
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(Download(*queue, written[i]), Each(static_cast<float>(i)));
  }
}

TEST_P(Conformance, HasReadWhatItReadsLaterOnceItIsFinished) {
  const auto queue = CreateQueue();
  for (const size_t count : {size_t{16}, size_t{1} << 20}) {
    const std::vector<float> values(count, 1.0f);
    const std::vector<float> two = {2, 3};
    const BufferPtr buffer = Allocate(static_cast<int64_t>(count * sizeof(float)));
    EXPECT_OK(queue->WriteAsync(buffer, 0, Bytes(values)));
    EXPECT_OK(queue->WriteAsync(buffer, 4, Bytes(two)));
    std::vector<float> before(count);
    std::vector<float> after(2);
    EXPECT_OK(queue->ReadAsync(buffer, 0, MutableBytes(before)));
    EXPECT_OK(queue->Write(buffer, 4, Bytes({4})));
    EXPECT_OK(queue->ReadAsync(buffer, 4, MutableBytes(after)));
    EXPECT_OK(queue->Finish());
    EXPECT_THAT(absl::MakeSpan(before).first(4), ElementsAre(1, 2, 3, 1));
    EXPECT_EQ(before.back(), 1);
    EXPECT_THAT(after, ElementsAre(4, 3));
  }
}

TEST_P(Conformance, MovesInOrderWhateverIsReadLater) {
  const auto queue = CreateQueue();
  const BufferPtr from = Allocate(4 * sizeof(float));
  const BufferPtr to = Allocate(4 * sizeof(float));
  const std::vector<float> values = {1, 2, 3, 4};
  for (const float fill : {7.0f, 0.0f}) {
    std::vector<float> read(4);
    EXPECT_OK(queue->WriteAsync(from, 0, Bytes(values)));
    EXPECT_OK(queue->Fill(to, 4, 12, Bytes({fill})));
    EXPECT_OK(queue->Copy(from, 8, to, 0, 8));
    EXPECT_OK(queue->ReadAsync(to, 0, MutableBytes(read)));
    EXPECT_OK(queue->Copy(from, 0, to, 0, 16));
    EXPECT_OK(queue->Finish());
    EXPECT_THAT(read, ElementsAre(3, 4, fill, fill));
  }
}

TEST_P(Conformance, TransfersOfNothingDoNothing) {
  const auto queue = CreateQueue();
  const BufferPtr buffer = Upload(*queue, {1, 2});
  EXPECT_OK(queue->Write(buffer, 8, {}));
  EXPECT_OK(queue->Read(buffer, 8, {}));
  EXPECT_OK(queue->Copy(buffer, 0, buffer, 0, 0));
  const uint8_t zero = 0;
  EXPECT_OK(queue->Fill(buffer, 0, 0, {&zero, 1}));
  EXPECT_THAT(Download(*queue, buffer), ElementsAre(1, 2));
}

TEST_P(Conformance, CopiesWithinAndBetweenBuffers) {
  const auto queue = CreateQueue();
  const BufferPtr a = Upload(*queue, {1, 2, 3, 4});
  const BufferPtr b = Upload(*queue, {5, 6, 7, 8});
  EXPECT_OK(queue->Copy(a, 4, b, 8, 8));
  EXPECT_THAT(Download(*queue, b), ElementsAre(5, 6, 2, 3));
  EXPECT_OK(queue->Copy(a, 0, a, 8, 8));
  EXPECT_THAT(Download(*queue, a), ElementsAre(1, 2, 1, 2));
}

TEST_P(Conformance, FillsWithPatternsOfEveryWidth) {
  const auto queue = CreateQueue();
  for (const size_t width : {1, 2, 4, 8}) {
    const BufferPtr buffer = Upload(*queue, std::vector<float>(8, 0.0f));
    const std::vector<uint8_t> pattern = {1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_OK(queue->Fill(buffer, 8, 16, {pattern.data(), width}));
    std::vector<uint8_t> bytes(32);
    EXPECT_OK(queue->Read(buffer, 0, absl::MakeSpan(bytes)));
    for (size_t i = 0; i < bytes.size(); ++i) {
      const bool inside = i >= 8 && i < 24;
      EXPECT_EQ(bytes[i], inside ? pattern[i % width] : 0) << "width " << width << " byte " << i;
    }
  }
}

TEST_P(Conformance, ASubBufferIsAPartOfItsParent) {
  const auto queue = CreateQueue();
  const int64_t alignment = device_->info().buffer_alignment;
  const BufferPtr parent = Allocate(4 * alignment);
  const uint8_t zero = 0;
  EXPECT_OK(queue->Fill(parent, 0, parent->size(), {&zero, 1}));
  auto part = device_->SubBuffer(parent, alignment, 2 * alignment);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ((*part)->size(), 2 * alignment);
  const uint8_t one = 1;
  EXPECT_OK(queue->Fill(*part, 0, 2 * alignment, {&one, 1}));
  std::vector<uint8_t> bytes(parent->size());
  EXPECT_OK(queue->Read(parent, 0, absl::MakeSpan(bytes)));
  for (int64_t i = 0; i < parent->size(); ++i) {
    EXPECT_EQ(bytes[i], i >= alignment && i < 3 * alignment ? 1 : 0) << "byte " << i;
  }
}

TEST_P(Conformance, ASubBufferKeepsItsParentAlive) {
  const auto queue = CreateQueue();
  BufferPtr part = *device_->SubBuffer(Allocate(1024), 0, 8);
  EXPECT_EQ(device_->statistics().allocated_bytes, 1024);
  EXPECT_OK(queue->Write(part, 0, Bytes({1, 2})));
  EXPECT_THAT(Download(*queue, part), ElementsAre(1, 2));
  EXPECT_OK(queue->Finish());
  part.reset();
  EXPECT_EQ(device_->statistics().allocated_bytes, 0);
}

// Devices without pinned memory return nothing, since any memory serves.
TEST_P(Conformance, CopiesToAndFromMemoryThatItAllocatedOnTheHost) {
  constexpr int64_t kBytes = 1 << 20;
  EXPECT_EQ(device_->AllocateHost(0).owner, nullptr);
  const hal::HostMemory memory = device_->AllocateHost(kBytes);
  if (memory.owner == nullptr) return;
  ASSERT_EQ(memory.bytes.size(), static_cast<size_t>(kBytes));
  const auto queue = *device_->CreateQueue(false);
  const BufferPtr buffer = Allocate(kBytes);
  std::fill(memory.bytes.begin(), memory.bytes.end(), 5);
  EXPECT_OK(queue->WriteAsync(buffer, 0, memory.bytes));
  EXPECT_OK(queue->Finish());
  std::fill(memory.bytes.begin(), memory.bytes.end(), 0);
  EXPECT_OK(queue->ReadAsync(buffer, 0, memory.bytes));
  EXPECT_OK(queue->Finish());
  EXPECT_TRUE(
      std::all_of(memory.bytes.begin(), memory.bytes.end(), [](uint8_t b) { return b == 5; }));
}

TEST_P(Conformance, WrappedMemoryIsReadWhereItIsAndKept) {
  const auto queue = CreateQueue();
  constexpr size_t kBytes = 1 << 16;
  std::shared_ptr<uint8_t> memory(static_cast<uint8_t*>(std::aligned_alloc(4096, kBytes)),
                                  std::free);
  for (size_t i = 0; i < kBytes; ++i) memory.get()[i] = static_cast<uint8_t>(i * 7);
  EXPECT_EQ(CodeOf(device_->Wrap({}, memory)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(device_->Wrap({memory.get(), kBytes}, nullptr)),
            absl::StatusCode::kInvalidArgument);
  auto wrapped = device_->Wrap({memory.get(), kBytes}, memory);
  ASSERT_TRUE(wrapped.ok()) << wrapped.status();
  EXPECT_EQ(device_->statistics().allocated_bytes, 0);
  EXPECT_EQ(memory.use_count(), *wrapped == nullptr ? 1 : 2);
  if (*wrapped == nullptr) return;  // a device with separate memory
  EXPECT_EQ((*wrapped)->size(), kBytes);
  const BufferPtr copy = Allocate(kBytes);
  EXPECT_OK(queue->Copy(*wrapped, 0, copy, 0, kBytes));
  std::vector<uint8_t> bytes(kBytes);
  EXPECT_OK(queue->Read(copy, 0, absl::MakeSpan(bytes)));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), memory.get()));
  EXPECT_OK(queue->Finish());
  wrapped->reset();
  EXPECT_EQ(memory.use_count(), 1);
}

TEST_P(Conformance, RefusesRangesOutsideABuffer) {
  const auto queue = CreateQueue();
  const BufferPtr buffer = Upload(*queue, {1, 2});
  std::vector<float> three(3);
  EXPECT_INVALID(queue->Write(buffer, 0, Bytes(three)));
  EXPECT_INVALID(queue->Write(buffer, -4, Bytes({1})));
  EXPECT_INVALID(queue->Read(buffer, 4, MutableBytes(three)));
  EXPECT_INVALID(queue->Read(buffer, kLargest, MutableBytes(three)));
  EXPECT_INVALID(queue->WriteAsync(buffer, 0, Bytes(three)));
  EXPECT_INVALID(queue->ReadAsync(buffer, 4, MutableBytes(three)));
  EXPECT_INVALID(queue->Copy(buffer, 4, Allocate(8), 0, 8));
  EXPECT_INVALID(queue->Copy(buffer, 0, Allocate(8), 4, 8));
  EXPECT_INVALID(queue->Copy(buffer, 0, Allocate(8), 0, -1));
  const uint8_t zero = 0;
  EXPECT_INVALID(queue->Fill(buffer, kLargest, kLargest, {&zero, 1}));
  EXPECT_INVALID(device_->SubBuffer(buffer, 0, 9));
  EXPECT_INVALID(device_->SubBuffer(buffer, kLargest, kLargest));
  EXPECT_THAT(Download(*queue, buffer), ElementsAre(1, 2));
}

TEST_P(Conformance, RefusesOverlappingCopies) {
  const auto queue = CreateQueue();
  const int64_t alignment = device_->info().buffer_alignment;
  const BufferPtr buffer = Allocate(4 * alignment);
  EXPECT_INVALID(queue->Copy(buffer, 0, buffer, 4, 8));
  const BufferPtr part = *device_->SubBuffer(buffer, alignment, alignment);
  EXPECT_INVALID(queue->Copy(part, 0, buffer, alignment, 4));
}

TEST_P(Conformance, RefusesPatternsThatDoNotFit) {
  const auto queue = CreateQueue();
  const BufferPtr buffer = Allocate(24);
  const std::vector<uint8_t> pattern(16, 0);
  for (const size_t width : {0, 3, 16}) {
    EXPECT_INVALID(queue->Fill(buffer, 0, 0, {pattern.data(), width})) << width;
  }
  EXPECT_INVALID(queue->Fill(buffer, 2, 4, {pattern.data(), 4}));
  EXPECT_INVALID(queue->Fill(buffer, 4, 6, {pattern.data(), 4}));
}

TEST_P(Conformance, RefusesMisalignedEmptyAndNestedSubBuffers) {
  const int64_t alignment = device_->info().buffer_alignment;
  const BufferPtr parent = Allocate(4 * alignment);
  EXPECT_INVALID(device_->SubBuffer(parent, 0, 0));
  EXPECT_INVALID(device_->SubBuffer(nullptr, 0, 1));
  if (alignment > 1) {
    EXPECT_INVALID(device_->SubBuffer(parent, 1, 1));
  }
  const BufferPtr part = *device_->SubBuffer(parent, alignment, alignment);
  EXPECT_INVALID(device_->SubBuffer(part, 0, 1));
}

TEST_P(Conformance, RefusesWhatBelongsToAnotherOpenedDevice) {
  const auto queue = CreateQueue();
  const DevicePtr other = *driver_->Open(device_->info());
  const BufferPtr foreign = *other->Allocate(16);
  const BufferPtr own = Allocate(16);
  EXPECT_INVALID(queue->Write(foreign, 0, Bytes({1})));
  EXPECT_INVALID(queue->Copy(own, 0, foreign, 0, 4));
  EXPECT_INVALID(queue->Copy(foreign, 0, own, 0, 4));
  EXPECT_INVALID(device_->SubBuffer(foreign, 0, 4));
  const ExecutablePtr executable = Compile();
  EXPECT_INVALID(queue->Run(executable, AddOne(foreign)));
  EXPECT_INVALID(device_->Record(executable, {AddOne(foreign)}));
  EXPECT_INVALID(other->Record(executable, {AddOne(foreign)}));
  EXPECT_INVALID((*other->CreateQueue(false))->Replay(*device_->Record(executable, {})));
}

TEST_P(Conformance, RefusesNull) {
  const auto queue = CreateQueue();
  EXPECT_INVALID(queue->Write(nullptr, 0, {}));
  EXPECT_INVALID(queue->Read(nullptr, 0, {}));
  EXPECT_INVALID(queue->WriteAsync(nullptr, 0, {}));
  EXPECT_INVALID(queue->ReadAsync(nullptr, 0, {}));
  EXPECT_INVALID(queue->Run(nullptr, Launch()));
  EXPECT_INVALID(queue->Replay(nullptr));
  Launch launch = AddOne(Allocate(4));
  launch.arguments[0] = nullptr;
  EXPECT_INVALID(queue->Run(Compile(), launch));
}

TEST_P(Conformance, RefusesEmptyAndImpossibleAllocations) {
  EXPECT_INVALID(device_->Allocate(0));
  EXPECT_INVALID(device_->Allocate(-1));
  const auto huge = device_->Allocate(int64_t{1} << 50);
  EXPECT_EQ(CodeOf(huge), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(huge.status().message()), HasSubstr("1125899906842624"));
  EXPECT_EQ(device_->statistics().allocated_bytes, 0);
}

TEST_P(Conformance, CountsAllocatedBytes) {
  BufferPtr a = Allocate(1000);
  BufferPtr b = Allocate(24);
  a.reset();
  EXPECT_EQ(device_->statistics().allocated_bytes, 24);
  EXPECT_EQ(device_->statistics().peak_allocated_bytes, 1024);
}

}  // namespace tartan::hal
