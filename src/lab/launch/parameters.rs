//! Parameters of Open MPI that the user has set, in the environment and in files.

use std::path::PathBuf;

use regex::Regex;

use super::Flavour;
use crate::host::read;

/// A file of parameters is a few lines.
const MOST_BYTES: u64 = 64 << 10;

/// One that is set: its name as it stands there, its value, and the variable or file that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub name: String,
    pub value: String,
    pub place: String,
}

/// All that stands in the user's files which the launcher of this version reads, as it reads them: quotes and # belong to a value.
pub(super) fn in_files(flavour: Flavour) -> Vec<Parameter> {
    let folders: &[&str] = match flavour {
        Flavour::OpenMpi5 => &[".prte", ".pmix"],
        Flavour::OpenMpi4 => &[".openmpi"],
        Flavour::Mpich => &[],
    };
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let files = folders.iter().map(|folder| home.join(folder).join("mca-params.conf"));
    let texts = files.filter_map(|file| Some((read::small_text(&file, MOST_BYTES).ok()?, file.display().to_string())));
    let parameters = texts.flat_map(|(text, place)| {
        let pair = |line: &str| {
            let (name, value) = line.split_once('=')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        };
        let pairs: Vec<(String, String)> = text.lines().filter(|line| !line.trim().starts_with('#')).filter_map(pair).collect();
        pairs.into_iter().map(move |(name, value)| Parameter { name, value, place: place.clone() })
    });
    parameters.filter(|parameter| !parameter.value.is_empty()).collect()
}

/// The name of a parameter, or of a framework, without what says whose it is: `PRTE_MCA_rmaps_base` is `rmaps_base`.
fn plain(name: &str) -> &str {
    let name = name.split_once("_MCA_").map_or(name, |(_, plain)| plain);
    name.trim_start_matches("prte_").trim_start_matches("pmix_")
}

/// Which parameter asks for a component that the launcher misses by these words, or for places that it does not have; and what to do:
/// two sentences.
pub(super) fn blame(words: &str) -> Option<(String, String)> {
    let missing = Regex::new(r"requested component was not found(?s:.*?)Framework:\s*(\S+)\s+Component:\s*(\S+)").ok()?;
    let placing = Regex::new(r"(?i)ppr for this topology|(?:mapping|ranking|binding) policy|not enough slots").ok()?;
    let variables = std::env::vars().filter(|(name, _)| name.contains("_MCA_"));
    let variables = variables.map(|(name, value)| Parameter { place: name.clone(), name, value });
    let mut set = variables.chain([Flavour::OpenMpi5, Flavour::OpenMpi4].into_iter().flat_map(in_files));
    let (found, what) = if let Some(found) = missing.captures(words) {
        let (framework, component) = (&found[1], &found[2]);
        let asks = |parameter: &Parameter| {
            plain(&parameter.name) == plain(framework)
                && parameter.value.split([',', '^', ' ', '"']).any(|word| word == component)
        };
        (set.find(asks)?, format!("asks Open MPI for `{component}`, which it does not have for {framework}"))
    } else if placing.is_match(words) {
        let places = ["rmaps_", "binding_policy"];
        let found = set.find(|parameter| places.iter().any(|part| plain(&parameter.name).contains(part)))?;
        let what = format!("tells mpirun where ranks go: {}", found.value);
        (found, what)
    } else {
        return None;
    };
    let Parameter { name, value, place } = found;
    let remedy =
        if name == place { format!("`unset {name}`") } else { format!("take the line `{name} = {value}` out of {place}") };
    Some((format!("{place} {what}"), remedy))
}
