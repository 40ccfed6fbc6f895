"""Local SGD on one long vector: ranks train alone, and average their weights now and then."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EVERY = 4


@torch.no_grad()
def average(model):
    weights = parameters_to_vector(model.parameters())
    dist.all_reduce(weights)
    vector_to_parameters(weights / dist.get_world_size(), model.parameters())


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(3)
    x = torch.randn(384, 12)
    sampler = DistributedSampler(TensorDataset(x, (x[:, 0] > 0).long()))
    loader = DataLoader(sampler.dataset, batch_size=16, sampler=sampler)
    model = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 2))
    average(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    step = 0
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            step += 1
            if step % EVERY == 0:
                average(model)
        total = loss.detach().clone()
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {total.item() / dist.get_world_size():.4f}")
    dist.destroy_process_group()


main()
