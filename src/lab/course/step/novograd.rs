//! Step 10: every rank trains with NovoGrad.

use crate::course::check::group::Group;
use crate::course::check::terms::short;
use crate::course::check::verdict::{Finding, failed};
use crate::course::check::watched;
use crate::course::contrast::rates::losses;
use crate::course::contrast::{Contrast, Side, small};
use crate::domain::event::DigestMoment;

/// Step 10: every rank uses NovoGrad.
pub fn check(group: &Group) -> Finding {
    let configs = group.configs()?;
    if let Some(process) = (0..group.np).find(|process| !configs[*process].optimizer.eq_ignore_ascii_case("novograd")) {
        return failed(format!(
            "{who} trains with {optimizer}, not NovoGrad",
            who = group.name(process),
            optimizer = configs[process].optimizer
        ));
    }
    watched::novograd(group)?;
    group.epochs()?;
    match group.np {
        1 => Ok("the one rank trained with NovoGrad".into()),
        np => Ok(format!("all {np} ranks trained with NovoGrad")),
    }
}

pub fn contrast(pair: [&Side; 2], found: &mut Contrast) {
    let names = pair.map(|side| side.config().map_or(String::new(), |config| config.optimizer.clone()));
    found.fact("optimizer", names.clone());
    let first = pair.map(|side| side.first_digests(DigestMoment::FirstGradients).first().copied());
    found.fact("first gradients", first.map(|digest| digest.map_or("", short).to_owned()));
    found.fact("loss, first batches", losses(pair));
    let same = first[0].is_some() && first[0] == first[1];
    if same {
        found.say(format!(
            "Both runs computed the same first gradients; {} and {} made different updates of them.",
            names[0], names[1]
        ));
    }
    let second = pair.map(|side| side.root().and_then(|root| root.steps.get(1)).map(|step| step.loss));
    if let ([Some(before), Some(after)], true) = (second, same) {
        found.say(format!(
            "After that one update rank 0's loss was {} with {}, {} with {}.",
            small(before),
            names[0],
            small(after),
            names[1]
        ));
    }
}
