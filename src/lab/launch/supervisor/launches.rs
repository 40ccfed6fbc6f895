//! The launches of a run: one, and another when an elastic run lost ranks, its hosts changed, Slurm requeued the job, or the follower of a
//! batch job was killed.

use std::sync::OnceLock;

use anyhow::Context;
use nix::sys::signal::Signal;
use tokio::signal::unix::Signal as Signals;
use tokio::time::Instant;

use super::{Supervisor, gone};
use crate::domain::bounds::MAX_VERSIONS;
use crate::domain::history::{History, Keep};
use crate::domain::job::{ELASTIC_TIMEOUT_S, Resources, RunSpec};
use crate::domain::run::RunState;
use crate::domain::units;
use crate::host;
use crate::launch::discovery;
use crate::launch::elastic::Elastic;
use crate::launch::job::{self, JobOptions, Launch, limit_from};
use crate::launch::leased;
use crate::launch::no_progress::PATIENCE;
use crate::launch::observations::Observations;
use crate::launch::output::Tags;
use crate::launch::preflight::variables_of_agent;
use crate::launch::prepare::Images;
use crate::launch::runaway::RunawayLimits;
use crate::launch::slurm;
use crate::launch::user_program::{self, OwnProgram};
use crate::launch::verdict::Verdict;
use crate::launch::work::Work;
use crate::launch::{CommandLine, LaunchError, Setup, command_line};
use crate::lease::Lease;
use crate::process;
use crate::runs::Attempt;

/// The secret of the events, one for all launches of this supervisor: a job that Slurm starts again has the environment of before.
fn secret() -> anyhow::Result<String> {
    static SECRET: OnceLock<String> = OnceLock::new();
    if let Some(secret) = SECRET.get() {
        return Ok(secret.clone());
    }
    let made = host::secret().context("cannot make a secret for the events of this run")?;
    Ok(SECRET.get_or_init(|| made).clone())
}

impl Supervisor {
    /// Launches until the run is over. The head of this file says when there is another launch.
    pub(super) async fn launch_until_over(
        mut self,
        images: &Images,
        mut notes: Vec<String>,
        mut lease: Option<Lease>,
        stop: &mut Signals,
    ) -> anyhow::Result<()> {
        let mut elastic = Elastic::of(&self.record, self.folder.path());
        let mut why = None::<String>;
        loop {
            match self.gather(&mut elastic, lease.as_mut(), stop).await {
                Ok(true) => {}
                Ok(false) => {
                    let message = Work::of(&self.record.request.spec.workload).stopped_early();
                    return self.end(Verdict::plain(RunState::Stopped, message), None);
                }
                // Why the launch before has ended stands in front of this error.
                Err(message) => return self.fail(why.map_or(message.clone(), |why| format!("{why}; {message}")), Vec::new()),
            }
            let because = why.take();
            let going_on = because.as_ref().map(|why| format!("{why}; {}", elastic.going_on()));
            notes.extend(going_on.clone());
            // Stays until the ranks have started: a status that is replaced at once cannot be read.
            let starting = going_on.unwrap_or_else(|| {
                if self.record.request.spec.starts_alone() {
                    // It may start ranks itself.
                    "starting the program".to_owned()
                } else if self.record.knows_np() {
                    format!("starting {}", units::counted(elastic.now.np, "rank"))
                } else {
                    "starting the ranks".to_owned()
                }
            });
            let (line, tags) = match self.command(&elastic.now, images, std::mem::take(&mut notes), because, lease.as_ref()) {
                Ok(command) => command,
                Err(error) => return self.fail(error.recorded(), Vec::new()),
            };
            let (mut end, kept) = match self.launch(&line, tags, lease, &elastic, starting, stop).await {
                Ok(ended) => ended,
                Err(error) => return self.fail(format!("{error:#}"), Vec::new()),
            };
            if end.is_left {
                // Its follower was killed, and not the job.
                tokio::time::sleep(job::LOOK_EVERY).await;
                (self.is_resumed, lease) = (true, kept);
                continue;
            }
            if end.is_requeued || end.is_resized {
                let requeued = "Slurm has put the job back into the queue";
                why = Some(if end.is_requeued { requeued } else { "there are other hosts now" }.to_owned());
                lease = kept;
                continue;
            }
            let more = match elastic.reset(&end.verdict) {
                Ok(Some(said)) => {
                    (why, lease) = (Some(said), kept);
                    continue;
                }
                Ok(None) => elastic.in_words(),
                Err(why) => format!("; {why}"),
            };
            end.verdict.message += &more;
            return self.end(end.verdict, end.exit_code);
        }
    }

