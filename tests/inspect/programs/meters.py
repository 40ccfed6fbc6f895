"""A program in the manner of the ImageNet example: arguments, meters that are reduced, a schedule with a warm-up, validation by shares."""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Meter:
    def __init__(self):
        self.total = torch.zeros(2)

    def update(self, value, count):
        self.total += torch.tensor([value * count, count])

    def reduce(self):
        dist.all_reduce(self.total)

    def mean(self):
        return (self.total[0] / self.total[1]).item()


def samples(count, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 3, 8, 8, generator=g)
    return TensorDataset(x, (x.mean((1, 2, 3)) > 0).long())


def network():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))


def train(loader, model, criterion, optimizer):
    model.train()
    for images, target in loader:
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def validate(loader, model, criterion):
    model.eval()
    losses = Meter()
    with torch.no_grad():
        for images, target in loader:
            losses.update(criterion(model(images), target).item(), len(target))
    losses.reduce()
    return losses.mean()


def main(args):
    dist.init_process_group(backend="gloo")
    model = nn.parallel.DistributedDataParallel(network())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), args.lr * dist.get_world_size())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1.0, (epoch + 1) / 3))
    train_set, val_set = samples(256, 0), samples(96, 1)
    train_sampler = DistributedSampler(train_set)
    val_sampler = DistributedSampler(val_set, shuffle=False, drop_last=True)
    train_loader = DataLoader(train_set, args.batch_size, sampler=train_sampler, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size, sampler=val_sampler)
    if dist.get_rank() == 0:
        print("one batch:", tuple(next(iter(train_loader))[0].shape))
    best = float("inf")
    for epoch in range(args.epochs):
        train_sampler.set_epoch(epoch)
        train(train_loader, model, criterion, optimizer)
        loss = validate(val_loader, model, criterion)
        schedule.step()
        is_best = loss < best
        best = min(loss, best)
        if dist.get_rank() == 0:
            print("epoch", epoch, "validation loss", round(loss, 4))
            torch.save({"epoch": epoch, "model": model.module.state_dict(), "best": is_best}, "meters.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=16)
    main(parser.parse_args())
