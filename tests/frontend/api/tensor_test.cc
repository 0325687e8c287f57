// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tensor.h"

#include "frontend/api/function.h"
#include "gtest/gtest.h"

namespace tartan::api {
namespace {

Tensor Scalar(float value) {
  return Tensor::Constant(HostTensor::FromVector<float>({DataType::kFloat32, {}}, {value}));
}

TEST(Tensor, KnowsWhatItIs) {
  const Tensor x = Tensor::Placeholder("x", {DataType::kFloat32, {2, 3}});
  EXPECT_TRUE(x.is_placeholder());
  EXPECT_EQ(x.constant(), nullptr);
  EXPECT_EQ(x.shape().ToString(), "float32[2, 3]");
  const Tensor c = Scalar(4);
  EXPECT_FALSE(c.is_placeholder());
  EXPECT_EQ(c.constant()->GetDouble(0), 4);
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensor, KnowsWhetherItDependsOnAPlaceholderWithoutAValue) {
  const Tensor open = Tensor::Placeholder("x", {DataType::kFloat32, {2}});
  const Tensor leaf =
      Tensor::Leaf(HostTensor::FromVector<float>({DataType::kFloat32, {2}}, {1, 2}), "w");
  const auto add = Function::FromTile("function (A, B) -> (C) { C = A + B; }");
  ASSERT_TRUE(add.ok()) << add.status();
  const auto sum = [&](const Tensor& a, const Tensor& b) { return (*add->Apply({a, b}))[0]; };
  EXPECT_TRUE(open.depends_on_open_placeholder());
  EXPECT_FALSE(leaf.depends_on_open_placeholder());
  EXPECT_FALSE(sum(leaf, leaf).depends_on_open_placeholder());
  EXPECT_TRUE(sum(leaf, open).depends_on_open_placeholder());
  EXPECT_TRUE(sum(sum(open, leaf), leaf).depends_on_open_placeholder());
}

TEST(Tensor, EqualsOnlyItself) {
  const Tensor a = Scalar(1);
  const Tensor copy = a;
  EXPECT_TRUE(a == copy);
  EXPECT_FALSE(a == Scalar(1));
}

TEST(Tensor, LongChainsAreReleasedWithoutRecursion) {
  Tensor x = Tensor::Placeholder("x", {DataType::kFloat32, {2}});
  const Function negate = Function::FromTile("function (A) -> (B) { B = -A; }").value();
  for (int i = 0; i < 100000; ++i) x = negate.Apply({x})->front();
  EXPECT_EQ(x.shape().ToString(), "float32[2]");
}

TEST(Tensor, DiamondsAreReleasedOnce) {
  const Function add = Function::FromTile("function (A, B) -> (C) { C = A + B; }").value();
  Tensor x = Tensor::Placeholder("x", {DataType::kFloat32, {2}});
  std::weak_ptr<const TensorNode> first = x.node();
  for (int i = 0; i < 1000; ++i) x = add.Apply({x, x})->front();
  EXPECT_FALSE(first.expired());
  x = Tensor();
  EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace tartan::api
