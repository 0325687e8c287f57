// SPDX-License-Identifier: Apache-2.0
// Checks the analysis of random contractions of real sizes with the integer set library (isl).
// TARTAN_LONG_TESTS sets the number (default 300), TARTAN_TEST_SEED the first seed.
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/tile/poly/enumerate.h"
#include "tests/tile/poly/random_contraction.h"
#include "tile/poly/analysis/analyze_contraction.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::RangeConstraint;
using math::Rational;

std::vector<std::string> Numbered(const char* prefix, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(absl::StrCat(prefix, i));
  return names;
}

std::string Tuple(const std::vector<std::string>& names) {
  return absl::StrCat("[", absl::StrJoin(names, ","), "]");
}

// Returns scale * poly in isl's notation, with an integer scale that removes all fractions.
std::string Scaled(const Affine& poly, const std::vector<std::string>& names, int64_t& scale) {
  scale = poly.constant.denominator();
  for (const Rational& c : poly.coefficients) scale *= c.denominator();
  std::string text = absl::StrCat((poly.constant * Rational(scale)).numerator());
  for (size_t i = 0; i < poly.coefficients.size(); ++i) {
    absl::StrAppend(&text, " + ", (poly.coefficients[i] * Rational(scale)).numerator(), "*",
                    names[i]);
  }
  return text;
}

void AppendRange(const RangeConstraint& constraint, const std::vector<std::string>& names,
                 bool integer, std::vector<std::string>& to) {
  int64_t scale;
  std::string poly = Scaled(constraint.poly, names, scale);
  to.push_back(absl::StrCat("0 <= ", poly, " < ", scale * constraint.range));
  if (integer) to.push_back(absl::StrCat("(", poly, ") mod ", scale, " = 0"));
}

void AppendEquals(const std::vector<Affine>& polys, const std::vector<std::string>& names,
                  const std::vector<std::string>& values, std::vector<std::string>& to) {
  for (size_t i = 0; i < polys.size(); ++i) {
    int64_t scale;
    std::string poly = Scaled(polys[i], names, scale);
    to.push_back(absl::StrCat(scale, "*", values[i], " = ", poly));
  }
}

std::string Braces(const std::string& tuple, const std::vector<std::string>& conditions) {
  return absl::StrCat("{ ", tuple, conditions.empty() ? "" : " : ",
                      absl::StrJoin(conditions, " and "), " }");
}

// Returns the definition: the map from valid points to elements.
std::string DefinitionText(const Problem& problem) {
  std::vector<std::string> x = Numbered("x", problem.contraction.index_names.size());
  std::vector<std::string> o = Numbered("o", problem.output_dims.size());
  std::vector<std::string> conditions;
  auto append = [&](const ir::Access& access, const std::vector<int64_t>& dims) {
    for (size_t i = 0; i < dims.size(); ++i) {
      AppendRange({access.indices[i], dims[i]}, x, true, conditions);
    }
  };
  append(problem.contraction.output, problem.output_dims);
  for (size_t i = 0; i < problem.input_dims.size(); ++i) {
    append(problem.contraction.inputs[i], problem.input_dims[i]);
  }
  for (const RangeConstraint& c : problem.contraction.constraints) {
    AppendRange(c, x, false, conditions);
  }
  AppendEquals(problem.contraction.output.indices, x, o, conditions);
  return Braces(absl::StrCat(Tuple(x), " -> ", Tuple(o)), conditions);
}

// Returns the map from loop points, with all constraints, to points and elements.
std::string SpaceText(const IndexSpace& space) {
  std::vector<std::string> k = Numbered("k", space.indices.size());
  std::vector<std::string> x = Numbered("x", space.original.size());
  std::vector<std::string> o = Numbered("o", space.output_coords.size());
  std::vector<std::string> conditions;
  for (size_t i = 0; i < k.size(); ++i) {
    conditions.push_back(absl::StrCat("0 <= ", k[i], " < ", space.indices[i].range));
  }
  for (const auto* constraints : {&space.store_guard, &space.constraints}) {
    for (const RangeConstraint& c : *constraints) AppendRange(c, k, false, conditions);
  }
  AppendEquals(space.original, k, x, conditions);
  AppendEquals(space.output_coords, k, o, conditions);
  return Braces(absl::StrCat(Tuple(k), " -> [", Tuple(x), " -> ", Tuple(o), "]"), conditions);
}

