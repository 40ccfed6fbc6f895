//! A schedule as text, as a program of any language can print it: rounds of `[sender, receiver, start, end, "reduce"]`, in JSON.

use super::schedule::{Message, Operation, Schedule};

/// One message as it is written: sender, receiver, where its numbers begin and end, and the operation.
type Written<'a> = (i64, i64, i64, i64, std::borrow::Cow<'a, str>);

impl Schedule {
    /// The rounds that a plan names. Whether they make sense, `prove` says.
    ///
    /// # Errors
    /// In one sentence, what is no plan.
    pub fn read_plan(ranks: usize, elements: usize, plan: &str) -> Result<Schedule, String> {
        let rounds: Vec<Vec<Written>> = serde_json::from_str(plan)
            .map_err(|_| "this is not a list of rounds with messages (sender, receiver, start, end, operation)".to_owned())?;
        let read = |(round, messages): (usize, Vec<Written>)| -> Result<Vec<Message>, String> {
            messages.into_iter().map(|message| read(message).map_err(|why| format!("round {}: {why}", round + 1))).collect()
        };
        let rounds = rounds.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Schedule { ranks, elements, rounds })
    }

    /// The plan that [`Schedule::read_plan`] reads.
    pub fn to_plan(&self) -> String {
        let message = |sent: &Message| (sent.from, sent.to, sent.range.start, sent.range.end, sent.operation);
        let rounds: Vec<Vec<_>> = self.rounds.iter().map(|round| round.iter().map(message).collect()).collect();
        // Only failing writers and maps without text keys can fail here, and there are none.
        serde_json::to_string(&rounds).unwrap_or_default()
    }
}

fn read((from, to, start, end, operation): Written) -> Result<Message, String> {
    let count = |what: &str, value: i64| usize::try_from(value).map_err(|_| format!("the {what} of a message is {value}"));
    let operation = match operation.as_ref() {
        "reduce" => Operation::Reduce,
        "copy" => Operation::Copy,
        other => return Err(format!("`{other}` is not an operation: use \"reduce\" or \"copy\"")),
    };
    let range = count("start", start)?..count("end", end)?;
    Ok(Message { from: count("sender", from)?, to: count("receiver", to)?, range, operation })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collective::{Algorithm, Shape};

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        for algorithm in Algorithm::ALL {
            let schedule = algorithm.schedule(5, 33, Shape { servers: 2, ranks_per_host: 2 });
            assert_eq!(Schedule::read_plan(5, 33, &schedule.to_plan()).unwrap(), schedule);
        }
        let said = |plan: &str| Schedule::read_plan(2, 2, plan).unwrap_err();
        assert!(said("7").contains("not a list of rounds") && said("[[[0,1]]]").contains("not a list of rounds"));
        assert_eq!(said(r#"[[],[[0,-1,0,1,"copy"]]]"#), "round 2: the receiver of a message is -1");
        assert!(said(r#"[[[0,1,0,1,"move"]]]"#).contains("`move` is not an operation"));
    }
}
