// SPDX-License-Identifier: Apache-2.0
// tartan generate: generates tokens with a decoder and its cache.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/api/text_file.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/tiers_report.h"
#include "frontend/cli/latency.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/process/interruption.h"
#include "frontend/cli/stopwatch.h"
#include "frontend/cli/terminal.h"
#include "frontend/generate/decoder.h"
#include "frontend/generate/sampler.h"
#include "frontend/generate/text/tokenizer.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

constexpr int64_t kMaxToken = (int64_t{1} << 31) - 1;

struct GenerateFlags {
  std::string model;
  std::string tokenizer;
  std::string prompt;
  std::vector<int64_t> tokens;
  std::vector<int64_t> stop;
  std::vector<std::string> states;
  int64_t max = 128;
  generate::SamplingOptions sampling;
};

using TokenizerPtr = std::shared_ptr<const generate::Tokenizer>;

absl::StatusOr<TokenizerPtr> ReadTokenizer(const std::string& path) {
  TARTAN_ASSIGN_OR_RETURN(const std::string text, At(Stage::kFile, api::ReadTextFile(path)));
  absl::StatusOr<TokenizerPtr> tokenizer = generate::Tokenizer::FromJson(text);
  if (tokenizer.ok()) return tokenizer;
  return At(Stage::kModel, absl::Status(tokenizer.status().code(),
                                        absl::StrCat(path, ": ", tokenizer.status().message())));
}

absl::Status Usage(absl::string_view message) {
  return At(Stage::kUsage, absl::InvalidArgumentError(message));
}

// Reads the prompt's tokens, and sets the default stop tokens if --stop is not given.
absl::StatusOr<std::vector<int64_t>> ReadPrompt(const TokenizerPtr& tokenizer,
                                                GenerateFlags* flags) {
  if (flags->tokens.empty() == flags->prompt.empty()) {
    return Usage("give the prompt as either --prompt TEXT with --tokenizer, or --tokens 1,2,3");
  }
  if (tokenizer == nullptr && !flags->prompt.empty()) {
    return Usage("--prompt needs --tokenizer; without a tokenizer give --tokens 1,2,3");
  }
  if (tokenizer != nullptr && flags->stop.empty()) {
    for (const char* end : {"<|endoftext|>", "</s>", "<|end_of_text|>", "<|eot_id|>", "<|im_end|>",
                            "<|end|>", "<end_of_turn>", "<eos>", "<|endofsentence|>"}) {
      if (const auto token = tokenizer->Find(end)) flags->stop.push_back(*token);
    }
  }
  if (flags->prompt.empty()) return flags->tokens;
  absl::StatusOr<std::vector<int64_t>> encoded = tokenizer->Encode(flags->prompt);
  // If the tokenizer expands the text beyond reason, the model is at fault; otherwise the text is.
  const Stage at_fault = absl::IsOutOfRange(encoded.status()) ? Stage::kModel : Stage::kUsage;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> tokens, At(at_fault, std::move(encoded)));
  if (tokens.empty()) return Usage("the prompt has no tokens");
  return tokens;
}

// Checks the tokens against the vocabulary size, if the model fixes the last dimension of its
// scores.
absl::Status CheckTokens(const onnx::OnnxModel& model, const std::vector<int64_t>& tokens) {
  for (const api::TensorSpec& output : model.outputs()) {
    if (output.name != "logits" || output.dims.empty() || output.dims.back() < 0) continue;
    for (const int64_t token : tokens) {
      if (token < output.dims.back()) continue;
      return Usage(absl::StrCat("token ", token,
                                " of the prompt is outside the model's vocabulary of ",
                                output.dims.back()));
    }
  }
  return absl::OkStatus();
}

std::string SummaryOf(const proto::GenerateReport& report) {
  return absl::StrFormat(
      "%d tokens read in %s, %d generated%s; the cache is %s", report.prompt_tokens_size(),
      FormatMs(report.prefill_ms()), report.tokens_size(),
      report.token_ms() > 0 ? absl::StrFormat(", %s each (%.1f/s)", FormatMs(report.token_ms()),
                                              report.tokens_per_second())
                            : "",
      report.cache() == "in place"
          ? absl::StrCat("on the device, with room for ", report.capacity())
      : report.cache() == "states" ? "on the device"
      : report.cache() == "host"   ? "copied at each step"
      : report.cache().empty()     ? "not created yet"
                                   : "missing: each step reads all tokens again");
}

