//! A network as a table of layers: how many numbers each learns, and how much of the computation it is.
//!
//! Never reads a file: a table of one's own comes as text, which may be a stranger's.

use serde::{Deserialize, Serialize};

use crate::domain::model::network::{Layer as Kind, Network};
use crate::domain::model::{ModelSpec, WideResNetSpec};
use crate::domain::{cells, printable};

/// Layers of a table. More would only take time.
pub const MAX_LAYERS: usize = 2_000;
/// Numbers that a layer learns, and multiplications of a layer for one image.
const MOST: f64 = 1e15;

/// One layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    #[serde(default)]
    pub name: String,
    /// Numbers that it learns, all in one gradient.
    pub parameters: u64,
    /// Its part of the computation, in any unit; multiplications for one image in the lab's own models.
    #[serde(default)]
    pub work: f64,
}

/// Layers in the order of the forward pass, at least one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layers {
    pub name: String,
    layers: Vec<Layer>,
}

impl Layers {
    /// Those of a model of the lab.
    ///
    /// # Errors
    /// The lab does not know its layers.
    pub fn of(model: ModelSpec) -> Result<Layers, String> {
        let layers = match model {
            ModelSpec::WideResNet(spec) => wide_resnet(spec),
            ModelSpec::Named(spec) => {
                let network = spec.network(model.input());
                of_network(&network.ok_or_else(|| format!("{model} has no layers for its own images"))?)
            }
        };
        Layers::new(model.to_string(), layers)
    }

    /// So many layers that are all alike, where nothing else is known.
    pub fn equal(name: &str, parameters: u64, count: usize) -> Layers {
        let count = count.clamp(1, MAX_LAYERS);
        let layer = Layer { name: String::new(), parameters: parameters / count as u64, work: 1.0 };
        let mut layers = vec![layer; count];
        layers[0].parameters += parameters % count as u64;
        Layers { name: name.to_owned(), layers }
    }

    /// A table of one's own: TOML with `[[layer]]`, or lines with commas under the heading `name,parameters,work`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(name: &str, text: &str) -> Result<Layers, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            layer: Vec<Layer>,
        }
        let first = cells::lines(text).next().map_or("", |(_, line)| line);
        let layers = match cells::headings(first).1.iter().any(|column| column == "parameters") {
            true => from_lines(text)?,
            false => {
                // The whole message has the line in it, drawn with a pointer.
                let wrong = |error: toml::de::Error| {
                    let problem = printable::excerpt(error.message()).into_owned();
                    format!("{problem}: write [[layer]] tables, or lines under name,parameters,work")
                };
                toml::from_str::<Table>(text).map_err(wrong)?.layer
            }
        };
        Layers::new(name.to_owned(), layers)
    }

    fn new(name: String, mut layers: Vec<Layer>) -> Result<Layers, String> {
        if layers.is_empty() || layers.len() > MAX_LAYERS {
            return Err(format!("it has {} layers: give 1 to {MAX_LAYERS}", layers.len()));
        }
        for (at, layer) in layers.iter().enumerate() {
            let is_sensible = |number: f64| (0.0..=MOST).contains(&number);
            if !is_sensible(layer.work) || !is_sensible(layer.parameters as f64) {
                return Err(format!("layer {}: parameters and work must be numbers from 0 to {MOST:e}", at + 1));
            }
        }
        if layers.iter().all(|layer| layer.parameters == 0) {
            return Err("no layer has parameters, so there is nothing to train".to_owned());
        }
        if layers.iter().all(|layer| layer.work == 0.0) {
            layers.iter_mut().for_each(|layer| layer.work = 1.0);
        }
        Ok(Layers { name, layers })
    }

    pub fn all(&self) -> &[Layer] {
        &self.layers
    }

    /// The numbers that all layers learn.
    pub fn parameters(&self) -> u64 {
        self.layers.iter().map(|layer| layer.parameters).sum()
    }

    /// The sum of the work of all layers.
    pub fn work(&self) -> f64 {
        self.layers.iter().map(|layer| layer.work).sum()
    }
}

fn from_lines(text: &str) -> Result<Vec<Layer>, String> {
    let mut lines = cells::lines(text);
    let (separator, heading) = cells::headings(lines.next().map_or("", |(_, line)| line));
    let column = |name: &str| heading.iter().position(|column| column == name);
    let unknown = heading.iter().find(|column| !["name", "parameters", "work"].contains(&column.as_str()));
    if let Some(unknown) = unknown {
        return Err(format!("`{}` is not a column: use name, parameters and work", printable::excerpt(unknown)));
    }
    let mut layers = Vec::new();
    for (at, line) in lines {
        let cells = cells::cells(line, separator, heading.len());
        let cell = |name: &str| column(name).and_then(|at| cells.get(at));
        if cells.len() != heading.len() {
            return Err(format!("line {at} has {} columns, and the heading {}", cells.len(), heading.len()));
        }
        let parameters = cell("parameters").and_then(|cell| cell.parse().ok());
        let work = cell("work").map_or(Some(0.0), |cell| cells::number(cell, separator));
        let (Some(parameters), Some(work)) = (parameters, work) else {
            return Err(format!("line {at}: parameters must be a whole number, and work a number"));
        };
        layers.push(Layer { name: cell("name").cloned().unwrap_or_default(), parameters, work });
        if layers.len() > MAX_LAYERS {
            break;
        }
    }
    Ok(layers)
}

