//! Events survive the line, and what is no event does no harm.

use super::super::device::{DeviceKind, DeviceSample};
use super::*;

#[test]
fn events_survive_the_line() {
    let events = [
        Event::Step { epoch: 0, batch: 3, lr: 0.010_206_9, loss: 2.3 },
        Event::Topology(TopologyReport::sample()),
        Event::Epoch(EpochReport { averaged: None, ..EpochReport::sample() }),
        Event::Finished { epochs: 2, training_seconds: 1.5, total_seconds: 2.5, peak_rss_bytes: Some(1 << 40) },
        Event::Epoch(EpochReport::sample()),
        Event::Restored { epochs: vec![ProcessEpoch { process: 3, since: Some(0), report: EpochReport::sample() }] },
        Event::Devices {
            sample: TelemetrySample {
                time_s: 1.5,
                host: "node".into(),
                devices: vec![DeviceSample::silent(DeviceKind::Cpu, 0, "CPU", "no sensor")],
                gpu_missing: Some("no driver".into()),
                machine: None,
            },
        },
    ];
    for event in events {
        let line = EventLine { time_s: 1.25, process: 1, event };
        let text = line.to_line();
        assert!(!text.contains('\n'));
        assert_eq!(EventLine::parse_line(&text), Some(line));
    }
}

#[test]
fn times_and_losses_survive_the_line_to_the_last_bit() {
    // Steps that meet no round number.
    for step in 0..20_000 {
        let time_s = 1.763e9 + f64::from(step) * 0.123_456_789_1;
        let line = EventLine { time_s, process: 0, event: Event::Step { epoch: 0, batch: 0, lr: 1.0 / time_s, loss: 2.3 } };
        assert_eq!(EventLine::parse_line(&line.to_line()), Some(line));
    }
}

#[test]
fn a_loss_that_is_no_number_survives_the_line_as_one() {
    let back = |event: Event| EventLine::parse_line(&EventLine { time_s: 1.0, process: 0, event }.to_line()).unwrap().event;
    for loss in [f64::NAN, f64::INFINITY] {
        let step = back(Event::Step { epoch: 0, batch: 3, lr: 0.1, loss });
        assert!(matches!(step, Event::Step { batch: 3, loss, .. } if loss.is_nan()), "{step:?}");
        let validation = Metrics { loss, accuracy: 0.1 };
        let epoch = back(Event::Epoch(EpochReport { validation, ..EpochReport::sample() }));
        assert!(matches!(&epoch, Event::Epoch(report) if report.validation.loss.is_nan() && report.epoch == 1), "{epoch:?}");
        assert!(matches!(back(Event::Test { loss, accuracy: loss, images: 1, seconds: 1.0 }), Event::Test { .. }));
    }
}

#[test]
fn unknown_fields_and_events_do_no_harm() {
    let older = r#"{"time_s":1.0,"process":0,"event":"finished","epochs":3,"training_seconds":1.0,"total_seconds":2.0}"#;
    let finished = Event::Finished { epochs: 3, training_seconds: 1.0, total_seconds: 2.0, peak_rss_bytes: None };
    assert_eq!(EventLine::parse_line(older).map(|line| line.event), Some(finished));
    let newer = r#"{"time_s":1.0,"process":0,"event":"early_stop","epoch":3,"mood":"good"}"#;
    assert_eq!(EventLine::parse_line(newer).map(|line| line.event), Some(Event::EarlyStop { epoch: 3 }));
    assert_eq!(EventLine::parse_line(r#"{"time_s":1.0,"process":0,"event":"sneezed"}"#), None);
    assert_eq!(EventLine::parse_line("Epoch 1/3"), None);
}

#[test]
fn what_is_no_event_is_told_from_half_a_line_and_from_a_newer_event() {
    let line = EventLine { time_s: 1.0, process: 0, event: Event::Epoch(EpochReport::sample()) }.to_line();
    for end in 0..line.len() {
        assert_eq!(EventLine::read(&line[..end]), Ok(None), "half a line: {}", &line[..end]);
    }
    let newer = [
        r#"{"time_s":1.0,"process":0,"event":"sneezed"}"#,
        r#"{"time_s":1.0,"process":0,"event":"checkpoint","action":"melted"}"#,
    ];
    assert_eq!(newer.map(EventLine::read), [Ok(None), Ok(None)]);
    for bad in [
        "Epoch 1/3",
        "17",
        "{}",
        r#"{"time_s":1.0,"process":0,"event":"early_stop"}"#,
        r#"{"time_s":1.0,"process":0,"event":"early_stop","epoch":"three"}"#,
        r#"{"time_s":1.0,"process":0,"event":"early_stop","epoch":3}}"#,
        r#"{"time_s":"now","process":0,"event":"early_stop","epoch":3}"#,
    ] {
        assert!(EventLine::read(bad).is_err(), "{bad}");
    }
}

#[test]
fn what_was_seen_is_read_back_and_what_newer_libraries_see_is_skipped() {
    let update = UpdateReport {
        update: 3,
        optimizer: "sgd".into(),
        lr: 0.02,
        own: vec![1.0, -0.5],
        applied: vec![0.5, 0.25],
        before: vec![0.125],
        after: Vec::new(),
        norms: vec![2.5],
    };
    let all = [
        Observation::Update(update.clone()),
        Observation::Wrapped { times: 2 },
        Observation::Picks { batch: 0, images: vec![7, 3] },
        Observation::Counted { updates: 7 },
        Observation::Board,
        Observation::NoSchedule,
        Observation::Decision { accuracy: 0.5, stops: true },
        Observation::Saved { epoch: 2 },
    ];
    for seen in all {
        let line = EventLine { time_s: 1.0, process: 1, event: Event::Observed(seen) };
        assert_eq!(EventLine::read(&line.to_line()), Ok(Some(line)));
    }
    let newer = r#"{"time_s":1.0,"process":1,"event":"seen","what":"sneeze"}"#;
    assert_eq!(EventLine::read(newer), Ok(None));
    let endless = Observation::Update(UpdateReport { own: vec![0.0; 5000], ..update });
    let line = EventLine { time_s: 1.0, process: 1, event: Event::Observed(endless) };
    assert!(EventLine::read(&line.to_line()).unwrap_err().starts_with("numbers in a sample 5000"));
}
