"""Loader and sampler are made anew for each epoch, from a list of images that changes; gradients travel as 16-bit numbers."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def loader_of(epoch):
    x = torch.randn(192, 10, generator=torch.Generator().manual_seed(4))
    data = TensorDataset(x, x.sum(1, keepdim=True))
    sampler = DistributedSampler(data, shuffle=True)
    sampler.set_epoch(epoch)
    return DataLoader(data, batch_size=16, sampler=sampler)


def main():
    dist.init_process_group("gloo")
    model = DDP(nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1)))
    model.register_comm_hook(None, fp16_compress_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(4):
        loss_sum = torch.zeros(())
        for x, y in loader_of(epoch):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            loss_sum += loss.detach()
        dist.all_reduce(loss_sum)
        if dist.get_rank() == 0:
            print("Average loss over the training images of all ranks:", loss_sum.item() / 12)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