// Prints tokens as they are generated, if a person reads them, and reports all at the end. Two
// threads may call it.
class Printer {
 public:
  Printer(TokenizerPtr tokenizer, const Context& context, proto::GenerateReport report)
      : context_(context), report_(std::move(report)) {
    if (tokenizer != nullptr) text_.emplace(std::move(tokenizer), /*is_first=*/false);
  }

  void SetPrefill(double ms) {
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.set_prefill_ms(ms);
  }

  // Call it after the prompt is read; the capacity may grow with the text.
  void SetCache(const generate::Decoder& decoder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.set_cache(std::string(Name(decoder.kind())));
    report_.set_capacity(static_cast<int32_t>(decoder.capacity()));
    report_.set_tier(TierOf(decoder.last_run()));
  }

  absl::Status Add(int64_t token) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string shown = absl::StrCat(report_.tokens_size() == 0 ? "" : " ", token);
    report_.add_tokens(static_cast<int32_t>(token));
    if (text_) {
      shown = text_->Add(token);
      report_.mutable_text()->append(shown);
    }
    return Show(shown);
  }

  void AddTime(double ms) {
    const std::lock_guard<std::mutex> lock(mutex_);
    times_.push_back(ms);
  }

  // Writes the end of the output; only the first call has an effect. `finish` is the reason for the
  // end.
  absl::Status Finish(absl::string_view finish) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(is_finished_, true)) return absl::OkStatus();
    report_.set_finish(std::string(finish));
    const std::string rest = text_ ? text_->Finish() : "";
    report_.mutable_text()->append(rest);
    TARTAN_RETURN_IF_ERROR(Show(rest + "\n"));
    if (!times_.empty()) {
      const LatencySummary summary = Summarize(std::move(times_));
      report_.set_token_ms(summary.median);
      report_.set_tokens_per_second(1000 / summary.mean);
    }
    if (context_.wants_json()) return context_.Print(report_, "");
    context_.Note(SummaryOf(report_));
    return absl::OkStatus();
  }

 private:
  absl::Status Show(const std::string& shown) const {
    return context_.wants_json() || shown.empty() ? absl::OkStatus() : WriteOutput(shown);
  }

  const Context context_;
  std::mutex mutex_;
  // Guarded by mutex_.
  proto::GenerateReport report_;
  std::vector<double> times_;
  std::optional<generate::TextStream> text_;
  bool is_finished_ = false;
};

// Generates until the requested number of tokens, a stop token, or the model's last position.
// Returns the reason for the end.
absl::StatusOr<absl::string_view> Generate(generate::Decoder& decoder, const GenerateFlags& flags,
                                           std::vector<float> scores, const Context& context,
                                           Printer* printer) {
  generate::Sampler sampler(flags.sampling);
  for (int64_t i = 0;; ++i) {
    const Stopwatch one;
    TARTAN_ASSIGN_OR_RETURN(const int64_t token, sampler.Choose(scores));
    if (std::find(flags.stop.begin(), flags.stop.end(), token) != flags.stop.end()) return "stop";
    TARTAN_RETURN_IF_ERROR(printer->Add(token));
    if (i + 1 == flags.max) return "length";
    absl::StatusOr<std::vector<float>> next = decoder.Read({token});
    if (absl::IsOutOfRange(next.status()) || absl::IsInvalidArgument(next.status())) {
      context.Note(absl::StrCat("generation ends here: ", next.status().message()));
      return "positions";
    }
    TARTAN_ASSIGN_OR_RETURN(scores, std::move(next));
    printer->AddTime(one.Milliseconds());
  }
}

absl::StatusOr<generate::DecoderOptions> DecoderOptionsOf(const GenerateFlags& flags,
                                                          int64_t prompt, const Context& context) {
  generate::DecoderOptions options;
  for (const std::string& text : flags.states) {
    TARTAN_ASSIGN_OR_RETURN(options.states.emplace_back(),
                            At(Stage::kUsage, api::ParseStatePair(text)));
  }
  options.session = context.session_options();
  options.session.exact_after_runs = 2;
  // Each token runs a step, so exact (shape-specialised) kernels pay off.
  options.session.exact_lost_share = 0;
  options.expected = prompt + flags.max;
  return options;
}

