"""Hugging Face's Trainer on a tiny network of the program's own."""
import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class Data(torch.utils.data.Dataset):
    def __init__(self, size):
        self.x = torch.randn(size, 6, generator=torch.Generator().manual_seed(2))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "labels": self.x[i].sum()}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 1)

    def forward(self, x, labels=None):
        out = self.layer(x).squeeze(-1)
        return {"loss": (out - labels).pow(2).mean(), "logits": out}


if __name__ == "__main__":
    args = TrainingArguments("trained", num_train_epochs=2, per_device_train_batch_size=16, use_cpu=True, report_to=[], logging_steps=5,
                             save_strategy="epoch", disable_tqdm=True, eval_strategy="epoch")
    Trainer(model=Model(), args=args, train_dataset=Data(256), eval_dataset=Data(64)).train()