    /// Take the discovered hosts, if the run has a discovery script, and wait for enough of them. Returns whether the run is still wanted.
    async fn gather(&mut self, elastic: &mut Elastic, mut lease: Option<&mut Lease>, stop: &mut Signals) -> Result<bool, String> {
        let limit_s = self.record.request.spec.resources.elastic_timeout_s.unwrap_or(ELASTIC_TIMEOUT_S);
        let begin = Instant::now();
        while let Some(mut discovery) = elastic.discovery.clone() {
            let asked = tokio::select! {
                asked = tokio::task::spawn_blocking(move || (discovery.find(), discovery)) => asked,
                // The program goes too: whatever is left of this session is ended.
                _ = stop.recv() => {
                    process::signal_own_session(Signal::SIGKILL);
                    return Ok(false);
                }
            };
            // Nobody else may take its devices meanwhile, also where the folder of this machine is cleaned.
            lease.iter_mut().for_each(|lease| drop(lease.keep()));
            let (hosts, discovery) = asked.map_err(|error| error.to_string())?;
            elastic.discovery = Some(discovery);
            let Err(why) = hosts.and_then(|hosts| elastic.choose(&hosts)) else { break };
            if begin.elapsed().as_secs_f64() >= limit_s {
                let waited = units::clock(begin.elapsed().as_secs_f64());
                return Err(format!("{why}; waited for {waited}, and --elastic-timeout is {}", units::clock(limit_s)));
            }
            self.set(RunState::Preparing, format!("waiting for hosts: {why}")).map_err(|error| error.to_string())?;
            tokio::select! {
                _ = stop.recv() => return Ok(false),
                () = gone(self.lock.clone()) => return Ok(false),
                () = tokio::time::sleep(discovery::EVERY) => {}
            }
        }
        Ok(true)
    }

    /// The command line of this attempt, entered into the record with these notes, and `because` where there was a launch before.
    fn command(
        &mut self,
        resources: &Resources,
        images: &Images,
        notes: Vec<String>,
        because: Option<String>,
        lease: Option<&Lease>,
    ) -> Result<(CommandLine, Tags), LaunchError> {
        // Before the machine is looked at: of its cores only those count that this run may use.
        let settled = lease.map(leased::settle);
        let setup = Setup::detect(&self.record.request.spec, self.record.request.program.as_deref())?;
        let (record, log_dir) = (&self.record, self.folder.log_dir());
        // An elastic run may go on with fewer ranks than it began with.
        let spec = RunSpec { resources: resources.clone(), workload: record.request.spec.workload.clone() };
        let mut line = command_line(&spec, &record.request.preset, &setup, &images.argument, &log_dir, record.request.force)?;
        line.notes.extend(notes.into_iter().chain(images.in_words()));
        line.env.extend(variables_of_agent(resources, setup.flavour));
        if let Some((env, note)) = settled {
            line.env.extend(env);
            line.notes.push(note);
        }
        let attempt = Attempt {
            argv: line.argv.clone(),
            env: line.env.clone(),
            started_s: host::now_s(),
            np: self.record.request.spec.knows_np().then_some(resources.np),
            because,
            epochs: record.training().map_or(0, |training| training.epochs),
            ..Attempt::default()
        };
        let is_resumed = std::mem::take(&mut self.is_resumed);
        // Only these fields: the user may have named the run since it began.
        self.record = self.folder.change_record(|record| {
            record.data_label = images.label.clone();
            if is_resumed {
                record.attempts.pop();
            }
            record.attempts.push(attempt);
        })?;
        if resources.slurm {
            let run = self.record.id.0 as usize;
            line = slurm::submission(resources, line, self.folder.path(), run)?;
        }
        let Some(command) = self.record.request.spec.command() else { return Ok((line, Tags::Of(setup.flavour))) };
        user_program::write_module(command, &self.folder.log_dir()).map_err(LaunchError::Failed)?;
        Ok((line, user_program::tags(command, &self.record.request.spec, setup.flavour)))
    }