// Returns the map from output points, with the guard, to elements.
std::string StoreText(const IndexSpace& space) {
  std::vector<std::string> k = Numbered("k", space.output_index_count);
  std::vector<std::string> o = Numbered("o", space.output_coords.size());
  std::vector<std::string> conditions;
  for (size_t i = 0; i < k.size(); ++i) {
    conditions.push_back(absl::StrCat("0 <= ", k[i], " < ", space.indices[i].range));
  }
  for (const RangeConstraint& c : space.store_guard) AppendRange(c, k, false, conditions);
  AppendEquals(space.output_coords, k, o, conditions);
  return Braces(absl::StrCat(Tuple(k), " -> ", Tuple(o)), conditions);
}

std::string ElementsText(const std::vector<int64_t>& dims) {
  std::vector<std::string> o = Numbered("o", dims.size()), conditions;
  for (size_t i = 0; i < dims.size(); ++i) {
    conditions.push_back(absl::StrCat("0 <= ", o[i], " < ", dims[i]));
  }
  return Braces(Tuple(o), conditions);
}

// Owns an isl context with a limit on its work.
class Isl {
 public:
  Isl() : ctx_(isl_ctx_alloc()) {
    isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx_, 2000000);
  }
  ~Isl() { isl_ctx_free(ctx_); }

  // Returns whether the map is one-to-one and its range is the set; frees both.
  isl_bool IsBijection(isl_map* map, isl_set* range) {
    isl_bool injective = isl_map_is_injective(map);
    isl_set* reached = isl_map_range(map);
    isl_bool equal = isl_set_is_equal(reached, range);
    isl_set_free(reached);
    isl_set_free(range);
    if (injective == isl_bool_error || equal == isl_bool_error) return isl_bool_error;
    return injective == isl_bool_true && equal == isl_bool_true ? isl_bool_true : isl_bool_false;
  }
  isl_map* Map(const std::string& text) { return isl_map_read_from_str(ctx_, text.c_str()); }
  isl_set* Set(const std::string& text) { return isl_set_read_from_str(ctx_, text.c_str()); }

 private:
  isl_ctx* ctx_;
};

TEST(AnalyzeContraction, AgreesWithTheIntegerSetLibrary) {
  int64_t count = FromEnvironment("TARTAN_LONG_TESTS", 300);
  uint64_t first = FromEnvironment("TARTAN_TEST_SEED", 20261121);
  int64_t compared = 0, skipped = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    Problem problem =
        RandomContraction(seed, {1, 3, 5, 7, 16, 37, 64, 128, 223, 1000, 50257}).Next();
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", problem.ToString()));
    auto space = AnalyzeContraction(problem.contraction, problem.output_dims, problem.input_dims);
    if (!IsBounded(problem)) continue;
    ASSERT_TRUE(space.ok()) << space.status();
    Isl isl;
    isl_bool stores =
        isl.IsBijection(isl.Map(StoreText(*space)), isl.Set(ElementsText(problem.output_dims)));
    isl_bool points =
        isl.IsBijection(isl.Map(SpaceText(*space)), isl_map_wrap(isl.Map(DefinitionText(problem))));
    ASSERT_NE(stores, isl_bool_false) << ToString(*space);
    ASSERT_NE(points, isl_bool_false) << ToString(*space);
    stores == isl_bool_true&& points == isl_bool_true ? ++compared : ++skipped;
  }
  std::cout << compared << " compared, " << skipped << " too long for the library\n";
  EXPECT_GT(compared, count * 3 / 4);
}

}  // namespace
}  // namespace tartan::poly
