//! Checkpoints of a training: what goes into one comes back, and what does not fit is refused.

use tch::Device;

use super::*;
use crate::domain::model::ModelSpec;
use crate::trainer::model;
use crate::trainer::optimizer::{self, OptimizerKind};
use crate::trainer::random::{Purpose, stream};

#[test]
fn a_checkpoint_that_lies_about_its_tensors_is_refused_by_the_name_of_the_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["hvd-train", "--model", "wrn-10-1", "--use-checkpointing", "--log-dir", folder.path().to_str().unwrap()];
    let config = Config::from_args(flags).unwrap();
    let mut model = model::build(ModelSpec::wrn(10, 1), &mut stream(7, 0, 0, Purpose::Weights), Device::Cpu);
    let mut optimizer = optimizer::build(OptimizerKind::Sgd, model.params(), 0.9, 0.0);
    let (so_far, report) = (|epoch| ResumeState { epoch, ..ResumeState::default() }, Reporter::new(0, false));
    for epoch in [1, 2] {
        let statistics = vec![model.buffers().to_vec(); 2];
        save(&config, ResumeState { statistics, ..so_far(epoch) }, &*model, &mut *optimizer).unwrap();
    }
    let (whole, _) = checkpoint::load(&checkpoint::path(folder.path(), 2)).unwrap();
    let columns = model.buffers().len();
    type Damage = fn(&mut Checkpoint);
    let cases: [(Damage, &str); 9] = [
        (|file| drop(file.tensors.insert(STATISTICS.into(), (vec![], vec![1.0]))), "`statistics.all_ranks` has the shape []"),
        (|file| drop(file.tensors.insert(STATISTICS.into(), (vec![3], vec![1.0; 3]))), "has the shape [3], not [ranks, "),
        (|file| drop(file.tensors.insert(STATISTICS.into(), (vec![1 << 40, 0], vec![]))), "has the shape [1099511627776, 0]"),
        (|file| drop(file.tensors.insert(STATISTICS.into(), (vec![1, 1, 1], vec![1.0]))), "has the shape [1, 1, 1]"),
        (|file| drop(file.tensors.remove("model.stem.conv.kernel").unwrap()), "it has no `model.stem.conv.kernel`"),
        (|file| file.tensors.get_mut("model.stem.conv.kernel").unwrap().0.reverse(), "`model.stem.conv.kernel` has the shape "),
        (|file| file.tensors.get_mut("model.stem.conv.kernel").unwrap().1[3] = f32::NAN, "`model.stem.conv.kernel` holds NaN"),
        (|file| file.tensors.get_mut(STATISTICS).unwrap().1[0] = f32::INFINITY, "`statistics.all_ranks` holds NaN or infinity"),
        (|file| file.model = "wrn-16-10".into(), "it is of the model wrn-16-10"),
    ];
    for (damage, expected) in cases {
        let mut file = whole.clone();
        damage(&mut file);
        checkpoint::save(folder.path(), &file).unwrap();
        let (_, refused) = checkpoint::latest(folder.path(), 9, u64::MAX, |loaded| fits(loaded, &*model, &mut *optimizer));
        let said = refused[0].to_string();
        assert!(said.contains("checkpoint-2.safetensors") && said.contains(expected), "{expected}: {said}");
        let state = load_latest(&config, &report, &mut *model, &mut *optimizer);
        assert_eq!((state.epoch, state.statistics.len()), (1, 2), "the one before is taken");
    }
    // Larger than memory, and it has no hole only as far as its length tells.
    std::fs::File::create(checkpoint::path(folder.path(), 2)).unwrap().set_len(1 << 40).unwrap();
    let most = most_bytes(&*model, &mut *optimizer);
    let (_, refused) = checkpoint::latest(folder.path(), 9, most, |loaded| fits(loaded, &*model, &mut *optimizer));
    assert!(refused[0].to_string().contains("too large: it has 1.0 TiB"), "{}", refused[0]);
    checkpoint::save(folder.path(), &whole).unwrap();
    let state = load_latest(&config, &report, &mut *model, &mut *optimizer);
    assert_eq!((state.epoch, state.statistics[1].len()), (2, columns));
}

#[test]
fn a_model_without_batch_norm_is_resumed_too() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["hvd-train", "--model", "mnist-cnn", "--use-checkpointing", "--log-dir", folder.path().to_str().unwrap()];
    let config = Config::from_args(flags).unwrap();
    let fresh = |seed| model::build(config.model, &mut stream(seed, 0, 0, Purpose::Weights), Device::Cpu);
    let (mut saved, mut loaded) = (fresh(1), fresh(2));
    let mut optimizer = optimizer::build(OptimizerKind::Sgd, saved.params(), 0.9, 0.0);
    assert!(saved.buffers().is_empty());
    let so_far = ResumeState { epoch: 1, statistics: vec![Vec::new(); 2], ..ResumeState::default() };
    save(&config, so_far, &*saved, &mut *optimizer).unwrap();
    let state = load_latest(&config, &Reporter::new(0, false), &mut *loaded, &mut *optimizer);
    assert_eq!(state.epoch, 1);
    assert!(loaded.params_mut().to_vec() == saved.params_mut().to_vec());
}
