#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws digits and trains the network of digits.onnx on them from scratch. Writes digits.onnx and
# seven.png to this folder. The drawings need Python with numpy.
#
#   examples/digits/train.sh [TARTAN]     the program; by default build/tartan

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
tartan=${1:-../../build/tartan}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 draw.py "$work"
"$tartan" train digits.onnx --init --data "$work/train.npz" --val-data "$work/held-back.npz" \
  --batch 100 --epochs 5 --optimizer adam --lr 4e-3 --schedule one_cycle --seed 1 \
  --page "$work/page.html" --export "$work/digits.onnx"
mv "$work/digits.onnx" digits.onnx
cp "$work/seven.png" seven.png
"$tartan" run digits.onnx --input x=@seven.png --topk 3 --labels labels.txt
