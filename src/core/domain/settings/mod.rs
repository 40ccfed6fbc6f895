//! The one table of the settings of a training run: the screen, the verbs and the trainer's argument vector all read it.
//!
//! Adding a setting is a field of [`TrainingSpec`](super::training::TrainingSpec) or [`Resources`](super::job::Resources), a row
//! of `table`, and the flag in `ranks/trainer/config.rs`, where a student reads it. The tests below find a field without a row.

mod table;
mod words;

pub use table::{SETTINGS, setting};
pub use words::{in_plain_words, label, without_flags};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::benchmark::NumberFormat;
    use crate::domain::job::TrainingJob;

    #[test]
    fn every_key_has_one_row_and_every_row_its_words() {
        for setting in &SETTINGS {
            assert!(std::ptr::eq(super::setting(setting.flag), setting), "two rows for {setting:?}");
            assert!(!setting.help.is_empty() && !setting.label.is_empty() && !setting.hint.is_empty(), "{}", setting.flag);
            // Long flags are kept apart by their dashes; what is stored has underscores there.
            assert!(setting.flag.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", setting.flag);
        }
    }

    /// Each field of a job has a row, and each row a field: nothing is set without being stored.
    #[test]
    fn every_stored_field_has_a_row() {
        let mut job = TrainingJob::sample();
        (job.resources.time_limit_s, job.resources.start_timeout_s) = (Some(60.0), Some(60.0));
        (job.workload.commit_every, job.workload.precision) = (Some(50), NumberFormat::Bf16);
        (job.resources.min_np, job.resources.max_np, job.resources.reset_limit) = (Some(1), Some(4), Some(3));
        (job.resources.elastic_timeout_s, job.resources.host_discovery_script) = (Some(60.0), Some("hosts.sh".into()));
        job.resources.network_interface = Some("eth0".into());
        job.resources.link = Some(1_000_000_000);
        let (slurm, nodes) = (&mut job.resources, Some(1));
        (slurm.slurm, slurm.nodes, slurm.gpus_per_node) = (true, nodes, nodes);
        (slurm.partition, slurm.account) = (Some("gpu".into()), Some("course".into()));
        let stored = serde_json::to_value(&job).unwrap();
        let mut fields: Vec<&str> = stored.as_object().unwrap().keys().map(String::as_str).collect();
        let mut rows: Vec<String> = SETTINGS.iter().map(|setting| setting.flag.replace('-', "_")).collect();
        rows.iter_mut()
            .filter(|row| ["time_limit", "start_timeout", "elastic_timeout"].contains(&row.as_str()))
            .for_each(|row| row.push_str("_s"));
        fields.sort_unstable();
        rows.sort_unstable();
        assert_eq!(fields, rows);
    }

    #[test]
    fn every_setting_steps_both_ways_and_takes_what_it_shows() {
        for setting in &SETTINGS {
            let mut job = TrainingJob::sample();
            for up in [true, false] {
                for _ in 0..40 {
                    let next = setting.next(&job, up);
                    setting.set(&mut job, &next).unwrap();
                    assert_eq!(setting.get(&job), next, "{}", setting.flag);
                    assert_eq!(job.problem(), None, "{} {next}", setting.flag);
                }
            }
        }
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        let (mut job, limit) = (TrainingJob::sample(), setting("time-limit"));
        for (text, seconds) in [("600", 600.0), ("10:00", 600.0), ("1:02:03", 3723.0), ("0:45", 45.0)] {
            limit.set(&mut job, text).unwrap();
            assert_eq!(job.resources.time_limit_s, Some(seconds), "{text}");
        }
        for bad in ["", "1:60", "ten", "-5", "1:2:3:4", "1.5"] {
            assert!(limit.set(&mut job, bad).unwrap_err().contains("is not a time"), "{bad}");
        }
        assert_eq!(job.resources.time_limit_s, Some(45.0), "as it was");
        limit.set(&mut job, "none").unwrap();
        assert_eq!(job.resources.time_limit_s, None);
    }
}
