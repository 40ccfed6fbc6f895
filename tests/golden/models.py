#!/usr/bin/env python3
"""The models by name in PyTorch, on weights and images made by a formula: what `tests/numerics/models.rs` compares with.

Run with PyTorch and NumPy, from the root of the checkout: python3 tests/golden/models.py > tests/golden/models.json

Each model is written down here on its own, after the paper or torchvision. Tensors have no random state: number `i` of
tensor `t` (in the order of the forward pass, row-major) is `hashed(i, t)`, scaled so that activations keep their size. All is
computed in double precision.
"""

import json
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


def hashed(count, tensor):
    """`count` numbers in [-1, 1) with 24 bits: an integer hash (murmur3's last step) of index and tensor."""
    with np.errstate(over="ignore"):
        h = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B1) + np.uint32(tensor) * np.uint32(0x7F4A7C15)
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x85EBCA6B)
        h ^= h >> np.uint32(13)
        h *= np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
    return (h >> np.uint32(8)).astype(np.float32) / np.float32(1 << 23) - np.float32(1)


def conv(inputs, outputs, kernel, stride=1, padding=0, bn=False):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=not bn)]
    return layers + ([nn.BatchNorm2d(outputs)] if bn else []) + [nn.ReLU()]


def mnist_cnn(_size):
    return nn.Sequential(
        *conv(1, 32, 3), *conv(32, 64, 3), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
        nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))


def lenet(_size):
    return nn.Sequential(
        *conv(1, 32, 5, 1, 2), nn.MaxPool2d(2), *conv(32, 64, 5, 1, 2), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 10))


def trivial(size):
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * size * size, 1), nn.ReLU(), nn.Linear(1, 1000))