/// A batch norm belongs to the convolution before it.
fn of_network(network: &Network) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    for node in &network.nodes {
        let places = (node.shape.height * node.shape.width) as f64;
        let (name, weights) = match &node.layer {
            Kind::Conv { name, from, window, .. } => (name, (from * window.height * window.width * node.shape.channels) as f64),
            Kind::FullyConnected { name, from } => (name, (from * node.shape.channels) as f64),
            Kind::BatchNorm { .. } => {
                if let Some(before) = layers.last_mut() {
                    before.parameters += node.parameters();
                }
                continue;
            }
            _ => continue,
        };
        layers.push(Layer { name: name.clone(), parameters: node.parameters(), work: weights * places });
    }
    layers
}

fn wide_resnet(spec: WideResNetSpec) -> Vec<Layer> {
    let mut layers = Vec::new();
    // Each convolution has a bias, and apart from shortcuts a batch norm.
    let mut conv = |name: String, side: usize, from: usize, to: usize, image: usize| {
        let weights = side * side * from * to;
        let norm = if side == 1 { 0 } else { 2 * to };
        layers.push(Layer { name, parameters: (weights + to + norm) as u64, work: (weights * image * image) as f64 });
    };
    conv("stem".to_owned(), 3, 1, 16, 28);
    let (mut from, blocks) = (16, (spec.depth - 4) / 6);
    for (group, image) in [28, 14, 7].into_iter().enumerate() {
        let to = (16 << group) * spec.width;
        for block in 0..blocks {
            conv(format!("group {group} block {block} conv 1"), 3, from, to, image);
            conv(format!("group {group} block {block} conv 2"), 3, to, to, image);
            if from != to {
                conv(format!("group {group} block {block} shortcut"), 1, from, to, image);
            }
            from = to;
        }
    }
    layers.push(Layer { name: "scores".to_owned(), parameters: (from * 10 + 10) as u64, work: (from * 10) as f64 });
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_all_parameters_of_the_model_and_its_multiplications() {
        for model in ModelSpec::named().chain(["wrn-10-1", "wrn-16-10", "wrn-28-10"].map(|name| name.parse().unwrap())) {
            assert_eq!(Layers::of(model).unwrap().parameters(), model.parameters(), "{model}");
        }
        let giga = |name: &str| Layers::of(name.parse().unwrap()).unwrap().work() / 1e9;
        // As published: 15.5, 3.9 (version 1), 5.7, and 1.847 of the original lab's model.
        for (name, published) in [("vgg16", 15.47), ("resnet50", 3.86), ("inception3", 5.71), ("wrn-16-10", 1.847)] {
            assert!((giga(name) / published - 1.0).abs() < 0.01, "{name}: {}", giga(name));
        }
        assert_eq!(Layers::equal("x", 101, 10).parameters(), 101);
        assert!("wrn-1000-1".parse().map(Layers::of).unwrap().is_ok(), "the deepest there is");
    }

    #[test]
    fn a_table_of_ones_own_is_read_in_two_ways() {
        let toml = "[[layer]]\nname = \"a\"\nparameters = 10\nwork = 2.5\n[[layer]]\nparameters = 20\n";
        let lines = "# mine\nname,parameters,work\na, 10, 2.5\n\n,20,0\n";
        let expected = Layers::parse("mine", toml).unwrap();
        let spreadsheet = "sep=;\r\nName;Parameters;Work;;\r\na;10;2,5;;\r\n;20;0;;\r\n;;;;\r\n";
        let no_work = "name,parameters,work,\n\"a\",10,2.5\n,20,0,";
        for table in [spreadsheet, no_work, "parameters\tname\twork\n10\t\"a\"\t2.5\n20\t\t0\n"] {
            assert_eq!(Layers::parse("mine", table).as_ref(), Ok(&expected), "{table}");
        }
        assert_eq!(expected, Layers::parse("mine", lines).unwrap());
        assert_eq!((expected.parameters(), expected.work()), (30, 2.5));
        assert_eq!(Layers::parse("x", "parameters\n5\n6").unwrap().work(), 2.0, "equal where nothing is known");
    }

    #[test]
    fn a_table_that_makes_no_sense_is_refused_with_its_place() {
        for (text, expected) in [
            ("", "missing field `layer`"),
            ("parameters,work\n1", "line 2 has 1 columns"),
            ("parameters,work\n1,x", "line 2: parameters"),
            ("parameters,work\n-1,1", "line 2: parameters"),
            ("parameters,work\n1,-1", "layer 1: parameters and work"),
            ("parameters,work\n1,NaN", "layer 1: parameters and work"),
            ("parameters,work\n99999999999999999,1", "layer 1: parameters and work"),
            ("parameters,worth\n1,1", "`worth` is not a column"),
            ("parameters\n0\n0", "nothing to train"),
            ("parameters\n", "0 layers"),
            ("layer = 5", "invalid type"),
            ("[[layer]]\nparameters = -5", "invalid value"),
            ("[[layer]]\nparameters = 5\nsize = 1", "unknown field `size`"),
        ] {
            let refused = Layers::parse("x", text).unwrap_err();
            assert!(refused.contains(expected) && !refused.contains('\n'), "{text}: {refused}");
        }
        let long = format!("parameters,{}\n1,1", "x".repeat(1_000_000));
        assert!(Layers::parse("x", &long).unwrap_err().len() < 500);
        let many = format!("parameters\n{}", "1\n".repeat(1_000_000));
        assert!(Layers::parse("x", &many).unwrap_err().contains("give 1 to 2000"));
    }
}
