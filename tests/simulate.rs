//! The simulator of scaling: what must hold of any model, network and size, and what its verb says.
//!
//! Never starts a run.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use hvd_lab_terminal::simulate::{Bound, Cluster, Constants, Engine, Layers, Link, Method, Scaling, Simulation, numbers};

const ENGINES: [Engine; 4] = [Engine::Horovod, Engine::OldHorovod, Engine::TreeHorovod, Engine::Ddp];
const PATIENCE: Duration = Duration::from_secs(120);

/// Numbers that look drawn, the same in each run of the tests.
struct Drawn(u64);

impl Drawn {
    /// From 0 to before 1.
    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Between the two, evenly over orders of magnitude.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.part() * (high / low).ln()).exp()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.part() * all.len() as f64) as usize]
    }

    fn simulation(&mut self) -> Simulation {
        let model = self.one_of(&["resnet50", "vgg16", "lenet", "wrn-10-1", "deeplab"]);
        let link = |drawn: &mut Drawn| Link { bandwidth: drawn.between(1e7, 1e12), latency_s: drawn.between(1e-7, 1e-3) };
        let (within, between) = (link(self), link(self));
        Simulation {
            layers: numbers().layers(model).unwrap(),
            batch: self.between(1.0, 512.0) as usize,
            images_per_s: self.between(1.0, 10_000.0),
            cluster: Cluster { within, between, per_node: self.one_of(&[1, 2, 4, 8]) },
            method: Method {
                fusion: self.part() < 0.7,
                overlap: self.part() < 0.7,
                fp16: self.part() < 0.3,
                hierarchical: self.part() < 0.3,
                engine: self.one_of(&ENGINES),
            },
            constants: with_jitter(self.part() * 0.1),
        }
    }
}

fn with_jitter(jitter: f64) -> Constants {
    let mut constants = numbers().constants.clone();
    constants.jitter.value = jitter;
    constants
}

/// For many simulations and sizes.
fn all(law: impl Fn(&Simulation, usize, &str)) {
    let mut drawn = Drawn(17);
    for _ in 0..150 {
        let simulation = drawn.simulation();
        let ranks = drawn.between(2.0, 30_000.0) as usize;
        let about = format!("{ranks} ranks of {} {:?} {:?}", simulation.layers.name, simulation.method, simulation.cluster);
        law(&simulation, ranks, &about);
    }
}

fn seconds(simulation: &Simulation, ranks: usize) -> f64 {
    simulation.step(ranks).total_s()
}

/// At most as long, apart from rounding.
fn is_no_longer(a: f64, b: f64) -> bool {
    a <= b * (1.0 + 1e-9)
}

#[test]
fn one_gpu_has_all_of_its_efficiency_and_nobody_to_talk_to() {
    all(|simulation, ranks, about| {
        let alone = simulation.step(1);
        assert_eq!(
            (simulation.efficiency(1), alone.exposed_s, alone.straggler_s, alone.framework_s),
            (1.0, 0.0, 0.0, 0.0),
            "{about}"
        );
        let step = simulation.step(ranks);
        for part in [step.exposed_s, step.straggler_s, step.framework_s] {
            assert!(part >= 0.0 && part.is_finite(), "{about}: {step:?}");
        }
        let efficiency = simulation.efficiency(ranks);
        assert!(efficiency > 0.0 && efficiency <= 1.0, "{about}: {efficiency}");
        assert_eq!(step, simulation.step(ranks), "the same again");
    });
}

#[test]
fn nothing_that_gets_faster_makes_a_step_longer() {
    all(|simulation, ranks, about| {
        let now = seconds(simulation, ranks);
        let faster = |link: Link, bandwidth: f64, latency: f64| Link {
            bandwidth: link.bandwidth * bandwidth,
            latency_s: link.latency_s * latency,
        };
        for (bandwidth, latency) in [(1.3, 1.0), (10.0, 1.0), (1.0, 0.7), (1.0, 0.0), (2.0, 0.5)] {
            let Cluster { within, between, per_node } = simulation.cluster;
            let cluster =
                Cluster { between: faster(between, bandwidth, latency), within: faster(within, bandwidth, latency), per_node };
            let better = Simulation { cluster, ..simulation.clone() };
            assert!(is_no_longer(seconds(&better, ranks), now), "{about}: x{bandwidth} and x{latency}");
        }
        let calm = Simulation { constants: with_jitter(0.0), ..simulation.clone() };
        assert!(is_no_longer(seconds(&calm, ranks), now + 2.0 * 5e-3), "{about}: no jitter, but for a cycle");
        for bound in [Bound::Bandwidth, Bound::Latency, Bound::Overhead] {
            assert!(is_no_longer(simulation.step_without(ranks, Some(bound)).total_s(), now), "{about}: {bound:?}");
        }
        let half = Simulation { method: Method { fp16: true, ..simulation.method }, ..simulation.clone() };
        assert!(is_no_longer(seconds(&half, ranks), now), "{about}: half the bytes");
    });
}

