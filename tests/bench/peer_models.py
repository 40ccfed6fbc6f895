#!/usr/bin/env python3
"""How fast PyTorch trains a model by name on one batch of noise, with one thread: the peer of `hvd-measure`.

    python3 tests/bench/peer_models.py --model resnet50 --image-size 64 --batch-size 32 [--channels-last] [--precision bf16]

Needs torch 2.11.0 and numpy. The networks are those of tests/golden/models.py, whose scores and gradients are ours. One line for each
timed batch: `Iteration: 34.2 images/s`. bf16 is autocast, as PyTorch's users have it.
"""
import argparse
import pathlib
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "golden"))
import models  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--image-size", type=int, required=True)
parser.add_argument("--batch-size", type=int, required=True)
parser.add_argument("--warmup", type=int, default=2)
parser.add_argument("--batches", type=int, default=5)
parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
parser.add_argument("--channels-last", action="store_true")
args = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(1)
_, network, classes, (_, channels, _), _ = next(case for case in models.CASES if case[0] == args.model)
images = torch.randn(args.batch_size, channels, args.image_size, args.image_size)
labels = torch.randint(classes, (args.batch_size,))
net = network(args.image_size).train()
if args.channels_last:
    net, images = net.to(memory_format=torch.channels_last), images.contiguous(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

for batch in range(args.warmup + args.batches):
    began = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
        loss = F.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    loss.item()
    if batch >= args.warmup:
        print(f"Iteration: {args.batch_size / (time.perf_counter() - began):.3f} images/s", flush=True)
