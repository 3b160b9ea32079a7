//! A device beside the host for the joins of a sum-product plan.

use crate::device;
use crate::warnings::Warnings;
use zipfold_core::{Blame, Error, Opt, Precision, Result};
use zipfold_gpu::contract::Contractor;
use zipfold_gpu::{Facts, Wanted};
use zipfold_plan::overrides::{Overrides, ProductJoins};
use zipfold_product::plan::places::Places;
use zipfold_product::plan::{Pass, Plan, Rates};

/// The plan choices that an inference takes.
const TAKEN: [&str; 4] = [
    "device.driver",
    "device.launches",
    "device.memory",
    "product.joins",
];

/// Refuses plan choices that an inference has no use for.
///
/// # Errors
/// `Request` with the first of them.
pub(crate) fn check(overrides: &Overrides) -> Result<()> {
    match overrides
        .texts()
        .into_iter()
        .find(|(key, _)| !TAKEN.contains(key))
    {
        None => Ok(()),
        Some((key, value)) => {
            let e = Error::request(format!("'{key}={value}' is a choice of plans over pairs"))
                .at(Opt::Set);
            let e = e.limit(TAKEN.join(", "));
            Err(e.remedy(format!(
                "{}, a seed and {} steer the search of an order",
                Opt::OrderTime,
                Opt::Memory
            )))
        }
    }
}

/// A device beside the host as an answer names it.
#[derive(Clone, Debug, PartialEq)]
pub struct OnDevice {
    /// Its name: `cuda:0`.
    pub device: String,
    /// Joins that run there.
    pub joins: usize,
    /// Their share of all operations.
    pub share: f64,
    /// Predicted seconds of the execution, on both.
    pub seconds: f64,
}

/// What is asked of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub device: Wanted,
    pub overrides: &'a Overrides,
    pub precision: Precision,
    pub warnings: &'a Warnings,
}

/// An open device, and the joins that run there.
#[derive(Debug)]
pub(crate) struct Beside {
    pub device: Contractor,
    pub places: Places,
}

impl Beside {
    /// The device that the settings ask for, where a join of `plan` is to run there. Where nobody
    /// names a device, one is opened that shortens the run by more than its start takes.
    ///
    /// # Errors
    /// `Device` when a device named outright is missing.
    pub(crate) fn of(plan: &Plan, pass: Pass, settings: Asked<'_>) -> Result<Option<Self>> {
        let host = plan.prediction.seconds;
        let overrides = settings.overrides;
        let driver = overrides.device_driver.map(|v| v.get() as u64);
        let facts = match settings.device {
            Wanted::Cpu => return Ok(None),
            // Drivers take long before they answer: shorter work does not ask them.
            Wanted::Auto if host <= 2.0 * zipfold_plan::device::OPENING => return Ok(None),
            Wanted::Auto => match device::gpus(driver).into_iter().next() {
                Some(facts) => facts,
                None => return Ok(None),
            },
            // One device takes the joins; of several it is the first.
            Wanted::Devices(runtime, which) => {
                device::drill(runtime, driver)?;
                let found = zipfold_gpu::find(runtime, which)?.into_iter().next();
                found.ok_or_else(|| Error::internal("a device that was found and is not there"))?
            }
        };
        let places = places(plan, pass, &facts, settings);
        let pays = settings.device != Wanted::Auto
            || places.seconds + zipfold_plan::device::OPENING < host;
        if places.many() == 0 || !pays {
            return Ok(None);
        }
        let opened = zipfold_gpu::open(facts.runtime, facts.index)
            .map(|device| device::drilled(device, overrides));
        match opened.and_then(|device| Contractor::new(device, settings.precision)) {
            Ok(device) => Ok(Some(Beside { device, places })),
            Err(e) if settings.device == Wanted::Auto || e.blame() == Blame::Resource => {
                device::warn(settings.warnings, &e, 0);
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
    /// What an answer says of it.
    pub(crate) fn told(&self) -> OnDevice {
        let Places { seconds, share, .. } = self.places;
        OnDevice {
            device: self.device.facts().id(),
            joins: self.places.many(),
            share,
            seconds,
        }
    }
}

fn places(plan: &Plan, pass: Pass, facts: &Facts, settings: Asked<'_>) -> Places {
    let link = Contractor::link(facts, settings.precision);
    let by_time = Places::new(plan, &Rates::default(), &link, pass);
    match settings.overrides.product_joins {
        None | Some(ProductJoins::Time) => by_time,
        Some(ProductJoins::All) => Places {
            remote: plan.nodes.iter().map(|n| n.is_join()).collect(),
            share: 1.0,
            ..by_time
        },
    }
}
