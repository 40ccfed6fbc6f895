//! What a simulation prints: for people, for programs, and for a spreadsheet. Each says that it is simulated.

use serde_json::{Value, json};

use super::super::table::{or_dash, render};
use crate::domain::units;
use crate::runs::busy_host;
use crate::simulate::{
    Bound, Checked, Network, Numbers, Own, Predicted, Published, Rate, Scaling, Simulation, Size, Validation, Variant,
};

/// A simulation with what is said about it.
pub struct Simulated {
    pub simulation: Simulation,
    /// Where the rate of one GPU is from.
    pub rate_source: String,
    pub within: String,
    pub network: String,
    pub nics: usize,
    pub epoch_images: usize,
    pub scaling: Scaling,
}

/// With a decimal, as published efficiencies have.
fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// `12.3`, `0.0123`, `12,345`: an amount of money, or GPU-hours.
fn amount(value: f64) -> String {
    if value >= 1000.0 { units::count(value.round() as usize) } else { units::figure(value) }
}

pub fn scaling(simulated: &Simulated) -> String {
    let Simulated { simulation, rate_source, within, network, nics, epoch_images, scaling } = simulated;
    let layers = &simulation.layers;
    let number_bytes = if simulation.method.fp16 { 2 } else { 4 };
    let mut text = format!(
        "simulated: {}, {} parameters in {}, {} of gradients, {} a rank and step\n",
        layers.name,
        units::count(usize::try_from(layers.parameters()).unwrap_or(usize::MAX)),
        units::counted(layers.all().len(), "layer"),
        units::bytes(layers.parameters().saturating_mul(number_bytes)),
        units::counted(simulation.batch, "image"),
    );
    text.push_str(&format!("one GPU: {} images/s ({rate_source})\n", units::rate(simulation.images_per_s)));
    text.push_str(&format!(
        "machine: {} per host, {within} within, {nics} x {network} between; {}{}\n\n",
        units::counted(simulation.cluster.per_node, "GPU"),
        simulation.method.engine.name(),
        if simulation.method.hierarchical { ", hierarchical" } else { "" },
    ));
    let has_cost = scaling.sizes.iter().any(|size| size.cost.is_some());
    let mut heading = vec!["np", "step", "img/s", "speed-up", "efficiency", "exposed", "epoch", "GPU-h", "bound by"];
    if has_cost {
        heading.insert(8, "cost");
    }
    let cells = |size: &Size| {
        let mut row = vec![
            size.ranks.to_string(),
            units::short_time(size.step_s),
            units::count(size.images_per_s.round() as usize),
            format!("{:.1}x", size.speedup),
            percent(size.efficiency),
            if size.exposed_s > 0.0 { units::short_time(size.exposed_s) } else { "-".to_owned() },
            units::seconds(size.epoch_s),
            amount(size.gpu_hours),
            size.bound.map_or("-", Bound::name).to_owned(),
        ];
        if has_cost {
            row.insert(8, or_dash(size.cost.map(amount)));
        }
        row
    };
    text.push_str(&render(&heading, scaling.sizes.iter().map(cells)));
    text.push_str(&format!("\nan epoch has {} images\n", units::count(*epoch_images)));
    text.push_str(&match scaling.knee {
        Some(knee) => format!(
            "knee: up to {}; twice as many give less than 1.6 times the images/s, bound by {}\n",
            if knee.ranks == 1 { "1 rank".to_owned() } else { format!("{} ranks", units::count(knee.ranks)) },
            knee.bound.map_or("nothing that stands out", Bound::name)
        ),
        None => "knee: none up to 32,768 ranks\n".to_owned(),
    });
    if !scaling.compared.is_empty() {
        let columns: Vec<String> = scaling.compared.iter().map(|ranks| format!("np {ranks}")).collect();
        let heading: Vec<&str> = ["simulated efficiency"].into_iter().chain(columns.iter().map(String::as_str)).collect();
        let cells = |variant: &Variant| {
            [variant.name.clone()].into_iter().chain(variant.efficiency.iter().map(|part| percent(*part))).collect()
        };
        text.push('\n');
        text.push_str(&render(&heading, scaling.variants.iter().map(cells)));
    }
    text
}

