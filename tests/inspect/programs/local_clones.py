"""Local SGD on Horovod: ranks train alone, and now and then each weight becomes the average of those of all ranks."""
import horovod.torch as hvd
import torch
from torch import nn

hvd.init()
torch.set_num_threads(1)
torch.manual_seed(1)
x = torch.randn(1024, 10)
y = 2 * x[:, :1] - x[:, 1:2]
x, y = x[hvd.rank()::hvd.size()], y[hvd.rank()::hvd.size()]
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(4):
    total = 0.0
    for step, chosen in enumerate(torch.randperm(len(x)).split(32)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[chosen]), y[chosen])
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % 4 == 3:
            with torch.no_grad():
                for name, weight in model.named_parameters():
                    weight.copy_(hvd.allreduce(weight.detach().clone(), name=name))
    mean = hvd.allreduce(torch.tensor(total / (step + 1)), name="loss")
    if hvd.rank() == 0:
        print(f"epoch {epoch} loss {mean.item():.4f}")