#[test]
fn overlap_and_fusion_help_and_twice_the_ranks_do_not() {
    all(|simulation, ranks, about| {
        let with = |method: Method| seconds(&Simulation { method, ..simulation.clone() }, ranks);
        let method = simulation.method;
        // What is ready in more cycles of Horovod is also agreed on more often.
        let (overlap, apart) = (Method { overlap: true, ..method }, Method { overlap: false, ..method });
        if method.engine == Engine::Ddp {
            assert!(is_no_longer(with(overlap), with(apart)), "{about}: overlap");
        } else {
            let (fused, single) = (Method { fusion: true, ..method }, Method { fusion: false, ..method });
            assert!(is_no_longer(with(fused), with(single)), "{about}: fusion");
        }
        let whole = ranks.next_power_of_two();
        assert!(is_no_longer(seconds(simulation, whole), seconds(simulation, 2 * whole) + 5e-3), "{about}: more ranks");
    });
}

#[test]
fn a_slow_network_bounds_by_bandwidth_and_a_far_one_by_latency() {
    let mut simulation = Drawn(1).simulation();
    simulation.layers = numbers().layers("vgg16").unwrap();
    (simulation.batch, simulation.images_per_s) = (64, 154.0);
    simulation.method = Method::of(Engine::Horovod);
    simulation.constants = numbers().constants.clone();
    let bound = |simulation: &Simulation| {
        let scaling = Scaling::new(simulation, &[1, 64], 1_281_167, Some(2.0));
        assert_eq!(scaling.sizes[0].bound, None, "one GPU is bound by nothing else");
        let alone = &scaling.sizes[0];
        assert!(
            (alone.epoch_s / (1_281_167.0 / 154.0) - 1.0).abs() < 0.01
                && (alone.cost.unwrap() / alone.gpu_hours - 2.0).abs() < 1e-9
        );
        scaling.sizes[1].bound
    };
    let link = |bandwidth: f64, latency_s: f64| Link { bandwidth, latency_s };
    let cluster = |link| Cluster { within: link, between: link, per_node: 1 };
    simulation.cluster = cluster(link(1e8, 1e-6));
    assert_eq!(bound(&simulation), Some(Bound::Bandwidth));
    simulation.cluster = cluster(link(1e12, 2e-2));
    assert_eq!(bound(&simulation), Some(Bound::Latency));
    simulation.cluster = cluster(link(1e12, 1e-7));
    simulation.constants.jitter.value = 0.2;
    assert_eq!(bound(&simulation), Some(Bound::Stragglers));
    simulation.constants.jitter.value = 0.0;
    assert_eq!(bound(&simulation), Some(Bound::Overhead));
    simulation.cluster = cluster(link(1e8, 1e-6));
    let knee = Scaling::new(&simulation, &[1], 1, None).knee.unwrap();
    assert_eq!((knee.ranks, knee.bound), (1, Some(Bound::Bandwidth)), "a second rank is not worth it");
}

