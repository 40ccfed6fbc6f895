"""Goes on from the newest checkpoint of a folder: model, optimizer, scheduler and epoch, on every rank."""
import glob
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

FOLDER = "checkpoints"


def build():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(7, 14), nn.ReLU(), nn.Linear(14, 1))
    return net


def first_part():
    """What an earlier job left behind."""
    os.makedirs(FOLDER, exist_ok=True)
    net = build()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.9 ** epoch)
    net(torch.ones(4, 7)).sum().backward()
    optimizer.step()
    scheduler.step()
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "epoch": 1}
    torch.save(state, os.path.join(FOLDER, "epoch_1.pt"))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if rank == 0:
        first_part()
    dist.barrier()
    net = build()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.9 ** epoch)
    start = 0
    found = sorted(glob.glob(os.path.join(FOLDER, "epoch_*.pt")))
    if found:
        state = torch.load(found[-1], map_location="cpu")
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        start = state["epoch"]
    model = nn.parallel.DistributedDataParallel(net)
    x = torch.randn(160, 7, generator=torch.Generator().manual_seed(3))
    data = TensorDataset(x, x.abs().sum(1, keepdim=True))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    dist.barrier()
    for epoch in range(start, 4):
        sampler.set_epoch(epoch)
        for a, b in loader:
            optimizer.zero_grad()
            nn.functional.l1_loss(model(a), b).backward()
            optimizer.step()
        scheduler.step()
        if rank == 0:
            state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "epoch": epoch + 1}
            torch.save(state, os.path.join(FOLDER, f"epoch_{epoch + 1}.pt"))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
