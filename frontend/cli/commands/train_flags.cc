// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/train_flags.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/number_options.h"
#include "frontend/train/graph/lora.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

// Parses "NAME=X".
absl::StatusOr<std::pair<std::string, double>> ParseRatio(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  double ratio = 0;
  if (!parts.first.empty() && absl::SimpleAtod(parts.second, &ratio) && ratio >= 0 && ratio < 1)
    return std::pair(parts.first, ratio);
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not of the form VALUE=RATIO with a ratio in [0, 1)"));
}

absl::Status SetDropout(const TrainFlags& flags, onnx::TrainingMode* mode) {
  if (flags.dropout != "off") {
    mode->dropout = true;
    double ratio = 0;
    if (absl::SimpleAtod(flags.dropout, &ratio)) {
      if (!(ratio >= 0 && ratio < 1)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--dropout: ", flags.dropout, " is not in [0, 1)"));
      }
      mode->dropout_ratio = ratio;
    } else if (flags.dropout != "on") {
      return absl::InvalidArgumentError(
          absl::StrCat("--dropout must be on, off or a ratio, not '", flags.dropout, "'"));
    }
  }
  for (const std::string& text : flags.dropout_of) {
    TARTAN_ASSIGN_OR_RETURN(const auto ratio, ParseRatio(text));
    mode->dropout_of.insert(ratio);
  }
  return absl::OkStatus();
}

// Parses "encoder.*:rate=0.1,decay=0".
absl::StatusOr<train::ParameterRules::Group> ParseGroup(const std::string& text) {
  const size_t colon = text.rfind(':');
  train::ParameterRules::Group group;
  if (colon == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not of the form RE:rate=X,decay=X"));
  }
  group.names = text.substr(0, colon);
  for (absl::string_view option : absl::StrSplit(text.substr(colon + 1), ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    double value = 0;
    const bool is_number = absl::SimpleAtod(pair.second, &value) && value >= 0;
    if (is_number && pair.first == "rate") {
      group.factors.rate_factor = value;
    } else if (is_number && pair.first == "decay") {
      group.factors.decay_factor = value;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("'", option, "' is not of the form rate=X or decay=X with a number >= 0"));
    }
  }
  return group;
}

}  // namespace

