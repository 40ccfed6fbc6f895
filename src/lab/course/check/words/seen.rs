//! What the library saw of the training, in words.

use super::super::numbers::apart;
use crate::domain::event::Instead;
use crate::domain::units;

pub const FIRST_STEP: &str = "the first step";
pub const FIRST_UPDATE: &str = "the first update";

pub fn update(number: usize) -> String {
    format!("update {}", number + 1)
}

pub fn never_updated(who: &str, steps: usize) -> String {
    let steps = units::counted(steps, "training step");
    format!("{who} reports {steps}, and no optimizer of the library updated its weights: train with `optimizer.step`")
}

pub fn wrapped(who: &str, times: usize) -> String {
    format!("{who} wrapped its optimizer {times} times, so its gradients are averaged {times} times: wrap it once")
}

/// Of two updates, counted from 0.
pub fn weights_changed_between(who: &str, one: usize, next: usize) -> String {
    format!(
        "the weights of {who} changed between {} and {}, and no optimizer of the library did it: change weights by `optimizer.step` \
         only",
        update(one),
        update(next)
    )
}

pub fn other_gradients(who: &str, which: &str, root: &str) -> String {
    format!("{who} applied other gradients in {which} than {root}: average them over all ranks before every update")
}

pub fn gradients_of_one(whose: &str, when: &str) -> String {
    format!("all ranks applied {whose}'s own gradients in {when}: average them, so that every rank's images count")
}

pub fn sum_of_gradients(when: &str, np: usize) -> String {
    format!("all ranks applied the sum of their gradients in {when}, not the mean: divide by {np}, the number of ranks")
}

pub fn times_the_mean(times: f64, when: &str) -> String {
    format!("all ranks applied {times:.3} times the mean of their gradients in {when}: apply the mean")
}

pub fn not_the_mean(when: &str) -> String {
    format!("all ranks applied the same gradients in {when}, but not the mean of their own: average them")
}

/// `passes` batches make one update.
pub fn updated_less(who: &str, steps: usize, updates: usize, passes: usize) -> String {
    let batches = if passes == 1 { "batch".to_owned() } else { format!("{passes} batches") };
    let steps = units::counted(steps, "training step");
    format!(
        "{who} reports {steps} and updated its weights {updates} times: let the optimizer make one update after every {batches}"
    )
}

pub fn another_optimizer(who: &str, name: &str) -> String {
    format!("{who} reports NovoGrad, and {name} updates its weights")
}

pub fn decided_alone(who: &str, epoch: usize, own: f64, mean: f64) -> String {
    let [own, mean] = apart(own, mean);
    format!(
        "{who} decided after epoch {epoch} by its own validation accuracy of {own} whether to stop, not by the mean of {mean}: average \
         first, then decide"
    )
}

/// `times` epochs in turn had a mean above the target.
pub fn trained_on(who: &str, [after, next]: [usize; 2], mean: f64, target: f64, times: usize) -> String {
    let [mean, target] = apart(mean, target);
    let again = if times > 1 { format!(" for the {times}th time") } else { String::new() };
    format!(
        "after epoch {after} the mean accuracy of {mean} was above the target of {target}{again}, and {who} trained epoch {next} all the \
         same: stop at the target (StopAtAccuracy in Python, EarlyStop in Rust), behind the average"
    )
}

pub fn never_tested(who: &str) -> String {
    format!(
        "{who} ended without a test on the test images: keep the test at the end of the program (model.evaluate in Python, final_test in \
         Rust)"
    )
}

pub fn no_schedule(who: &str) -> String {
    format!(
        "the rate of {who} would never fall: keep LearningRateScheduler(lr_schedule) as the first callback, which lowers it after 15, 25 \
         and 35 epochs"
    )
}

pub fn stopped_alone(who: &str, epoch: usize, other: &str) -> String {
    format!(
        "{who} stopped early after epoch {epoch}, and {other} went on, so each decided alone: average the metrics first, then decide \
         once for all ranks with `EarlyStop::agreed`"
    )
}

/// The program goes by another value than its flag has.
pub fn other_value(who: &str, Instead { flag, asked, used }: &Instead, np: usize) -> String {
    let argument = format!("args.{}", flag.trim_start_matches('-').replace('-', "_"));
    // Others are nothing that ranks might share.
    let is_shared = matches!(flag.as_str(), "--epochs" | "--batch-size");
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| is_shared && *number > 0);
    let cause = match (number(asked), number(used)) {
        (Some(asked), Some(used)) if used == asked * np => format!("it was multiplied by {np}, the number of ranks"),
        (Some(asked), Some(used)) if used * np == asked => format!("it was divided by {np}, the number of ranks"),
        (Some(asked), Some(used)) if used == asked / np || used == asked.div_ceil(np) => {
            format!("it was divided by {np}, the number of ranks, or your program ignores {flag}")
        }
        _ => format!("your program ignores {flag}"),
    };
    format!("{who} goes by {used} where {flag} says {asked}: {cause}. Use {argument} as it is")
}
