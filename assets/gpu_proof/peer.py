#!/usr/bin/env python3
"""PyTorch on the same model and pipeline, and the card's bf16 matmul peak: what stands beside hvd-train on a GPU.

    python3 peer.py --precision bf16 --mode compiled --data DIR
    python3 peer.py --matmul
    python3 peer.py --device cpu --tiny        # does it run? says nothing about speed

Needs torch alone. Prints one line of JSON. The network is the lab's Wide ResNet with its biases and pools, channels last, under autocast
for bf16. Images, shifts, flips and normalisation are the lab's, on the card, where they take PyTorch the least time. `compiled` is
torch.compile with max-autotune. Warm-up does not count, and the host waits for the card before and after what is timed.
"""
import argparse, gzip, json, statistics, time
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """conv-BN-ReLU-dropout-conv-BN-ReLU, and a 1x1 shortcut where the channels change."""

    def __init__(self, inner, outer, dropout):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Conv2d(outer, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(inplace=True))
        self.shortcut = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, images):
        return self.body(images) + self.shortcut(images)


def wide_resnet(depth, width, dropout=0.01):
    layers, channels = [nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True)], 16
    for group, outer in enumerate((16 * width, 32 * width, 64 * width)):
        if group:
            layers.append(nn.MaxPool2d(2))
        for _ in range((depth - 4) // 6):
            layers.append(Block(channels, outer, dropout))
            channels = outer
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def images_of(folder, count, device):
    """uint8 [n, 1, 28, 28] and labels, on the device. Noise of the same size where no files are: the work is the same."""
    def read(name):
        with gzip.open(Path(folder) / name) as file:
            raw = file.read()
        sizes = [int.from_bytes(raw[4 + 4 * axis:8 + 4 * axis], "big") for axis in range(raw[3])]
        return torch.frombuffer(bytearray(raw[4 + 4 * len(sizes):]), dtype=torch.uint8).reshape(sizes)[:count]

    if folder == "generated":
        images, labels = torch.randint(256, (count, 28, 28), dtype=torch.uint8), torch.randint(10, (count,), dtype=torch.uint8)
    else:
        images, labels = read("train-images-idx3-ubyte.gz"), read("train-labels-idx1-ubyte.gz")
    return images.unsqueeze(1).to(device), labels.long().to(device)


def augment(images, mean, std, shift=0.2):
    """Each image shifted by up to a fifth on both axes (bilinear, edges repeated), mirrored half of the time, normalised."""
    count, _, height, width = images.shape
    theta = torch.zeros(count, 2, 3, device=images.device)
    theta[:, 0, 0] = torch.randint(0, 2, (count,), device=images.device) * 2.0 - 1.0
    theta[:, 1, 1] = 1.0
    for axis, size in ((0, width), (1, height)):  # the grid spans -1 to 1 over size - 1 pixels
        theta[:, axis, 2] = (torch.rand(count, device=images.device) * 2 - 1) * shift * size * 2 / (size - 1)
    grid = F.affine_grid(theta, list(images.shape), align_corners=True)
    return (F.grid_sample(images.float(), grid, mode="bilinear", padding_mode="border", align_corners=True) - mean) / (std + 1e-6)


def matmul(wait, tiny):
    """The most that bf16 matrix products reach here, in TFLOP/s: the best of some sizes."""
    best, of = 0.0, 0
    for size in (256,) if tiny else (4096, 8192, 16384):
        left, right = (torch.randn(size, size, device=args.device, dtype=torch.bfloat16) for _ in range(2))
        for _ in range(3):
            left @ right
        repeats = 2 if tiny else max(10, 2 * (16384 // size) ** 3)
        for _ in range(3):
            wait()
            began = time.perf_counter()
            for _ in range(repeats):
                left @ right
            wait()
            rate = 2.0 * size ** 3 * repeats / (time.perf_counter() - began) / 1e12
            best, of = max((best, of), (rate, size))
    return {"tflops": best, "size": of}


def train(wait):
    depth, width = (10, 1) if args.tiny else (16, 10)
    batch, warmup, steps, rounds = (16, 1, 2, 2) if args.tiny else (512, 10, 20, 3)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = args.precision == "tf32"
    torch.backends.cudnn.benchmark = True
    net = wide_resnet(depth, width).to(args.device, memory_format=torch.channels_last).train()
    parameters = sum(tensor.numel() for tensor in net.parameters())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, fused=args.device == "cuda")
    run = torch.compile(net, mode="max-autotune") if args.mode == "compiled" else net
    images, labels = images_of(args.data, 64 if args.tiny else 60000, args.device)
    mean, std = images.float().mean(), images.float().std(unbiased=False)

    def step(batch_images, batch_labels):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.precision == "bf16"):
            scores = run(batch_images.contiguous(memory_format=torch.channels_last))
        loss = F.cross_entropy(scores.float(), batch_labels)
        loss.backward()
        optimizer.step()
        return loss

    noise, classes = torch.randn(batch, 1, 28, 28, device=args.device), torch.randint(10, (batch,), device=args.device)

    def fixed(_):
        step(noise, classes)

    def pipeline(picks):
        step(augment(images[picks], mean, std), labels[picks]).item()  # hvd-train reads each loss as well

    said = {"parameters": parameters, "torch": torch.__version__}
    for name, once in (("fixed", fixed), ("pipeline", pipeline)):
        rates = []
        for timed in [False] + [True] * rounds:
            order = torch.randperm(len(images), device=args.device)
            count = steps if timed else warmup
            wait()
            began = time.perf_counter()
            for index in range(count):
                at = index * batch % (len(images) - batch + 1)
                once(order[at:at + batch])
            wait()
            if timed:
                rates.append(batch * count / (time.perf_counter() - began))
        said[name] = {"images_per_sec": statistics.median(rates), "least": min(rates), "greatest": max(rates)}
    return said


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
parser.add_argument("--precision", choices=("fp32", "tf32", "bf16"), default="fp32")
parser.add_argument("--mode", choices=("eager", "compiled"), default="eager")
parser.add_argument("--data", default="generated", help="folder with the Fashion-MNIST .gz files")
parser.add_argument("--matmul", action="store_true")
parser.add_argument("--tiny", action="store_true", help="a small model and few steps: does it run?")
args = parser.parse_args()
waits = torch.cuda.synchronize if args.device == "cuda" else lambda: None
print(json.dumps(matmul(waits, args.tiny) if args.matmul else train(waits)), flush=True)
