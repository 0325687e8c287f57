# SPDX-License-Identifier: Apache-2.0
"""Networks of bench_large_training.py and training_matrix.py, at the sizes that people train: PyTorch
modules with shapes of a batch. PyTorch exports them to ONNX, and `tartan train` trains these models."""

import dataclasses

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Network:
    """`input` is the shape of one example; `classes` bounds the targets, of which an example has
    `targets` (none: one). `vocabulary`: inputs are integers below it. The targets are ignored (-100)
    with the probability `ignored`."""

    module: nn.Module
    batch: int
    input: tuple
    classes: int
    targets: tuple = ()
    vocabulary: int = 0
    ignored: float = 0

    def data(self, seed=0):
        generator = torch.Generator().manual_seed(seed)
        shape = (self.batch, *self.input)
        if self.vocabulary:
            x = torch.randint(0, self.vocabulary, shape, generator=generator)
        else:
            x = torch.randn(shape, generator=generator)
        target = torch.randint(0, self.classes, (self.batch, *self.targets), generator=generator)
        if self.ignored:
            target[torch.rand(target.shape, generator=generator) < self.ignored] = -100
        return x, target

    def write(self, folder, batches=1):
        """Writes model.onnx, and data.npz with some batches."""
        data = [self.data(seed) for seed in range(batches)]
        torch.onnx.export(self.module.train(), (data[0][0][:2],), str(folder / "model.onnx"), input_names=["x"],
                          output_names=["y"], dynamic_axes={"x": {0: "n"}}, opset_version=17, dynamo=False,
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
        np.savez(folder / "data.npz", x=np.concatenate([x for x, _ in data]),
                 target=np.concatenate([target for _, target in data]))

    def command(self, tartan, folder, precision, steps, *options, data="data.npz", ranks=1):
        """The command that trains the written model with exact kernels, with a line of JSON for each step."""
        command = [tartan, "train", folder / "model.onnx", "--data", folder / data, "--batch", self.batch * ranks,
                   "--steps", steps, "--log-every", 1, "--train-batch-norm", "--no-shuffle", "--no-check", "--target",
                   "target", "--loss", "softmax_cross_entropy:ignore=-100", "--format", "json", "--tier", "exact",
                   "--precision", precision, *options]
        return [str(part) for part in command]


# --- ResNet-50 ---


def conv_bn(a, b, size, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, size, stride, size // 2, bias=False), nn.BatchNorm2d(b))


class Bottleneck(nn.Module):
    def __init__(self, a, width, stride):
        super().__init__()
        self.reduce = conv_bn(a, width, 1)
        self.middle = conv_bn(width, width, 3, stride)
        self.expand = conv_bn(width, 4 * width, 1)
        self.shortcut = conv_bn(a, 4 * width, 1, stride) if stride != 1 or a != 4 * width else nn.Identity()

    def forward(self, x):
        y = self.expand(F.relu(self.middle(F.relu(self.reduce(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 64, 7, 2)
        blocks, channels = [], 64
        for stage, (width, count) in enumerate(zip((64, 128, 256, 512), (3, 4, 6, 3))):
            for i in range(count):
                blocks.append(Bottleneck(channels, width, 2 if stage and i == 0 else 1))
                channels = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


# --- U-Net ---


class UNet(nn.Module):
    def __init__(self, width=32, depth=4, classes=8):
        super().__init__()
        def double(a, b):
            return nn.Sequential(conv_bn(a, b, 3), nn.ReLU(), conv_bn(b, b, 3), nn.ReLU())
        widths = [width << i for i in range(depth + 1)]
        self.down = nn.ModuleList(double(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.join = nn.ModuleList(double(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        levels = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            levels.append(x)
        for up, join, level in reversed(list(zip(self.up, self.join, levels))):
            x = join(torch.cat([level, up(x)], 1))
        return self.head(x).permute(0, 2, 3, 1)


# --- Transformers ---


class Block(nn.Module):
    def __init__(self, width, heads, pre_norm, gelu):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads, self.pre_norm, self.gelu = heads, pre_norm, gelu

    def attend(self, x, mask):
        tokens, width = x.shape[1:]
        q, k, v = (t.reshape(-1, tokens, self.heads, width // self.heads).transpose(1, 2)
                   for t in self.qkv(x).split(width, 2))
        if torch.onnx.is_in_onnx_export():
            scores = q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5
            y = torch.softmax(scores if mask is None else scores + mask, -1) @ v
        else:  # the fastest form that PyTorch has
            y = F.scaled_dot_product_attention(q, k, v, is_causal=mask is not None)
        return self.out(y.transpose(1, 2).reshape(-1, tokens, width))

    def feed(self, x):
        return self.down(F.gelu(self.up(x), approximate=self.gelu))

    def forward(self, x, mask=None):
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.feed(x))


class Transformer(nn.Module):
    """GPT (causal) and BERT (post-norm), with a score for each token of the vocabulary."""

    def __init__(self, vocabulary, layers, tokens, causal, width=768, heads=12):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.empty(tokens, width))
        self.blocks = nn.ModuleList(
            Block(width, heads, causal, "tanh" if causal else "none") for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("mask", torch.full((tokens, tokens), -1e9).triu(1) if causal else None)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)

    def forward(self, x):
        h = self.embedding(x) + self.positions
        for block in self.blocks:
            h = block(h, self.mask)
        return self.head(self.norm(h))


class Vit(nn.Module):
    def __init__(self, width=768, heads=12, layers=12, patch=16, side=224):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads, True, "none") for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class Lstm(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x))[0])


def gpt(vocabulary=50304, tokens=256, batch=8, layers=12):
    return Network(Transformer(vocabulary, layers, tokens, True), batch, (tokens,), vocabulary, (tokens,), vocabulary)


def bert(batch=32, tokens=128, vocabulary=30522, ignored=0):
    return Network(Transformer(vocabulary, 12, tokens, False), batch, (tokens,), vocabulary, (tokens,), vocabulary,
                   ignored)


def lstm(batch=16, tokens=64, vocabulary=10000):
    return Network(Lstm(vocabulary, 448), batch, (tokens,), vocabulary, (tokens,), vocabulary)


NETWORKS = {
    "resnet50": lambda: Network(ResNet50(), 64, (3, 224, 224), 1000),
    "vit_b_16": lambda: Network(Vit(), 32, (3, 224, 224), 1000),
    "gpt": gpt,
    "bert": bert,
    "unet": lambda: Network(UNet(), 8, (3, 128, 128), 8, (128, 128)),
    "lstm": lstm,
    "bert_mlm": lambda: bert(ignored=0.85),
    "gpt_1000": lambda: gpt(1000),
    "gpt_50257": lambda: gpt(50257),
    "gpt_64": lambda: gpt(tokens=64),
    "gpt_1024": lambda: gpt(tokens=1024, batch=2),
    # Sizes for a CPU.
    "resnet50_b8": lambda: Network(ResNet50(), 8, (3, 224, 224), 1000),
    "gpt_53m": lambda: gpt(16000, 128, 8, 4),
    "bert_b8": lambda: bert(8),
}

# Networks of training_matrix.py.
MATRIX = ("resnet50", "vit_b_16", "gpt", "gpt_1000", "gpt_50257", "gpt_64", "gpt_1024", "bert_mlm", "unet", "lstm")
