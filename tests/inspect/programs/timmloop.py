"""timm: a small network, its mixup-free loader helpers left out, its scheduler, EMA and metrics in an own loop."""
import timm
import torch
import torch.distributed as dist
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import AverageMeter, ModelEmaV2, accuracy, reduce_tensor
from torch import nn
from torch.nn.parallel import DistributedDataParallel as NativeDDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = timm.layers.ConvNormAct(3, 8, 3, stride=2)
        self.block = timm.layers.ConvNormAct(8, 12, 3, stride=2)
        self.pool = timm.layers.SelectAdaptivePool2d(flatten=True)
        self.drop = timm.layers.DropPath(0.1)
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        return self.head(self.pool(self.drop(self.block(self.stem(x)))))


def validate(model, loader, world):
    top1 = AverageMeter()
    model.eval()
    with torch.inference_mode():
        for x, y in loader:
            (acc,) = accuracy(model(x), y, topk=(1,))
            top1.update(reduce_tensor(acc, world).item(), len(x))
    return top1.avg


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(42 + rank)
    g = torch.Generator().manual_seed(9)
    x, y = torch.randn(160, 3, 16, 16, generator=g), torch.randint(0, 4, (160,), generator=g)
    train, val = TensorDataset(x[:128], y[:128]), TensorDataset(x[128:], y[128:])
    sampler = DistributedSampler(train)
    loader = DataLoader(train, batch_size=16, sampler=sampler, drop_last=True)
    val_loader = DataLoader(val, batch_size=16, sampler=DistributedSampler(val, shuffle=False))
    model = Small()
    optimizer = create_optimizer_v2(model, opt="lamb", lr=5e-3, weight_decay=0.02)
    ema = ModelEmaV2(model, decay=0.9)
    model = NativeDDP(model)
    scheduler = CosineLRScheduler(optimizer, t_initial=3, warmup_t=1, warmup_lr_init=1e-4)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        model.train()
        for a, b in loader:
            loss = nn.functional.cross_entropy(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(model)
        scheduler.step(epoch + 1)
        score = validate(model, val_loader, world)
        if rank == 0:
            print(f"epoch {epoch} top1 {score:.2f}")
            torch.save({"state_dict": model.module.state_dict(), "ema": ema.module.state_dict()}, "checkpoint.pth.tar")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
