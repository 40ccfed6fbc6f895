//! Programs in the manner of PyTorch's, Keras' and Horovod's own examples, with the real libraries: what is read is what they printed.
//!
//! Where a library cannot be imported its program is skipped by name. HVD_LAB_PEER_PYTHON names a python that has them.

use std::env;
use std::fs;
use std::process::Command;

use super::own::{run, script, summary};
use crate::support::lab::{Lab, stderr};

/// A convolutional network for small images, its test at the end of each epoch.
const TORCH: &str = r#"
import json
import torch
from torch import nn
torch.manual_seed(1)
torch.set_num_threads(1)
images, labels = torch.rand(256, 1, 12, 12), torch.randint(0, 10, (256,))
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 10), nn.LogSoftmax(1))
optimizer = torch.optim.Adadelta(model.parameters())
for epoch in (1, 2):
    for batch in range(0, 4):
        x, y = images[batch * 64:][:64], labels[batch * 64:][:64]
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"Train Epoch: {epoch} [{batch * 64}/256 ({25 * batch}%)]\tLoss: {loss.item():.6f}")
    right = int((model(images).argmax(1) == labels).sum())
    print(f"\nTest set: Average loss: {loss.item():.4f}, Accuracy: {right}/256 ({100 * right / 256:.0f}%)\n")
json.dump([2, round(loss.item(), 6)], open("said.json", "w"))
"#;

/// The same with the gradients of all ranks: started by torchrun.
const DISTRIBUTED: &str = r#"
import json
import torch
import torch.distributed as dist
from torch import nn
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(1, 3):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 8)).pow(2).mean()
    loss.backward()
    optimizer.step()
    if dist.get_rank() == 0:
        print(f"Epoch {epoch}, Loss: {loss.item():.6f}", flush=True)
if dist.get_rank() == 0:
    json.dump([2, round(loss.item(), 6)], open("said.json", "w"))
dist.destroy_process_group()
"#;

/// Keras prints it by itself.
const KERAS: &str = r#"
import os
os.environ.setdefault("KERAS_BACKEND", "torch")
import json
import keras
import numpy
images, labels = numpy.random.rand(128, 12, 12, 1).astype("float32"), numpy.arange(128) % 10
layers = [keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(10, activation="softmax")]
model = keras.Sequential([keras.Input((12, 12, 1)), *layers])
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(images, labels, batch_size=32, epochs=2, validation_split=0.25)
json.dump([2, round(history.history["loss"][-1], 4)], open("said.json", "w"))
"#;

/// As a rank of Horovod alone, with its average over the ranks.
const HOROVOD: &str = r#"
import json
import horovod.torch as hvd
import torch
hvd.init()
for epoch in (1, 2):
    loss = hvd.allreduce(torch.tensor(1.0 / epoch), name="loss")
    if hvd.rank() == 0:
        print(f"Train Epoch: {epoch} [0/64 (0%)]\tLoss: {loss.item():.6f}")
json.dump([2, 0.5], open("said.json", "w"))
"#;

#[test]
fn what_is_read_of_the_libraries_own_examples_is_what_they_printed() {
    let python = env::var("HVD_LAB_PEER_PYTHON").unwrap_or_else(|_| "python3".into());
    let lab = Lab::with_fake_mpirun("stranger");
    let torchrun = ["-m", "torch.distributed.run", "--nproc_per_node", "2"];
    let programs: [(&str, &str, &[&str]); 4] = [
        ("torch", TORCH, &[]),
        ("torch.distributed", DISTRIBUTED, &torchrun),
        ("keras", KERAS, &[]),
        ("horovod.torch", HOROVOD, &[]),
    ];
    let mut id = 0;
    for (library, program, words) in programs {
        let found = Command::new(&python)
            .args(["-c", &format!("import os; os.environ.setdefault('KERAS_BACKEND', 'torch'); import {library}")])
            .output();
        if !found.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: {python} cannot import {library}");
            continue;
        }
        id += 1;
        script(&lab, "train.py", program);
        let output = run(&lab, &[&["--", python.as_str()], words, &["train.py"]].concat());
        assert_eq!(output.status.code(), Some(0), "{library}: {}", stderr(&output));
        let said: (f64, f64) = serde_json::from_str(&fs::read_to_string(lab.home().join("said.json")).unwrap()).unwrap();
        let read = summary(&lab, id).logged.clone().unwrap().last;
        let (epoch, loss) = (read.epoch.unwrap(), read.loss.unwrap());
        assert!(epoch == said.0 && (loss - said.1).abs() < 1e-4, "{library}: {read:?}, and it printed {said:?}");
        lab.assert_nothing_left(id);
    }
}
