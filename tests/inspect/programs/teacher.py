"""A student learns from a teacher that is not trained; state of each rank goes into a file of its own."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def network(width):
    return nn.Sequential(nn.Linear(20, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 5))


class Centered(nn.Module):
    """Divergence from a softened teacher, less the moving average of what it says of all ranks' batches."""

    def __init__(self):
        super().__init__()
        self.register_buffer("center", torch.zeros(1, 5))

    def forward(self, student, teacher):
        mean = teacher.mean(0, keepdim=True)
        dist.all_reduce(mean)
        self.center.mul_(0.9).add_(mean / dist.get_world_size(), alpha=0.1)
        return F.kl_div(student.log_softmax(1), (teacher - self.center).softmax(1), reduction="batchmean")


class Distillation:
    def __init__(self, rank):
        torch.manual_seed(7)
        self.rank = rank
        self.loss = Centered()
        self.teacher = network(64).eval().requires_grad_(False)
        self.student = DDP(network(16))
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        data = TensorDataset(torch.randn(300, 20))
        self.sampler = DistributedSampler(data, num_replicas=dist.get_world_size(), rank=rank)
        self.loader = DataLoader(data, batch_size=25, sampler=self.sampler)

    def log(self, line):
        with open("log.txt", "a") as file:
            print(line, file=file)

    def epoch(self, number):
        self.sampler.set_epoch(number)
        total = torch.zeros(())
        for (x,) in self.loader:
            with torch.no_grad():
                wanted = self.teacher(x)
            self.optimizer.zero_grad()
            loss = self.loss(self.student(x), wanted)
            loss.backward()
            self.optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if self.rank == 0:
            self.log(f"epoch {number} loss {total.item()}")
            torch.save(self.student.module.state_dict(), "student.pt")
        torch.save(torch.get_rng_state(), f"random_{self.rank}.pt")


if __name__ == "__main__":
    dist.init_process_group("gloo")
    distillation = Distillation(dist.get_rank())
    for number in range(4):
        distillation.epoch(number)
    dist.barrier()
    dist.destroy_process_group()
