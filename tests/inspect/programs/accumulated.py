"""Lightning adds up the gradients of two batches, clips them, and validates a share of its own on each rank."""
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 3))
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(1000, 20, generator=g)
        self.y = self.x[:, :3].argmax(1)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self.body(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        out = self.body(x)
        self.log_dict({"val_loss": nn.functional.cross_entropy(out, y), "val_acc": (out.argmax(1) == y).float().mean()}, sync_dist=True)

    def train_dataloader(self):
        data = TensorDataset(self.x[:800], self.y[:800])
        return DataLoader(data, 20, sampler=DistributedSampler(data))

    def val_dataloader(self):
        rank, size = self.trainer.global_rank, self.trainer.world_size
        return DataLoader(TensorDataset(self.x[800 + rank::size], self.y[800 + rank::size]), 25)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.02 * self.trainer.world_size, momentum=0.9)
        warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=10)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": warmup, "interval": "step"}}


def main():
    L.seed_everything(1, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_epochs=3, accumulate_grad_batches=2, gradient_clip_val=1.0,
        use_distributed_sampler=False, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Net())


if __name__ == "__main__":
    main()
