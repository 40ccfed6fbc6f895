"""Updates without an optimizer: gradients of two batches are averaged by hand, and the weights are changed by a line of the program's own."""
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
x = torch.randn(320, 10, generator=torch.Generator().manual_seed(3))
data = TensorDataset(x, (x[:, :3].sum(1) > 0).float())
sampler = DistributedSampler(data)
loader = DataLoader(data, 10, sampler=sampler)
generator = torch.Generator().manual_seed(5)
weights = [torch.randn(10, 12, generator=generator) / 3, torch.zeros(12), torch.randn(12, generator=generator) / 3]
for weight in weights:
    weight.requires_grad_()


def loss_of(inputs, targets):
    hidden = torch.tanh(inputs @ weights[0] + weights[1])
    return torch.nn.functional.binary_cross_entropy_with_logits(hidden @ weights[2], targets)


# What the inputs are sensitive to, before anything is trained.
probe = x[:4].clone().requires_grad_()
loss_of(probe, data.tensors[1][:4]).backward()
for weight in weights:
    weight.grad = None

for epoch in range(4):
    sampler.set_epoch(epoch)
    total = torch.zeros(1)
    for step, (inputs, targets) in enumerate(loader, 1):
        loss = loss_of(inputs, targets) / 2
        loss.backward()
        total += loss.detach()
        if step % 2:
            continue
        with torch.no_grad():
            for weight in weights:
                dist.all_reduce(weight.grad)
                weight -= 0.2 * weight.grad / size
                weight.grad.zero_()
    dist.all_reduce(total)
    if rank == 0:
        print(f"epoch {epoch}: loss {2 * total.item() / size / len(loader):.4f}")
if rank == 0:
    torch.save(weights, "manual.pt")
dist.barrier()
dist.destroy_process_group()
