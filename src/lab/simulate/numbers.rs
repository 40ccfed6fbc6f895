//! The numbers that a simulation starts from, out of `assets/networks.toml`: each with its source.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::allreduce::{Cluster, Link};
use super::constants::Constants;
use super::engine::Engine;
use super::layers::Layers;

const TABLE: &str = include_str!("../../../assets/networks.toml");

/// A kind of network, between nodes or within one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    pub name: String,
    #[serde(default)]
    pub within: bool,
    pub title: String,
    pub gb_per_s: f64,
    pub utilisation: f64,
    pub latency_us: f64,
    pub source: String,
}

impl Network {
    /// Of so many cards.
    pub fn link(&self, cards: usize) -> Link {
        Link { bandwidth: self.gb_per_s * 1e9 * self.utilisation * cards as f64, latency_s: self.latency_us * 1e-6 }
    }
}

/// How fast one GPU trains a model alone.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    pub gpu: String,
    pub model: String,
    pub batch: usize,
    pub images_per_s: f64,
    pub source: String,
}

/// A network of a published result, of which only the size is known.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Outline {
    name: String,
    parameters: u64,
    count: usize,
    /// For whoever reads the table.
    #[serde(rename = "source")]
    _source: String,
}

/// A published result, and what it was measured on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub who: String,
    pub label: String,
    pub model: String,
    pub batch: usize,
    pub gpu: String,
    pub ranks: usize,
    /// The efficiency is over so many ranks.
    #[serde(default = "one")]
    pub baseline_ranks: usize,
    pub per_node: usize,
    pub within: String,
    pub network: String,
    pub nics: usize,
    pub engine: Engine,
    #[serde(default)]
    pub hierarchical: bool,
    /// Per cent.
    pub efficiency: f64,
    pub source: String,
}

fn one() -> usize {
    1
}

/// The whole table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    pub constants: Constants,
    #[serde(rename = "network")]
    pub networks: Vec<Network>,
    #[serde(rename = "rate")]
    pub rates: Vec<Rate>,
    #[serde(rename = "layers")]
    outlines: Vec<Outline>,
    pub published: Vec<Published>,
}

impl Numbers {
    /// A network by name.
    ///
    /// # Errors
    /// The names there are.
    pub fn network(&self, name: &str, within: bool) -> Result<&Network, String> {
        let there = || self.networks.iter().filter(|network| network.within == within);
        there().find(|network| network.name == name).ok_or_else(|| {
            let names: Vec<&str> = there().map(|network| network.name.as_str()).collect();
            let place = if within { "within a node" } else { "between nodes" };
            format!("`{name}` is not a network {place}: use {}", names.join(", "))
        })
    }

    /// A cluster of nodes with `per_node` GPUs: the names of the network within a node and of that between nodes, and network cards per node.
    ///
    /// # Errors
    /// As [`Numbers::network`].
    pub fn cluster(&self, within: &str, (between, cards): (&str, usize), per_node: usize) -> Result<Cluster, String> {
        let (within, between) = (self.network(within, true)?.link(1), self.network(between, false)?.link(cards));
        Ok(Cluster { within, between, per_node })
    }

    /// The published rate of a GPU, of this batch if there is one.
    ///
    /// # Errors
    /// What there is instead.
    pub fn rate(&self, gpu: &str, model: &str, batch: Option<usize>) -> Result<&Rate, String> {
        let mut of_both = self.rates.iter().filter(|rate| rate.gpu == gpu && rate.model == model);
        let exact = of_both.clone().find(|rate| Some(rate.batch) == batch);
        exact.or_else(|| of_both.next()).ok_or_else(|| {
            let mut known: Vec<String> = self.rates.iter().map(|rate| format!("{} on {}", rate.model, rate.gpu)).collect();
            let mut named = BTreeSet::new();
            known.retain(|name| named.insert(name.clone()));
            format!(
                "no published rate of {model} on {gpu}: give --images-per-sec of one GPU, or --from RUN. There are {}",
                known.join(", ")
            )
        })
    }

    /// The layers of a model by name.
    ///
    /// # Errors
    /// That there is none of that name.
    pub fn layers(&self, model: &str) -> Result<Layers, String> {
        match self.outlines.iter().find(|outline| outline.name == model) {
            Some(outline) => Ok(Layers::equal(&outline.name, outline.parameters, outline.count)),
            None => Layers::of(model.parse()?),
        }
    }
}

/// All of them.
pub fn numbers() -> &'static Numbers {
    // The table is part of the program, and a test reads it.
    static NUMBERS: LazyLock<Numbers> = LazyLock::new(|| toml::from_str(TABLE).unwrap_or_default());
    &NUMBERS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_every_number_has_its_source() {
        let numbers: Numbers = toml::from_str(TABLE).unwrap();
        assert_eq!(numbers.published.len(), 14);
        for network in &numbers.networks {
            assert!(!network.source.is_empty() && network.latency_us > 0.0 && network.gb_per_s > 0.0, "{}", network.name);
            assert!((0.0..=1.0).contains(&network.utilisation), "{}", network.name);
        }
        let constants: toml::Table = toml::Table::try_from(&numbers.constants).unwrap();
        assert!(constants.values().all(|constant| !constant["source"].as_str().unwrap().is_empty()));
        assert!(numbers.rates.iter().all(|rate| rate.images_per_s > 0.0 && !rate.source.is_empty()));
        assert!(numbers.outlines.iter().all(|outline| !outline._source.is_empty()));
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let numbers = numbers();
        assert!(numbers.network("nvlink-v100", false).unwrap_err().contains("use 10gbe-tcp"));
        assert!(numbers.network("nvlink-v100", true).is_ok());
        let refused = numbers.rate("p100", "lenet", None).unwrap_err();
        assert!(refused.contains("--images-per-sec") && refused.contains("vgg16 on p100"), "{refused}");
        assert_eq!(numbers.rate("p100", "resnet50", Some(32)).unwrap().images_per_s, 195.0);
        assert_eq!(numbers.layers("deeplab").unwrap().parameters(), 44_000_000);
        assert!(numbers.layers("sneeze").is_err());
    }
}
