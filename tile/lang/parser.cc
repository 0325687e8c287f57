// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/parser.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/lang/grammar.h"
#include "tile/lang/parse_context.h"

// Defined in lexer.l.
void* MakeTileScanner(absl::string_view text);
void FreeTileScanner(void* scanner);

namespace tartan::lang {
namespace {

constexpr size_t kMaxText = size_t{64} << 20;

struct ScannerDeleter {
  void operator()(void* scanner) const { FreeTileScanner(scanner); }
};

}  // namespace

absl::StatusOr<Function> Parse(absl::string_view text, absl::string_view file) {
  if (text.size() > kMaxText) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": the text has ", text.size(),
                                                   " bytes; at most ", kMaxText, " are accepted"));
  }
  const std::unique_ptr<void, ScannerDeleter> scanner(MakeTileScanner(text));
  if (scanner == nullptr) return absl::ResourceExhaustedError("out of memory in the Tile scanner");
  ParseContext context(text, file);
  Grammar grammar(scanner.get(), context);
  const int failed = grammar.parse();
  Function function = context.TakeFunction();
  if (!context.errors().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(context.errors(), "\n"));
  }
  if (failed != 0) return absl::InternalError("the Tile parser failed without a message");
  return function;
}

}  // namespace tartan::lang
