"""Local SGD on one long vector: ranks average their gradients in a first epoch, then train alone, and average their weights now and then."""
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EVERY = 4


@torch.no_grad()
def average(tensors):
    vector = torch.cat([tensor.reshape(-1) for tensor in tensors])
    dist.all_reduce(vector)
    for tensor, part in zip(tensors, (vector / dist.get_world_size()).split([tensor.numel() for tensor in tensors])):
        tensor.copy_(part.view_as(tensor))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(3)
    x = torch.randn(384, 12)
    sampler = DistributedSampler(TensorDataset(x, (x[:, 0] > 0).long()))
    loader = DataLoader(sampler.dataset, batch_size=16, sampler=sampler)
    model = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 2))
    weights = [parameter.data for parameter in model.parameters()]
    average(weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    step = 0
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            if epoch == 0:
                average([parameter.grad for parameter in model.parameters()])
            optimizer.step()
            step += 1
            if epoch > 0 and step % EVERY == 0:
                average(weights)
        total = loss.detach().clone()
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {total.item() / dist.get_world_size():.4f}")
    dist.destroy_process_group()


main()