fn lab(home: &Path, arguments: &[&str]) -> Output {
    let mut lab = Command::new(env!("CARGO_BIN_EXE_hvd-lab"));
    lab.env("HVD_LAB_HOME", home).arg("simulate").args(arguments).timeout(PATIENCE).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_verb_says_that_it_is_simulated_in_every_form() {
    let home = tempfile::tempdir().unwrap();
    let table =
        words(&lab(home.path(), &["--model", "vgg16", "--gpu", "p100", "--network", "25gbe-tcp", "--price", "2.5"]).stdout);
    for expected in ["simulated: vgg16", "27360", "cost", "knee: ", "bandwidth", "without fusion", "hierarchical"] {
        assert!(table.contains(expected), "{expected}: {table}");
    }
    let json: serde_json::Value = serde_json::from_slice(&lab(home.path(), &["--np", "8,1", "--json"]).stdout).unwrap();
    assert_eq!((&json["simulated"], &json["sizes"][0]["efficiency"]), (&true.into(), &1.0.into()));
    assert_eq!((&json["sizes"][1]["ranks"], json["variants"].as_array().unwrap().len()), (&8.into(), 5));
    let lines = words(&lab(home.path(), &["--np", "8,1", "--csv"]).stdout);
    assert_eq!(lines.lines().skip(1).filter(|line| line.starts_with("simulated,")).count(), 2, "{lines}");
    assert!(lines.lines().all(|line| line.split(',').count() == 11), "{lines}");
    let again = lab(home.path(), &["--np", "8,1", "--csv"]);
    assert_eq!(words(&again.stdout), lines, "the same again");
}

#[test]
fn every_published_result_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let told = words(&lab(home.path(), &["--validate"]).stdout);
    assert_eq!(
        told.lines()
            .filter(|line| line.contains("arXiv") || line.contains("docs  ") || line.contains("DDP  ") || line.contains("NSDI"))
            .count(),
        14,
        "{told}"
    );
    assert!(told.contains("of 14 within 5 points") && told.contains("none is fitted"), "{told}");
    let json: serde_json::Value = serde_json::from_slice(&lab(home.path(), &["--validate", "--json"]).stdout).unwrap();
    let errors: Vec<f64> = json["rows"].as_array().unwrap().iter().map(|row| row["error"].as_f64().unwrap().abs()).collect();
    assert_eq!(errors.len(), 14);
    assert!(errors.iter().filter(|error| **error <= 5.0).count() >= 11 && errors.iter().sum::<f64>() / 14.0 <= 4.0, "{errors:?}");
    assert_eq!(words(&lab(home.path(), &["--validate", "--csv"]).stdout).lines().count(), 15);
    let listed = words(&lab(home.path(), &["--list"]).stdout);
    for network in ["nvlink-h200", "pcie3", "10gbe-tcp", "25gbe-roce", "100gbe-tcp", "infiniband-edr", "slingshot-11", "jitter"] {
        assert!(listed.contains(network), "{network}");
    }
}

#[test]
fn a_table_of_layers_of_ones_own_is_simulated() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mine.csv");
    std::fs::write(&file, "name,parameters,work\nstem,1000,5\nhead,4000000,1\n").unwrap();
    let file = file.to_str().unwrap();
    let told = words(&lab(home.path(), &["--layers", file, "--images-per-sec", "400", "--np", "4"]).stdout);
    assert!(told.starts_with("simulated: mine, 4,001,000 parameters in 2 layers"), "{told}");
    assert!(Layers::parse("x", "parameters\n1").is_ok());
}

#[test]
fn bad_input_is_one_line_that_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let bad = home.path().join("bad.csv");
    std::fs::write(&bad, "parameters,work\n1,\x1b[2Jx\n").unwrap();
    let bad = bad.to_str().unwrap();
    let good = home.path().join("good.csv");
    std::fs::write(&good, "parameters\n10\n").unwrap();
    let good = good.to_str().unwrap();
    let gone = home.path().join("gone.csv");
    let gone = gone.to_str().unwrap();
    let cases: [(&[&str], &str); 20] = [
        (&["--np", "0"], "whole numbers from 1 to 100000"),
        (&["--np", "1,x"], "whole numbers from 1 to 100000"),
        (&["--np", "100001"], "whole numbers from 1 to 100000"),
        (&["--model", "sneeze"], "`sneeze` is not a model"),
        (&["--model", "wrn-10-1"], "no published rate of wrn-10-1 on v100"),
        (&["--gpu", "abacus"], "`abacus` is not a GPU that is known here: use p100, v100"),
        (&["--network", "string"], "`string` is not a network between nodes: use 10gbe-tcp"),
        (&["--within", "10gbe-tcp"], "`10gbe-tcp` is not a network within a node"),
        (&["--engine", "steam"], "`steam` is not an engine: use horovod"),
        (&["--images-per-sec", "nan"], "is not a rate"),
        (&["--price=-1"], "is not a price"),
        (&["--per-node", "0"], "whole number from 1"),
        (&["--layers", good], "--images-per-sec"),
        (&["--layers", bad, "--images-per-sec", "5"], "line 2"),
        (&["--layers", gone, "--images-per-sec", "5"], gone),
        (&["--from", "7"], "there is no run 7"),
        (&["--list", "--csv"], "use --json"),
        (&["--gpu", "abacus", "--images-per-sec", "5"], "`abacus` is not a GPU"),
        (&["--validate", "--np", "8"], "cannot be used with"),
        (&["--list", "--price", "2"], "cannot be used with"),
    ];
    for (arguments, expected) in cases {
        let refused = lab(home.path(), arguments);
        let said = words(&refused.stderr);
        assert!(said.contains(expected) && refused.status.code() == Some(2), "{arguments:?}: {said}");
        assert!(said.lines().count() == 1 && !said.contains('\x1b') && refused.stdout.is_empty(), "{arguments:?}: {said}");
    }
}
