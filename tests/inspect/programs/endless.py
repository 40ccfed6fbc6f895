"""Training by a number of steps: batches are taken with next(), and the loader starts again when it is used up."""
import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

STEPS = 60


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    inputs = torch.randn(320, 10, generator=torch.Generator().manual_seed(1))
    data = TensorDataset(inputs, inputs[:, 0] * 2)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler, drop_last=True)
    model = DDP(nn.Sequential(nn.Linear(10, 16), nn.GELU(), nn.Linear(16, 1)))
    optimizer = optim.AdamW([{"params": model.module[0].parameters(), "lr": 0.01}, {"params": model.module[2].parameters(), "lr": 0.02}])
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=[0.01, 0.02], total_steps=STEPS)
    epoch, batches = 0, iter(loader)
    for step in range(STEPS):
        try:
            x, y = next(batches)
        except StopIteration:
            epoch += 1
            sampler.set_epoch(epoch)
            batches = iter(loader)
            x, y = next(batches)
        loss = (model(x).squeeze(1) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 20 == 0:
            shown = loss.detach().clone()
            dist.all_reduce(shown)
            if rank == 0:
                print(f"step {step}: {shown.item() / dist.get_world_size():.3f}")
    if rank == 0:
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, "endless.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