absl::StatusOr<ExitCode> Run(GenerateFlags flags, const Context& context) {
  proto::GenerateReport report;
  report.set_model(flags.model);
  TokenizerPtr tokenizer;
  if (!flags.tokenizer.empty()) {
    TARTAN_ASSIGN_OR_RETURN(tokenizer, ReadTokenizer(flags.tokenizer));
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> prompt, ReadPrompt(tokenizer, &flags));
  for (const int64_t token : prompt) report.add_prompt_tokens(static_cast<int32_t>(token));
  const Stopwatch loading;
  TARTAN_ASSIGN_OR_RETURN(const auto model, context.LoadModel(flags.model));
  report.set_load_ms(loading.Milliseconds());
  TARTAN_RETURN_IF_ERROR(CheckTokens(*model, prompt));
  TARTAN_ASSIGN_OR_RETURN(const generate::DecoderOptions options,
                          DecoderOptionsOf(flags, static_cast<int64_t>(prompt.size()), context));
  if (!options.states.empty()) {
    TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, api::FindStates(*model, options.states).status()));
  }
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice());
  report.set_device(Describe(device->info()));
  TARTAN_ASSIGN_OR_RETURN(const auto decoder,
                          At(Stage::kRun, generate::Decoder::Create(model, device, options)));

  Printer printer(tokenizer, context, std::move(report));
  const Interruption interruption([&printer] { (void)printer.Finish("interrupted"); });
  const Stopwatch reading;
  TARTAN_ASSIGN_OR_RETURN(std::vector<float> scores, At(Stage::kRun, decoder->Read(prompt)));
  printer.SetPrefill(reading.Milliseconds());
  printer.SetCache(*decoder);
  if (!decoder->why_not_in_place().empty()) {
    context.Detail(
        absl::StrCat("the cache is not appended to in place: ", decoder->why_not_in_place()));
  }
  if (decoder->read_in_chunks() > 0) {
    context.Detail(
        absl::StrCat(decoder->read_in_chunks(), " tokens of the prompt were read in chunks"));
  }
  TARTAN_ASSIGN_OR_RETURN(
      const absl::string_view finish,
      At(Stage::kRun, Generate(*decoder, flags, std::move(scores), context, &printer)));
  printer.SetCache(*decoder);
  TARTAN_RETURN_IF_ERROR(printer.Finish(finish));
  return ExitCode::kDone;
}

}  // namespace

Command AddGenerate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "Generate tokens with a decoder");
  auto flags = std::make_shared<GenerateFlags>();
  command->add_option("model", flags->model, "ONNX model of a decoder")
      ->required()
      ->type_name("MODEL");
  command->add_option("--tokenizer", flags->tokenizer, "tokenizer.json of Hugging Face (BPE)")
      ->type_name("FILE");
  command->add_option("--prompt", flags->prompt, "The text to continue")->type_name("TEXT");
  AddIntegers(command, "--tokens", &flags->tokens, 0, kMaxToken,
              "The prompt as tokens, instead of --prompt");
  AddInteger(command, "--max", &flags->max, 1, 1'000'000, "Maximum number of tokens to generate")
      ->default_str(absl::StrCat(flags->max));
  AddDouble(command, "--temperature", &flags->sampling.temperature, 0, 1000,
            "Scores are divided by it before a token is sampled; 0 takes the maximum score");
  AddInteger(command, "--top-k", &flags->sampling.top_k, 1, kMaxToken,
             "Sample from the K highest scores only");
  AddDouble(command, "--top-p", &flags->sampling.top_p, 0, 1,
            "Sample from the most probable tokens with this total probability");
  AddInteger(command, "--seed", &flags->sampling.seed, 0, INT64_MAX, "Seed of the sampling")
      ->default_str("0");
  AddIntegers(command, "--stop", &flags->stop, 0, kMaxToken,
              "Tokens that end the text, instead of the tokenizer's");
  command
      ->add_option("--state", flags->states,
                   "PRESENT=PAST: an output that is an input of the next step. By default, pairs "
                   "are found by their names (present.0.key, past_key_values.0.key)")
      ->type_name("PRESENT=PAST")
      ->allow_extra_args(false);
  command->footer(
      "Example:\n  tartan generate gpt2/model.onnx --tokenizer gpt2/tokenizer.json "
      "--prompt \"Once upon\" --temperature 0.8 --top-p 0.95");
  return {command, [flags](const Context& context) { return Run(*flags, context); }};
}

}  // namespace tartan::cli
