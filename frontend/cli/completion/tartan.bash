# Completion of `tartan` for bash.

_tartan() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local commands="devices inspect run verify bench tune train generate quantize tile grad-check plan-cluster cache"
  local global="--format --device -v -vv --quiet --no-cache --unchecked --tier --max-memory --max-file-size --max-time --help --version"
  local command="" word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ " $commands " == *" $word "* ]]; then
      command=$word
      break
    fi
  done

  COMPREPLY=()
  case $previous in
    --format) COMPREPLY=($(compgen -W "text json" -- "$current")); return ;;
    --tier) COMPREPLY=($(compgen -W "auto exact ready" -- "$current")); return ;;
    --ties) COMPREPLY=($(compgen -W "share first" -- "$current")); return ;;
    --dump)
      COMPREPLY=($(compgen -W "program graph flat plan sem simplified source" -- "$current"))
      return
      ;;
    --against)
      COMPREPLY=($(compgen -W "onednn onednn-auto openblas clblast copy" -- "$current"))
      return
      ;;
    --reference) COMPREPLY=($(compgen -W "published float64" -- "$current")); return ;;
    --device | --threads | --input | --shape | --type | --grad | --of | --topk | --rtol | --atol | \
      --match | --jobs | --warmup | --time | \
      --count | --batch | --top | --limit | --samples | --seed | --trainable | --frozen) return ;;
    --optimizer)
      COMPREPLY=($(compgen -W "sgd momentum nesterov rmsprop adagrad adam adamw lion lamb" -- "$current"))
      return
      ;;
    --labels | --expect | --write-expect | --output | --data | --val-data | --checkpoint | --log | --page | --export | --tokenizer)
      compopt -o filenames
      COMPREPLY=($(compgen -f -- "$current"))
      return
      ;;
  esac

  local options=""
  case $command in
    "") COMPREPLY=($(compgen -W "$commands $global" -- "$current")); return ;;
    inspect) options="--input --shape --html" ;;
    run) options="--input --shape --random --output --expect --rtol --atol --state --topk --labels" ;;
    verify) options="--rtol --atol --shape --reference --match --expect --write-expect --jobs --bisect" ;;
    devices) options="--calibrate" ;;
    bench)
      if [[ " ${COMP_WORDS[*]} " == *" op "* ]]; then
        options="--against --time --count --threads"
      else
        options="--input --shape --state --warmup --time --count --batch --threads --background --check-cost --on-device --random --profile --explain"
      fi
      ;;
    train)
      options="--data --val --val-data --target --loss --output --optimizer --lr --weight-decay --momentum"
      options+=" --beta1 --beta2 --clip-norm --clip-value --precision --loss-scale --schedule --trainable --frozen --group --lora"
      options+=" --train-batch-norm --sync-batch-norm --straight-through --dropout --dropout-at --init --augment --mask-values --channels-last --batch --shape --memory-budget --accumulate --epochs"
      options+=" --steps --seed --no-shuffle --drop-last --no-check --metrics --threshold --eval --patience --checkpoint --checkpoint-every"
      options+=" --resume --log-every --log --page --plot --tensorboard --export --profile --trace --collective-timeout --transport --bucket"
      ;;
    quantize) options="--weights --output --block --calibrate --no-compare --input --shape" ;;
    tune) options="--input --shape --batch --top --time --count" ;;
    generate) options="--tokenizer --prompt --tokens --max --temperature --top-k --top-p --seed --stop --state" ;;
    grad-check) options="--input --shape --random --samples --seed --rtol --trainable --frozen" ;;
    plan-cluster)
      options="--input --shape --batch --loss --optimizer --precision --loss-scale --time --devices --per-host --link"
      options+=" --host-link --memory --speed --bucket --no-overlap --microbatches --simulate-steps --jitter --slow-share"
      options+=" --slow-factor --seed --mtbf --checkpoint-time --storage --restart --interval"
      ;;
    tile)
      options="--input --shape --type --random --output --grad --of --ties --dump --naive --check"
      options+=" --rtol --atol"
      ;;
    cache)
      COMPREPLY=($(compgen -W "show verify prune clear --limit $global" -- "$current"))
      return
      ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options $global" -- "$current"))
  elif [[ $command != devices ]]; then
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}

complete -F _tartan tartan