pub fn scaling_json(simulated: &Simulated) -> Value {
    let Simulated { simulation, rate_source, within, network, nics, epoch_images, scaling } = simulated;
    json!({
        "simulated": true,
        "model": simulation.layers.name,
        "parameters": simulation.layers.parameters(),
        "batch_size": simulation.batch,
        "images_per_sec_of_one": simulation.images_per_s,
        "rate_source": rate_source,
        "within": within,
        "network": network,
        "nics": nics,
        "per_node": simulation.cluster.per_node,
        "method": simulation.method,
        "epoch_images": epoch_images,
        "sizes": scaling.sizes,
        "knee": scaling.knee,
        "compared": scaling.compared,
        "variants": scaling.variants,
    })
}

pub fn scaling_csv(scaling: &Scaling) -> String {
    let mut text =
        "kind,np,step_s,images_per_sec,speedup,scaling_efficiency,exposed_s,epoch_s,gpu_hours,cost,bound_by\n".to_owned();
    for size in &scaling.sizes {
        let Size { ranks, step_s, images_per_s, speedup, efficiency, exposed_s, epoch_s, gpu_hours, .. } = size;
        let (cost, bound) = (size.cost.map_or(String::new(), |cost| cost.to_string()), size.bound.map_or("", Bound::name));
        text.push_str(&format!(
            "simulated,{ranks},{step_s},{images_per_s},{speedup},{efficiency},{exposed_s},{epoch_s},{gpu_hours},{cost},{bound}\n"
        ));
    }
    text
}

/// Above or below, in points.
fn points(error: f64) -> String {
    format!("{error:+.1}")
}

pub fn validation(validation: &Validation) -> String {
    let cells = |row: &Checked| {
        let published = &row.published;
        vec![
            published.who.clone(),
            published.label.clone(),
            published.ranks.to_string(),
            published.network.clone(),
            format!("{:.1} %", published.efficiency),
            format!("{:.1} %", row.predicted),
            points(row.error),
            published.source.clone(),
        ]
    };
    let heading = ["who", "model", "np", "network", "published", "simulated", "error", "source"];
    let table = render(&heading, validation.rows.iter().map(cells));
    format!(
        "{table}\nerror: points of efficiency, above 0 where the simulation says too much\n{} of {} within 5 points, mean error {:.1}\n\
         The parameters have sources and none is fitted to these rows (`hvd-lab simulate --list`). One of them, the framework's \
         overhead,\nwas added after a first comparison; it is from the benchmark of PyTorch's DDP on 1 GPU.\n",
        validation.close,
        validation.rows.len(),
        validation.mean_error
    )
}

pub fn validation_json(validation: &Validation) -> Value {
    let mut value = json!(validation);
    value["simulated"] = json!(true);
    value
}

pub fn validation_csv(validation: &Validation) -> String {
    let mut text = "kind,who,model,np,network,published,simulated,error,source\n".to_owned();
    for row in &validation.rows {
        let Checked { published: Published { who, label, ranks, network, efficiency, source, .. }, predicted, error, .. } = row;
        text.push_str(&format!("simulated,{who},{label},{ranks},{network},{efficiency},{predicted},{error},\"{source}\"\n"));
    }
    text
}

