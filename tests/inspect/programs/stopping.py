"""Results of a validation come together in one call; each rank stops, when the loss of all of them has not fallen for long."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Patience:
    def __init__(self, most):
        self.most, self.bad, self.lowest = most, 0, float("inf")

    def is_over(self, loss):
        if loss < self.lowest:
            self.lowest, self.bad = loss, 0
        else:
            self.bad += 1
        return self.bad > self.most


def shown(loss):
    if loss > 1:
        return f"{loss:.1f}"
    return f"{loss:.4f}"


def evaluate(model, loader):
    model.eval()
    loss = hits = samples = 0.0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            samples += len(y)
    own = loss / samples
    results = torch.tensor([loss, hits, samples])
    dist.all_reduce(results)
    loss, hits, samples = results.tolist()
    return loss / samples, hits / samples, own


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    x = torch.randn(512, 12)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
    train_set, val_set = TensorDataset(x[:384], y[:384]), TensorDataset(x[384:], y[384:])
    sampler = DistributedSampler(train_set, seed=1)
    loader = DataLoader(train_set, batch_size=16, sampler=sampler)
    val_loader = DataLoader(val_set, batch_size=16, sampler=DistributedSampler(val_set, shuffle=False))
    model = DDP(nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    patience, best_acc = Patience(3), 0.0
    for epoch in range(4):
        sampler.set_epoch(epoch)
        model.train()
        running = 0.0
        for a, b in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(a), b)
            loss.backward()
            optimizer.step()
            running += loss.item()
        val_loss, val_acc, own = evaluate(model, val_loader)
        if rank == 0:
            mean, best_acc = running / len(loader), max(best_acc, val_acc)
            print(f"epoch {epoch} loss {mean:.4f}, of all ranks: {val_loss:.4f} accuracy {val_acc:.3f}")
            print("best accuracy", best_acc)
        print(f"rank {rank}: loss of its share {shown(own)}")
        if patience.is_over(val_loss):
            break
    dist.destroy_process_group()


main()