def dense_head(inputs):
    return [nn.Flatten(), nn.Linear(inputs, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(),
            nn.Linear(4096, 1000)]


def alexnet(size):
    side = size
    for kernel, stride in [(11, 4), (3, 2), (3, 2), (3, 2)]:
        side = (side - kernel) // stride + 1
    return nn.Sequential(
        *conv(3, 64, 11, 4), nn.MaxPool2d(3, 2), *conv(64, 192, 5, 1, 2), nn.MaxPool2d(3, 2), *conv(192, 384, 3, 1, 1),
        *conv(384, 256, 3, 1, 1), *conv(256, 256, 3, 1, 1), nn.MaxPool2d(3, 2), *dense_head(256 * side * side))


def vgg16(size):
    layers, inputs = [], 3
    for group in [[64] * 2, [128] * 2, [256] * 3, [512] * 3, [512] * 3]:
        for outputs in group:
            layers += conv(inputs, outputs, 3, 1, 1)
            inputs = outputs
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, *dense_head(512 * (size // 32) ** 2))


class Bottleneck(nn.Module):
    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.branch = nn.Sequential(
            *conv(inputs, filters, 1, stride, bn=True), *conv(filters, filters, 3, 1, 1, bn=True),
            *conv(filters, 4 * filters, 1, bn=True)[:-1])
        changes = stride != 1 or inputs != 4 * filters
        self.shortcut = nn.Sequential(*conv(inputs, 4 * filters, 1, stride, bn=True)[:-1]) if changes else nn.Identity()

    def forward(self, x):
        return F.relu(self.branch(x) + self.shortcut(x))


def resnet(blocks):
    layers, inputs = [*conv(3, 64, 7, 2, 3, bn=True), nn.MaxPool2d(3, 2, 1)], 64
    for group, count in enumerate(blocks):
        for block in range(count):
            filters = 64 << group
            layers.append(Bottleneck(inputs, filters, 2 if group and not block else 1))
            inputs = 4 * filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Branches(nn.Module):
    """The channels of all branches; a branch may fork at its end."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(nn.Sequential(*branch) for branch in branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def inception3(_size):
    def cbr(*args):
        return conv(*args, bn=True)

    def pooled(inputs, outputs):
        return [nn.AvgPool2d(3, 1, 1), *cbr(inputs, outputs, 1)]

    def wide(i, o, n=7):
        return cbr(i, o, (1, n), 1, (0, n // 2))

    def tall(i, o, n=7):
        return cbr(i, o, (n, 1), 1, (n // 2, 0))

    layers = [*cbr(3, 32, 3, 2), *cbr(32, 32, 3), *cbr(32, 64, 3, 1, 1), nn.MaxPool2d(3, 2), *cbr(64, 80, 1), *cbr(80, 192, 3),
              nn.MaxPool2d(3, 2)]
    inputs = 192
    for pool in [32, 64, 64]:
        layers.append(Branches(
            cbr(inputs, 64, 1), [*cbr(inputs, 48, 1), *cbr(48, 64, 5, 1, 2)],
            [*cbr(inputs, 64, 1), *cbr(64, 96, 3, 1, 1), *cbr(96, 96, 3, 1, 1)], pooled(inputs, pool)))
        inputs = 224 + pool
    layers.append(Branches(
        cbr(288, 384, 3, 2), [*cbr(288, 64, 1), *cbr(64, 96, 3, 1, 1), *cbr(96, 96, 3, 2)], [nn.MaxPool2d(3, 2)]))
    for n in [128, 160, 160, 192]:
        layers.append(Branches(
            cbr(768, 192, 1), [*cbr(768, n, 1), *wide(n, n), *tall(n, 192)],
            [*cbr(768, n, 1), *tall(n, n), *wide(n, n), *tall(n, n), *wide(n, 192)], pooled(768, 192)))
    layers.append(Branches(
        [*cbr(768, 192, 1), *cbr(192, 320, 3, 2)],
        [*cbr(768, 192, 1), *wide(192, 192), *tall(192, 192), *cbr(192, 192, 3, 2)], [nn.MaxPool2d(3, 2)]))
    for inputs in [1280, 2048]:
        layers.append(Branches(
            cbr(inputs, 320, 1), [*cbr(inputs, 384, 1), Branches(wide(384, 384, 3), tall(384, 384, 3))],
            [*cbr(inputs, 448, 1), *cbr(448, 384, 3, 1, 1), Branches(wide(384, 384, 3), tall(384, 384, 3))],
            pooled(inputs, 192)))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(2048, 1000))


# Name, network, classes, images and their size, and whether batch norm takes the statistics of the batch. Dropout is off.
CASES = [
    ("mnist-cnn", mnist_cnn, 10, (4, 1, 28), False),
    ("lenet", lenet, 10, (4, 1, 28), False),
    ("trivial", trivial, 1000, (4, 3, 32), False),
    ("alexnet", alexnet, 1000, (2, 3, 67), False),
    ("vgg16", vgg16, 1000, (2, 3, 32), False),
    ("resnet50", lambda _: resnet([3, 4, 6, 3]), 1000, (4, 3, 64), True),
    ("resnet101", lambda _: resnet([3, 4, 23, 3]), 1000, (8, 3, 64), True),
    ("inception3", inception3, 1000, (4, 3, 75), False),
]


def fill(net):
    """Kernels with the deviation sqrt(2 / fan_in), batch norm around its start, biases small."""
    for place, tensor in enumerate(net.parameters()):
        numbers = torch.from_numpy(hashed(tensor.numel(), place + 1)).view(tensor.shape)
        if tensor.dim() > 1:
            tensor.data = numbers * (6 / tensor[0].numel()) ** 0.5
        else:
            tensor.data = 0.1 * numbers
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.weight.data += 1


def case(name, network, classes, shape, training):
    batch, channels, size = shape
    net = network(size)
    fill(net)
    net.double().train(training)
    images = torch.from_numpy(hashed(batch * channels * size * size, 0)).view(batch, channels, size, size) * 1.7320508
    images = images.double()
    labels = torch.arange(batch) * 7 % classes
    scores = net(images)
    F.cross_entropy(scores, labels).backward()
    gradients = []
    for tensor in net.parameters():
        line = tensor.grad.flatten().double()
        places = [(2 * place + 1) * line.numel() // 6 for place in range(3)]
        gradients.append([line.norm().item(), *(line[place].item() for place in places)])
    picked = [(2 * place + 1) * scores.numel() // 16 for place in range(8)]
    return {
        "name": name, "images": batch, "size": size, "training": training,
        "parameters": sum(tensor.numel() for tensor in network(size).parameters()),
        "score_norm": scores.double().norm().item(),
        "scores": [float(f"{scores.flatten()[place].item():.7g}") for place in picked],
        "gradients": [[float(f"{number:.7g}") for number in row] for row in gradients],
    }


def main():
    wanted = sys.argv[1:]
    cases = [case(*row) for row in CASES if not wanted or row[0] in wanted]
    rows = [json.dumps(row).replace(', "score_norm"', ',\n "score_norm"').replace(', "gradients"', ',\n "gradients"')
            for row in cases]
    print("[\n" + ",\n".join(rows) + "\n]")


# tests/bench/peer_models.py takes the networks from here.
if __name__ == "__main__":
    main()