pub fn own(own: &Own, predicted: &[Predicted]) -> String {
    let one = &own.one;
    let device = if one.is_gpu { "GPU" } else { "core" };
    let mut text = format!(
        "simulated: {}, {} a rank and step, on this run's host with {}\n",
        one.model,
        units::counted(one.batch, "image"),
        units::counted(one.devices, device)
    );
    text.push_str(&format!(
        "run {}: one rank, {} images/s (+- {}), jitter of a step {}\n",
        one.id,
        units::rate(one.images_per_s),
        percent(2.0 * one.uncertainty),
        percent(one.jitter)
    ));
    text.push_str(&match &own.two {
        Some(two) => format!(
            "run {}: two ranks, {} images/s (+- {}), {} of a step waiting\n",
            two.id,
            units::rate(two.images_per_s),
            percent(2.0 * two.uncertainty),
            percent(two.exposed_s / two.step_s())
        ),
        None => "no run on two ranks: what ranks cost each other beside messages is not in the prediction\n".to_owned(),
    });
    text.push_str(&match &own.fit {
        Some(fit) => format!(
            "collectives: alpha {} a message, beta {} GB/s\n\n",
            units::short_time(fit.alpha_s),
            units::figure(1e-9 / fit.beta_s.max(f64::MIN_POSITIVE))
        ),
        None => "no run of collectives: messages are taken to cost their bytes only\n\n".to_owned(),
    });
    let cells = |row: &Predicted| {
        let measured = row.measured;
        vec![
            row.ranks.to_string(),
            units::short_time(row.step_s),
            units::count(row.images_per_s.round() as usize),
            percent(row.efficiency),
            format!("{:.1}", row.error * 100.0),
            row.ranks_per_device.to_string(),
            or_dash(measured.map(percent)),
            or_dash(measured.map(|measured| points(100.0 * (row.efficiency - measured)))),
        ]
    };
    let share = format!("ranks/{device}");
    let heading = ["np", "step", "img/s", "efficiency", "+-", &share, "measured", "error"];
    text.push_str(&render(&heading, predicted.iter().map(cells)));
    if predicted.iter().any(|row| row.ranks_per_device > 1) {
        let turns = predicted.iter().map(|row| own.turns(row.ranks)).fold(0.0, f64::max);
        let turns = if turns > 0.0 { format!("; taking turns is taken to cost {:.0} %", 100.0 * turns) } else { String::new() };
        text.push_str(&format!(
            "\nwith more ranks than {device}s, some share a {device} and its time, and all wait for those{turns}\n"
        ));
    }
    for (id, part) in own.known().filter_map(|sample| Some((sample.id, sample.disturbed?))) {
        text.push_str(&format!("* run {id}: {}\n", busy_host::note(part)));
    }
    text
}

pub fn own_json(own: &Own, predicted: &[Predicted]) -> Value {
    json!({
        "simulated": true,
        "model": own.one.model,
        "batch_size": own.one.batch,
        "devices": own.one.devices,
        "images_per_sec_of_one": own.one.images_per_s,
        "jitter": own.one.jitter,
        "alpha_s": own.fit.map(|fit| fit.alpha_s),
        "beta_s": own.fit.map(|fit| fit.beta_s),
        "fitted_to_runs": [Some(own.one.id), own.two.as_ref().map(|two| two.id)],
        "held_out_runs": own.held_out.iter().map(|sample| sample.id).collect::<Vec<_>>(),
        "sizes": predicted,
    })
}

pub fn own_csv(predicted: &[Predicted]) -> String {
    let mut text = "kind,np,step_s,images_per_sec,scaling_efficiency,error,ranks_per_device,measured\n".to_owned();
    for row in predicted {
        let measured = row.measured.map_or(String::new(), |measured| measured.to_string());
        text.push_str(&format!(
            "simulated,{},{},{},{},{},{},{measured}\n",
            row.ranks, row.step_s, row.images_per_s, row.efficiency, row.error, row.ranks_per_device
        ));
    }
    text
}

pub fn list(numbers: &Numbers) -> String {
    let network = |network: &Network| {
        let place = if network.within { "--within" } else { "--network" };
        let part = units::percent(network.utilisation);
        let (rate, latency) = (format!("{} GB/s", network.gb_per_s), format!("{} us", network.latency_us));
        vec![place.to_owned(), network.name.clone(), network.title.clone(), rate, part, latency, network.source.clone()]
    };
    let rate = |rate: &Rate| {
        let images = units::rate(rate.images_per_s);
        vec![rate.gpu.clone(), rate.model.clone(), rate.batch.to_string(), images, rate.source.clone()]
    };
    let constant = |(name, constant): (&String, &Value)| {
        let source = constant["source"].as_str().unwrap_or_default().to_owned();
        vec![name.clone(), units::figure(constant["value"].as_f64().unwrap_or_default()), source]
    };
    // A table, because the constants are one.
    let constants = serde_json::to_value(&numbers.constants).unwrap_or_default();
    let constants = constants.as_object().into_iter().flatten().map(constant);
    let heading = ["flag", "network", "title", "link", "used", "latency", "source"];
    let networks = render(&heading, numbers.networks.iter().map(network));
    let rates = render(&["GPU", "model", "batch", "img/s", "source"], numbers.rates.iter().map(rate));
    [networks, rates, render(&["constant", "value", "source"], constants)].join("\n")
}
