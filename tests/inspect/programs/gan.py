"""Two networks with an optimizer each: a small GAN."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(generator, discriminator, loader, sampler, rank):
    opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for (real,) in loader:
            ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
            fake = generator(torch.randn(len(real), 8))
            both = discriminator(torch.cat([real, fake.detach()]))
            loss_d = bce(both, torch.cat([ones, zeros]))
            opt_d.zero_grad()
            loss_d.backward()
            opt_d.step()

            loss_g = bce(discriminator(fake), ones)
            opt_g.zero_grad()
            loss_g.backward()
            opt_g.step()
        if rank == 0:
            print(f"epoch {epoch} D {loss_d.item():.3f} G {loss_g.item():.3f}")
            torch.save({"g": generator.module.state_dict(), "d": discriminator.module.state_dict()}, "gan.pt")


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(5)
    data = TensorDataset(torch.randn(256, 12) * 0.3 + 1)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    g = DDP(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 12)))
    d = DDP(nn.Sequential(nn.Linear(12, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)))
    torch.manual_seed(1000 + rank)
    train(g, d, loader, sampler, rank)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
