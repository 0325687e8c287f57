// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/csv.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tile/base/printable.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

struct Record {
  int64_t line = 0;  // number of its first line, from 1
  // without the outer quotes; quotes within are still doubled
  std::vector<absl::string_view> cells;
};

absl::Status At(int64_t line, size_t column, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", column + 1, ": ", what));
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

// Splits the text into records.
class Reader {
 public:
  explicit Reader(absl::string_view text) : rest_(absl::StripPrefix(text, "\xef\xbb\xbf")) {}

  // Returns false at the end of the text.
  absl::StatusOr<bool> Next(Record* record) {
    SkipEmptyLines();
    record->line = line_;
    record->cells.clear();
    if (rest_.empty()) return false;
    while (true) {
      TARTAN_ASSIGN_OR_RETURN(const absl::string_view cell, NextCell(*record));
      record->cells.push_back(cell);
      if (!absl::ConsumePrefix(&rest_, ",")) break;
    }
    SkipLineEnd();
    return true;
  }

 private:
  void SkipBlanks() {
    while (!rest_.empty() && IsBlank(rest_[0])) rest_.remove_prefix(1);
  }

  void SkipLineEnd() {
    if (!absl::ConsumePrefix(&rest_, "\r\n") && !rest_.empty()) rest_.remove_prefix(1);
    ++line_;
  }

  void SkipEmptyLines() {
    while (true) {
      const size_t text = rest_.find_first_not_of(" \t");
      if (text == absl::string_view::npos) rest_ = {};
      if (rest_.empty() || !IsLineEnd(rest_[text])) return;
      rest_.remove_prefix(text);
      SkipLineEnd();
    }
  }

  absl::StatusOr<absl::string_view> NextCell(const Record& record) {
    SkipBlanks();
    if (!rest_.empty() && rest_[0] == '"') return NextQuoted(record);
    size_t size = 0;
    while (size < rest_.size() && rest_[size] != ',' && !IsLineEnd(rest_[size])) ++size;
    const absl::string_view cell = absl::StripTrailingAsciiWhitespace(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return cell;
  }

  absl::StatusOr<absl::string_view> NextQuoted(const Record& record) {
    const int64_t line = line_;
    size_t end = 1;
    while (true) {
      end = rest_.find('"', end);
      if (end == absl::string_view::npos) {
        return At(line, record.cells.size(), "its quotation mark is not closed");
      }
      if (rest_.substr(end + 1, 1) != "\"") break;
      end += 2;
    }
    const absl::string_view cell = rest_.substr(1, end - 1);
    line_ += std::count(cell.begin(), cell.end(), '\n');
    rest_.remove_prefix(end + 1);
    SkipBlanks();
    if (!rest_.empty() && rest_[0] != ',' && !IsLineEnd(rest_[0])) {
      return At(line, record.cells.size(), "text follows its closing quotation mark");
    }
    return cell;
  }

  absl::string_view rest_;
  int64_t line_ = 1;
};

std::string Shown(absl::string_view cell) {
  constexpr size_t kMost = 40;
  const bool is_long = cell.size() > kMost;
  return absl::StrCat("\"", Printable(cell.substr(0, kMost)), is_long ? "…" : "", "\"");
}

bool IsNumber(absl::string_view cell) {
  double ignored;
  return absl::SimpleAtod(cell, &ignored);
}

// Returns true if the first record names the columns.
absl::StatusOr<bool> IsHeader(const Record& first, const CsvOptions& options) {
  if (options.has_header.has_value()) return *options.has_header;
  const auto& cells = first.cells;
  const auto number = std::find_if(cells.begin(), cells.end(), IsNumber);
  const auto name = std::find_if(cells.begin(), cells.end(), [](absl::string_view cell) {
    return !cell.empty() && !IsNumber(cell);
  });
  if (name == cells.end() || number == cells.end()) return name != cells.end();
  return At(first.line, name - cells.begin(),
            absl::StrCat(Shown(*name), " is not a number, but ", Shown(*number), " in column ",
                         number - cells.begin() + 1,
                         " is a number: the line has neither column names nor values only"));
}

absl::StatusOr<size_t> LabelColumn(const Record& first, bool is_header, const CsvOptions& options) {
  const auto& cells = first.cells;
  if (cells.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", first.line, ": ", cells.size(),
                     " cell; expected at least one feature and a label"));
  }
  if (options.label.empty()) return cells.size() - 1;
  if (!is_header) {
    return absl::InvalidArgumentError(absl::StrCat("has no line of column names, so column \"",
                                                   options.label, "\" cannot be found"));
  }
  std::vector<std::string> names;
  for (const absl::string_view cell : cells) {
    names.push_back(absl::StrReplaceAll(cell, {{"\"\"", "\""}}));
    if (names.back() == options.label) return names.size() - 1;
  }
  const auto shown = [](std::string* out, const std::string& name) {
    absl::StrAppend(out, Shown(name));
  };
  return absl::NotFoundError(absl::StrCat("has no column \"", options.label, "\", but ",
                                          absl::StrJoin(names, ", ", shown)));
}

