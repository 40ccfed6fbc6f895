"""A moving average of the weights beside the model, which is evaluated and saved."""
import copy

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Ema:
    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval()
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for mine, theirs in zip(self.model.state_dict().values(), model.state_dict().values()):
            if mine.dtype.is_floating_point:
                mine.mul_(self.decay).add_(theirs, alpha=1 - self.decay)
            else:
                mine.copy_(theirs)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(4)
    x = torch.randn(400, 14)
    data = TensorDataset(x[:320], x[:320].abs().sum(1, keepdim=True))
    held_out = TensorDataset(x[320:], x[320:].abs().sum(1, keepdim=True))
    net = nn.Sequential(nn.Linear(14, 28), nn.BatchNorm1d(28), nn.ReLU(), nn.Linear(28, 1))
    ema = Ema(net, 0.9)
    model = DDP(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=20, sampler=sampler)
    val_loader = DataLoader(held_out, batch_size=20, sampler=DistributedSampler(held_out, world, rank, shuffle=False))
    for epoch in range(3):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            loss = nn.functional.smooth_l1_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(model.module)
        with torch.no_grad():
            errors = [nn.functional.mse_loss(ema.model(x), y) for x, y in val_loader]
        error = torch.stack(errors).mean()
        dist.reduce(error, dst=0, op=dist.ReduceOp.SUM)
        if rank == 0:
            print(f"epoch {epoch}: error of the average {error.item() / world:.4f}")
            torch.save({"ema": ema.model.state_dict()}, "ema.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
