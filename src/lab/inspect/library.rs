//! Which library trains, and its words for a remedy.

use super::inspection::Inspection;
use crate::domain::event::{GroupReport, LookingReport};

impl Inspection {
    /// Whether one of these libraries is loaded.
    pub(super) fn uses(&self, libraries: &[&str]) -> bool {
        let is_one = |version: &String| version.split(' ').next().is_some_and(|name| libraries.contains(&name));
        self.reports::<LookingReport>().any(|report| report.versions.iter().any(is_one))
    }

    pub(super) fn is_lightning(&self) -> bool {
        self.uses(&["lightning", "pytorch_lightning"]) && !self.is_fabric()
    }

    /// Lightning around a loop of the program's own.
    pub(super) fn is_fabric(&self) -> bool {
        self.has("Fabric")
    }

    /// Its loop is the program's own, with accelerate around it: trainers of others load or use that as well.
    pub(super) fn is_accelerate(&self) -> bool {
        self.uses(&["accelerate"]) && !self.uses(&["transformers", "lightning", "pytorch_lightning"])
    }

    /// What is true on one rank alone, and its words where no `trainer` is at hand.
    pub(super) fn root(&self) -> (&'static str, &'static str) {
        let by_library = [
            (self.is_horovod(), "hvd.rank() == 0", ""),
            (self.is_accelerate(), "accelerator.is_main_process", ""),
            (self.is_fabric(), "fabric.is_global_zero", ""),
            (self.is_lightning(), "trainer.is_global_zero", ", in a module self.trainer.is_global_zero"),
            (self.uses(&["transformers"]), "trainer.is_world_process_zero()", ", in a callback state.is_world_process_zero"),
        ];
        let own = by_library.into_iter().find(|(is_used, ..)| *is_used);
        own.map_or(("dist.get_rank() == 0", ""), |(_, is_root, elsewhere)| (is_root, elsewhere))
    }

    /// The line that lets one rank do something.
    pub(super) fn on_root(&self) -> String {
        let (is_root, elsewhere) = self.root();
        format!("`if {is_root}:`{elsewhere}")
    }

    /// What wraps the model where nothing does.
    pub(super) fn wrap(&self) -> &'static str {
        if self.is_accelerate() {
            "pass the model through accelerator.prepare(), and give Accelerator cpu=True on ranks without a GPU: else each rank works alone"
        } else if self.is_fabric() {
            "pass model and optimizer through fabric.setup(model, optimizer), and train what it returns"
        } else {
            "wrap the model, model = DistributedDataParallel(model), and train what it returns"
        }
    }

    pub(super) fn is_keras(&self) -> bool {
        self.reports::<LookingReport>().any(|report| report.framework == "keras")
    }

    /// It trains with Horovod rather than with PyTorch's own means.
    pub(super) fn is_horovod(&self) -> bool {
        self.is_keras() || self.reports::<GroupReport>().any(|report| report.by == "horovod")
    }

    /// Of Keras, of Horovod with PyTorch, or of PyTorch: the one that the program is in.
    pub(super) fn in_words<T>(&self, keras: T, horovod: T, torch: T) -> T {
        match (self.is_keras(), self.is_horovod()) {
            (true, _) => keras,
            (false, true) => horovod,
            (false, false) => torch,
        }
    }
}
