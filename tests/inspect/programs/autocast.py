"""Mixed precision with a gradient scaler, clipped gradients and a warm-up of the rate."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS, BATCH, BASE_LR, WARMUP = 3, 16, 0.02, 10


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(torch.relu(self.fc(x)))


def get_loader(n):
    g = torch.Generator().manual_seed(0)
    ds = TensorDataset(torch.randn(n, 24, generator=g), torch.randint(0, 6, (n,), generator=g))
    sampler = DistributedSampler(ds, num_replicas=dist.get_world_size(), rank=dist.get_rank(), shuffle=True)
    return DataLoader(ds, batch_size=BATCH, sampler=sampler, pin_memory=False, drop_last=True), sampler


def train_one_epoch(epoch, model, loader, optimizer, scheduler, scaler, log):
    model.train()
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        if log and i % 5 == 0:
            print(f"epoch {epoch} step {i} loss {loss.item():.3f}")


def main():
    dist.init_process_group(backend="gloo")
    world, rank = dist.get_world_size(), dist.get_rank()
    torch.manual_seed(17)
    model = DDP(nn.Sequential(Block(24), Block(24), nn.Linear(24, 6)))
    torch.manual_seed(17 + rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=BASE_LR * world, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / WARMUP))
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    loader, sampler = get_loader(480)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        train_one_epoch(epoch, model, loader, optimizer, scheduler, scaler, log=rank == 0)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