absl::Status Interpret(TrainFlags* flags) {
  TARTAN_ASSIGN_OR_RETURN(flags->trainer.loss, train::ParseLoss(flags->loss));
  TARTAN_ASSIGN_OR_RETURN(flags->trainer.optimizer.kind, train::OptimizerNamed(flags->optimizer));
  TARTAN_ASSIGN_OR_RETURN(flags->fit.schedule, train::ParseSchedule(flags->schedule));
  TARTAN_RETURN_IF_ERROR(SetDropout(*flags, &flags->trainer.mode));
  TARTAN_RETURN_IF_ERROR(SetPrecision(&flags->precision, &flags->trainer));
  for (const std::string& text : flags->groups) {
    TARTAN_ASSIGN_OR_RETURN(flags->trainer.rules.groups.emplace_back(), ParseGroup(text));
  }
  for (const std::string& text : flags->lora) {
    TARTAN_ASSIGN_OR_RETURN(flags->trainer.rules.lora.emplace_back(), train::ParseLora(text));
  }
  for (const std::string& text : flags->targets) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      flags->fit.target = text;
    } else {
      flags->fit.columns[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  for (const std::string& list : flags->metrics) {
    for (absl::string_view name : absl::StrSplit(list, ',', absl::SkipEmpty()))
      flags->fit.metrics.emplace_back(name);
  }
  for (const std::string& list : flags->augment) {
    TARTAN_ASSIGN_OR_RETURN(const auto parsed, train::ParseAugmentations(list));
    auto& all = flags->trainer.augment.list;
    all.insert(all.end(), parsed.begin(), parsed.end());
  }
  flags->trainer.augment.channels_last = flags->channels_last;
  for (absl::string_view part : absl::StrSplit(flags->mask_text, '/', absl::SkipEmpty())) {
    int value = 0;
    if (!absl::SimpleAtoi(part, &value) || value < 0 || value > 255) {
      return absl::InvalidArgumentError(
          absl::StrCat("--mask-values: '", part, "' is not a number from 0 to 255"));
    }
    flags->mask_values.push_back(static_cast<uint8_t>(value));
  }
  flags->fit.shuffle = !flags->no_shuffle;
  flags->fit.check_data = !flags->no_check;
  flags->trainer.seed = flags->fit.seed;
  flags->trainer.rules.may_train_nothing = flags->fit.evaluates;
  return absl::OkStatus();
}

namespace {

void AddModelFlags(CLI::App* command, TrainFlags* flags) {
  command
      ->add_option("--optimizer", flags->optimizer,
                   "sgd, momentum, nesterov, rmsprop, adagrad, adam, adamw, lion or lamb")
      ->type_name("NAME")
      ->capture_default_str();
  AddDouble(command, "--lr", &flags->fit.rate, 0, 1e6, "Learning rate");
  AddDouble(command, "--weight-decay", &flags->trainer.optimizer.decay, 0, 1e6, "Weight decay");
  AddDouble(command, "--momentum", &flags->trainer.optimizer.momentum, 0, 1,
            "Momentum of momentum and nesterov");
  AddDouble(command, "--beta1", &flags->trainer.optimizer.beta1, 0, 1, "Decay of adam's mean");
  AddDouble(command, "--beta2", &flags->trainer.optimizer.beta2, 0, 1, "Decay of adam's variance");
  AddDouble(command, "--clip-norm", &flags->trainer.clip_norm, 0, 1e30,
            "Maximum norm of all gradients together; 0: no limit");
  AddDouble(command, "--clip-value", &flags->trainer.clip_value, 0, 1e30,
            "Maximum magnitude of a gradient's elements; 0: no limit");
  command
      ->add_option("--schedule", flags->schedule,
                   "constant, step, linear, cosine, plateau or one_cycle; NAME:warmup=100,end=0.1")
      ->type_name("NAME")
      ->capture_default_str();
}

void AddParameterFlags(CLI::App* command, TrainFlags* flags) {
  command
      ->add_option("--trainable", flags->trainer.rules.trainable,
                   "Train only initialisers whose names match")
      ->type_name("RE");
  command
      ->add_option("--frozen", flags->trainer.rules.frozen,
                   "Do not train initialisers whose names match")
      ->type_name("RE");
  command
      ->add_option("--group", flags->groups,
                   "RE:rate=X,decay=X: factors for initialisers whose names match")
      ->type_name("RE:…")
      ->allow_extra_args(false);
  command
      ->add_option("--lora", flags->lora,
                   "RE:rank=8,alpha=8: low-rank factors are trained instead of weights of matmuls\n"
                   "whose names match; the exported model has both in one")
      ->type_name("RE:…")
      ->allow_extra_args(false);
  command->add_flag("--train-batch-norm", flags->trainer.mode.batch_norm,
                    "Normalise by the statistics of the batch, and update the running ones");
  command->add_flag("--sync-batch-norm", flags->trainer.sync_batch_norm,
                    "The same, of several ranks: by the statistics of the batch of all ranks");
  command
      ->add_option("--dropout", flags->dropout,
                   "on: Dropout nodes drop elements; or a ratio for all of them")
      ->type_name("on|off|X")
      ->capture_default_str();
  command
      ->add_option("--dropout-at", flags->dropout_of,
                   "VALUE=RATIO: dropout where the model has no node for it")
      ->type_name("VALUE=X")
      ->allow_extra_args(false);
  command->add_flag("--straight-through", flags->trainer.straight_through,
                    "Gradients pass through roundings and quantisation, within the range");
  AddPrecisionFlags(command, &flags->precision);
  command->add_flag("--init", flags->trainer.initialize,
                    "Train from scratch: parameters get new initial values");
}

void AddLossFlags(CLI::App* command, TrainFlags* flags) {
  command
      ->add_option(
          "--loss", flags->loss,
          "softmax_cross_entropy, binary_cross_entropy, mse, mae, huber, focal, dice, ctc,\n"
          "kl, cosine, triplet, output or @FILE.tile; options as NAME:smoothing=0.1,ignore=-100")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--output", flags->trainer.output,
                      "The output that the loss reads; by default the first, before a softmax");
  command
      ->add_option(
          "--metrics", flags->metrics,
          "Metrics of the validation: accuracy, label_accuracy, topK, auc, mae, rmse, r2;\n"
          "f1, dice, iou, also with _macro, _micro or _per_class")
      ->type_name("NAME[,NAME]");
  command->add_flag("--eval", flags->fit.evaluates,
                    "Evaluate the model on the validation data, by default all data, and end");
  command
      ->add_option("--threshold", flags->fit.threshold,
                   "The score above which metrics take a label as 1: a probability with\n"
                   "binary_cross_entropy, focal and dice (0.5), a value of the output with other\n"
                   "losses")
      ->type_name("X");
}

void AddRunFlags(CLI::App* command, TrainFlags* flags) {
  command->add_option("--val-data", flags->validation_data, "Validation data")->type_name("DATA");
  AddDouble(command, "--val", &flags->fit.validation, 0, 1e18,
            "Share of the examples for validation, or their number");
  command
      ->add_option("--target", flags->targets,
                   "The target's column, or INPUT=COLUMN for an input of another name")
      ->type_name("COLUMN")
      ->allow_extra_args(false);
  command
      ->add_option("--augment", flags->augment,
                   "flip, crop, affine, noise: random changes of pictures; flip:vertical=1, "
                   "crop:padding=4, affine:rotate=10,scale=0.1, noise:deviation=0.05")
      ->type_name("NAME[:key=X],…")
      ->allow_extra_args(false);
  command->add_flag("--channels-last", flags->channels_last,
                    "The model's pictures are [height, width, channels]");
  AddInteger(command, "--batch", &flags->fit.batch, 1, 1 << 24,
             "Examples in a batch; by default 32, or what the model fixes");
  AddShapeFlag(command, &flags->shapes);
  command->add_flag("--drop-last", flags->fit.drop_last,
                    "Leave out the last examples of an epoch if they do not fill a batch");
  AddInteger(command, "--accumulate", &flags->trainer.accumulate, 1, 1 << 20,
             "Batches whose gradients are averaged for one step");
  command->add_flag("--sparse-embedding", flags->trainer.sparse_embeddings,
                    "Update only the rows of embeddings that a batch reads");
  const auto take_budget = [flags](const std::string& text) {
    flags->trainer.memory_budget = ValueOrThrow("--memory-budget", ParseBytes(text));
  };
  command
      ->add_option_function<std::string>(
          "--memory-budget", take_budget,
          "Limit of device memory, such as 512M or 2G: values are recomputed\n"
          "instead of being kept")
      ->type_name("SIZE");
  AddInteger(command, "--epochs", &flags->fit.epochs, 1, 1 << 30,
             "Number of passes over all examples");
  AddInteger(command, "--steps", &flags->fit.steps, 1, int64_t{1} << 40, "Steps instead of epochs");
  AddInteger(command, "--seed", &flags->fit.seed, 0, INT64_MAX,
             "Seed of the order, dropout, augmentation and initial values");
  command->add_flag("--no-shuffle", flags->no_shuffle, "Keep the order of the examples");
  command->add_flag("--no-check", flags->no_check,
                    "Do not check all data for NaN and labels out of range before the first step");
  AddInteger(command, "--patience", &flags->fit.patience, 1, 1 << 30,
             "Stop after N epochs without a better validation loss, with the best parameters");
  command->add_option("--checkpoint", flags->fit.checkpoint, "Folder for last.ckpt and best.ckpt")
      ->type_name("DIR");
  AddInteger(command, "--checkpoint-every", &flags->fit.checkpoint_every, 1, int64_t{1} << 40,
             "Steps between checkpoints; by default one at the end of each epoch");
  command->add_flag("--resume", flags->fit.resume, "Continue from last.ckpt");
}

void AddRankFlags(CLI::App* command, TrainFlags* flags) {
  command
      ->add_option("--trace", flags->ranks.trace,
                   "Of several ranks: write their time lines, for chrome://tracing or Perfetto")
      ->type_name("FILE");
  AddDouble(command, "--collective-timeout", &flags->ranks.collective_timeout_s, 1, 1e9,
            "Of several ranks: seconds that a rank waits for the others");
  command
      ->add_option("--transport", flags->ranks.transport,
                   "Of several ranks: how gradients move (auto: the first of peer, nccl and host "
                   "that all have)")
      ->check(CLI::IsMember({"auto", "peer", "nccl", "host"}));
  const auto take_shard = [flags](const std::string& text) {
    flags->trainer.shard = ValueOrThrow("--shard", train::ShardNamed(text));
  };
  command
      ->add_option_function<std::string>("--shard", take_shard,
                                         "Of several ranks: each keeps its part of the state of "
                                         "the optimizer (ZeRO 1), also\n"
                                         "of the gradients (ZeRO 2), or also of the parameters "
                                         "(ZeRO 3)")
      ->type_name("optimizer|gradients|parameters");
  command
      ->add_option("--gradient-type", flags->ranks.gradient_type,
                   "Of several ranks: type in which gradients are exchanged")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  const auto take_bucket = [flags](const std::string& text) {
    flags->ranks.bucket_bytes = ValueOrThrow("--bucket", ParseBytes(text));
  };
  command
      ->add_option_function<std::string>(
          "--bucket", take_bucket, "Of several ranks: size of gradients that are added at once")
      ->type_name("SIZE");
}

void AddOutputFlags(CLI::App* command, TrainFlags* flags) {
  AddInteger(command, "--log-every", &flags->fit.log_every, 1, 1 << 30,
             "Steps between lines of the log");
  command->add_option("--log", flags->log, "JSON lines")->type_name("FILE");
  command->add_option("--page", flags->page, "Write the loss curves as a page of HTML")
      ->type_name("FILE");
  command->add_option("--plot", flags->plot, "Write the loss curves as a PNG picture")
      ->type_name("FILE");
  command
      ->add_option("--tensorboard", flags->tensorboard,
                   "Write loss, rate and metrics to an event file in this folder")
      ->type_name("DIR");
  command->add_flag("--profile", flags->trainer.profile,
                    "Report the time of each kernel of a step; steps are slower");
  command->add_option("--export", flags->export_path, "Write the trained ONNX model")
      ->type_name("FILE");
}

}  // namespace

void AddTrainFlags(CLI::App* command, TrainFlags* flags) {
  command->add_option("model", flags->model, "ONNX model")->required()->type_name("MODEL");
  command
      ->add_option("--data", flags->data,
                   ".npz, .npy, .csv, NAME=FILE,… or a folder of pictures by class, or of images\n"
                   "and masks")
      ->required()
      ->type_name("DATA");
  command
      ->add_option("--mask-values", flags->mask_text,
                   "The samples of masks for the classes 0, 1, …, such as 0/255; by default the\n"
                   "samples are the classes")
      ->type_name("V0/V1/…");
  AddLossFlags(command, flags);
  AddModelFlags(command, flags);
  AddParameterFlags(command, flags);
  AddRunFlags(command, flags);
  AddOutputFlags(command, flags);
  AddRankFlags(command, flags);
  // An evaluation changes nothing and has no curve.
  for (const char* name :
       {"--export", "--checkpoint", "--resume", "--page", "--plot", "--profile", "--tensorboard"})
    command->get_option("--eval")->excludes(command->get_option(name));
}

}  // namespace tartan::cli