    /// Start the launcher and stay with it to its end. The status is shown until the ranks have started.
    async fn launch(
        &mut self,
        line: &CommandLine,
        tags: Tags,
        lease: Option<Lease>,
        elastic: &Elastic,
        status: String,
        stop: &mut Signals,
    ) -> anyhow::Result<(job::End, Option<Lease>)> {
        self.set(RunState::Running, status)?;
        let (folder, spec) = (self.folder.clone(), &self.record.request.spec);
        let own = spec
            .command()
            .map(|command| OwnProgram::new(spec, command, &folder.log_dir()))
            .transpose()
            .map_err(anyhow::Error::msg)?;
        let is_own = self.record.request.program.is_some();
        let observations = Observations {
            work: Work::of(&spec.workload),
            epochs_before: folder.last_checkpoint().unwrap_or_default().epoch,
            launcher_name: spec.launcher_name(),
            is_alone: spec.starts_alone(),
            // What a single process prints is its own in any case.
            is_untagged: matches!(tags, Tags::No) && !spec.starts_alone(),
            history: History::new(Keep::Epochs(1)),
            ..Observations::default()
        };
        let mut options = JobOptions {
            secret: secret()?,
            np: self.record.np(),
            tags,
            limits: RunawayLimits { is_own, epochs: self.record.training().map(|training| training.epochs) },
            own,
            lease,
            lock: self.lock.clone(),
            patience: is_own.then_some(PATIENCE),
            start: spec.resources.start_patience_s().and_then(|limit_s| limit_from(Instant::now(), limit_s)),
            // The launches before this one have had a part of its time.
            deadline: leased::time_limit(spec)?.and_then(|limit_s| limit_from(elastic.began, limit_s)),
            link_bits: spec.link_bits(),
            wish: elastic.wish(),
            is_elastic: spec.resources.min_np.is_some(),
            is_batch: spec.resources.slurm,
            folder,
        };
        if options.is_batch {
            options.secret = slurm::resume(&options.folder, options.secret, options.np)?;
        }
        let mut job = Launch::start(line, options, observations)?;
        let end = job
            .follow(stop, &mut |state, message| {
                // A status that cannot be written now is written at the next change, or its error told at the end.
                let _ = self.set(state, message);
            })
            .await;
        self.remember(&end);
        Ok((end, job.options.lease))
    }

    /// Record what is known after an attempt has ended.
    fn remember(&mut self, end: &job::End) {
        let new = |known: &[String]| end.versions.iter().filter(|version| !known.contains(version)).cloned().collect::<Vec<_>>();
        let is_told = !new(&self.record.versions).is_empty() || end.others_cpu.is_some() || end.np.is_some();
        if is_told && self.lock.is_in_place() {
            // Good to know, but no reason for a run to fail.
            let _ = self.folder.change_record(|record| {
                let room = MAX_VERSIONS.saturating_sub(record.versions.len());
                record.versions.extend(new(&record.versions).into_iter().take(room));
                if let Some(attempt) = record.attempts.last_mut() {
                    attempt.np = end.np.or(attempt.np);
                    // Further digits say nothing.
                    attempt.others_cpu = end.others_cpu.map(|part| (part * 1000.0).round() / 1000.0);
                }
            });
        }
    }
}