// Parses a short decimal number without an exponent, the common case. An integer below 10^15
// divided by a power of ten is rounded once, because both are exact in double (Clinger, 1990).
bool ReadShort(absl::string_view cell, double* value) {
  static constexpr double kPowers[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
  constexpr size_t kMost = 16;  // including the sign or the point
  const bool is_negative = absl::ConsumePrefix(&cell, "-");
  if (cell.empty() || cell.size() >= kMost) return false;
  int64_t digits = 0;
  size_t point = cell.size();
  for (size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '.' && point == cell.size() && cell.size() > 1) {
      point = i;
    } else if (cell[i] >= '0' && cell[i] <= '9') {
      digits = digits * 10 + (cell[i] - '0');
    } else {
      return false;
    }
  }
  const size_t places = point == cell.size() ? 0 : cell.size() - point - 1;
  *value = static_cast<double>(digits) / kPowers[places];
  if (is_negative) *value = -*value;
  return true;
}

bool ReadNumber(absl::string_view cell, bool allow_missing, double* value) {
  if (ReadShort(cell, value)) return true;
  *value = std::nan("");
  if (cell.empty()) return allow_missing;
  if (!absl::SimpleAtod(cell, value)) return false;
  return allow_missing || std::isfinite(static_cast<float>(*value));
}

// The reason why a cell is not a number.
absl::Status NoNumber(const Record& record, size_t column) {
  const absl::string_view cell = record.cells[column];
  if (cell.empty()) return At(record.line, column, "is empty");
  return At(record.line, column,
            absl::StrCat(Shown(cell), IsNumber(cell) ? " is not a finite value of float32"
                                                     : " is not a number"));
}

bool IsWhole(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  return std::trunc(value) == value && std::abs(value) <= kExact;
}

HostTensor LabelTensor(const std::vector<double>& labels) {
  const std::vector<int64_t> dims = {static_cast<int64_t>(labels.size())};
  if (std::all_of(labels.begin(), labels.end(), IsWhole)) {
    return HostTensor::FromVector<int64_t>({DataType::kInt64, dims},
                                           {labels.begin(), labels.end()});
  }
  return HostTensor::FromVector<float>({DataType::kFloat32, dims}, {labels.begin(), labels.end()});
}

}  // namespace

absl::StatusOr<std::vector<NamedTensor>> ParseCsv(absl::string_view text,
                                                  const CsvOptions& options) {
  Reader reader(text);
  Record record;
  TARTAN_ASSIGN_OR_RETURN(bool has_record, reader.Next(&record));
  if (!has_record) return absl::InvalidArgumentError("has no examples");
  const int64_t first_line = record.line;
  const size_t width = record.cells.size();
  TARTAN_ASSIGN_OR_RETURN(const bool is_header, IsHeader(record, options));
  TARTAN_ASSIGN_OR_RETURN(const size_t label, LabelColumn(record, is_header, options));
  if (is_header) {
    TARTAN_ASSIGN_OR_RETURN(has_record, reader.Next(&record));
  }
  std::vector<float> features;
  std::vector<double> labels;
  while (has_record) {
    if (record.cells.size() != width) {
      return absl::InvalidArgumentError(absl::StrCat("line ", record.line, " has ",
                                                     record.cells.size(), " cells, but line ",
                                                     first_line, " has ", width));
    }
    for (size_t column = 0; column < width; ++column) {
      double value;
      if (!ReadNumber(record.cells[column], options.allow_missing, &value)) {
        return NoNumber(record, column);
      }
      if (column == label) {
        labels.push_back(value);
      } else {
        features.push_back(static_cast<float>(value));
      }
    }
    TARTAN_ASSIGN_OR_RETURN(has_record, reader.Next(&record));
  }
  const int64_t rows = static_cast<int64_t>(labels.size());
  std::vector<NamedTensor> columns;
  columns.push_back(
      {"x", HostTensor::FromVector<float>(
                {DataType::kFloat32, {rows, static_cast<int64_t>(width) - 1}}, features)});
  columns.push_back({"y", LabelTensor(labels)});
  return columns;
}

}  // namespace tartan::data
