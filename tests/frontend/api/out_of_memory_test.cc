// SPDX-License-Identifier: Apache-2.0
// Tests that the library returns ResourceExhausted when an allocation fails. They are a separate
// executable because they replace operator new.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>

// GCC reports a mismatched pair when it inlines only one of the two operators below.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

#include "frontend/api/function.h"
#include "frontend/api/session.h"
#include "tests/frontend/api/test_model.h"

namespace {

// Limits of this thread: the number of further allocations, and the bytes of each.
thread_local int64_t allocations_left = INT64_MAX;
thread_local size_t most_bytes = SIZE_MAX;

}  // namespace

void* operator new(size_t bytes) {
  if (allocations_left <= 0 || bytes > most_bytes) throw std::bad_alloc();
  --allocations_left;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tartan::api {
namespace {

// Runs `work` with allocations of at most 100,000 bytes and returns its status code.
absl::StatusCode WithoutLargeAllocations(const std::function<absl::Status()>& work) {
  most_bytes = 100'000;
  const absl::Status status = work();
  most_bytes = SIZE_MAX;
  return status.code();
}

std::unique_ptr<Session> DoublingSession() {
  const auto device = Device::Open();
  if (!device.ok()) return nullptr;
  auto session = Session::Create(
      std::make_shared<TestModel>(std::vector<int64_t>{-1},
                                  [](const Tensor& x, Resolver*) {
                                    return Apply("function (X) -> (Y) { Y = 2 * X; }", {x});
                                  }),
      *device, ExactAtOnce());
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

TEST(OutOfMemory, IsAnsweredWhereAFunctionIsTooLong) {
  const std::string text = "function (X) -> (Y) { Y = X; }" + std::string(200'000, ' ');
  const auto parse = [&] { return Function::FromTile(text).status(); };
  EXPECT_EQ(WithoutLargeAllocations(parse), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(parse().ok());
}

TEST(OutOfMemory, IsAnsweredWhereAnOutputIsTooLarge) {
  const auto session = DoublingSession();
  if (session == nullptr) GTEST_SKIP() << "no device";
  const NamedTensors inputs = {{"x", Constant(50'000, 21)}};
  const auto run = [&] { return session->Run(inputs).status(); };
  ASSERT_TRUE(run().ok());  // drivers crash when a compilation runs out of memory
  EXPECT_EQ(WithoutLargeAllocations(run), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(run().ok());
}

TEST(OutOfMemory, IsAnsweredWhicheverAllocationOfARunFails) {
  const auto session = DoublingSession();
  if (session == nullptr) GTEST_SKIP() << "no device";
  const NamedTensors inputs = {{"x", Constant(5, 21)}};
  ASSERT_TRUE(session->Run(inputs).ok());
  absl::Status status = absl::UnknownError("not tried");
  int64_t count = 0;
  for (; count < 10'000 && !status.ok(); ++count) {
    allocations_left = count;
    status = session->Run(inputs).status();
    allocations_left = INT64_MAX;
    if (!status.ok()) {
      ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << count << ": " << status;
    }
  }
  EXPECT_GT(count, 10) << "it allocates more";
  const auto y = session->Run(inputs);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->at(0).ToDoubles(), std::vector<double>(5, 42));
}

}  // namespace
}  // namespace tartan::api
