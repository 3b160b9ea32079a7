//! A bar with the phase, the rate, the time passed and the time left, on a terminal; nothing
//! elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use zipfold::Progress;
use zipfold::Warnings;
use zipfold::internals::core::figures;

/// A progress bar; it is removed when it goes out of scope, so also when a run is interrupted.
pub(crate) struct Bar(Option<(ProgressBar, Mutex<Clock>)>);

/// When the phase under way began, and when its text was made last.
struct Clock {
    phase: &'static str,
    start: Instant,
    told: Option<Instant>,
}

/// How often the text changes.
const BEAT: Duration = Duration::from_millis(100);

impl Bar {
    /// A bar, unless `silent` or standard error is no terminal.
    pub(crate) fn new(silent: bool) -> Self {
        if silent || !std::io::stderr().is_terminal() {
            return Bar(None);
        }
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{prefix}{bar:30} {percent:>3} %  {msg}") {
            bar.set_style(style);
        }
        Bar(Some((
            bar,
            Mutex::new(Clock {
                phase: "",
                start: Instant::now(),
                told: None,
            }),
        )))
    }
    /// Shows how far the run is.
    pub(crate) fn tell(&self, progress: Progress) {
        let Some((bar, clock)) = &self.0 else { return };
        let Ok(mut clock) = clock.lock() else { return };
        if clock.phase != progress.phase {
            *clock = Clock {
                phase: progress.phase,
                start: Instant::now(),
                told: None,
            };
            bar.set_prefix(heading(progress.phase));
        } else if clock.told.is_some_and(|t| t.elapsed() < BEAT) && progress.pairs < progress.total
        {
            return;
        }
        clock.told = Some(Instant::now());
        bar.set_length(progress.total);
        bar.set_position(progress.pairs);
        bar.set_message(message(progress, clock.start.elapsed().as_secs_f64()));
    }
    /// Warnings that are printed as they come, above the bar.
    pub(crate) fn warnings(&self) -> Warnings {
        above(self.0.as_ref().map(|(bar, _)| bar.clone()))
    }
    /// Removes the bar.
    pub(crate) fn end(&self) {
        if let Some((bar, _)) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.end();
    }
}

/// Warnings that are printed as they come, above `bar` if there is one.
fn above(bar: Option<ProgressBar>) -> Warnings {
    Warnings::told(move |text| {
        let print = || crate::terminal::warning(text);
        match &bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    })
}

/// The phase in front of the bar; the main one needs no name.
fn heading(phase: &str) -> String {
    match phase {
        "pairs" | "" => String::new(),
        other => format!("{other}  "),
    }
}

/// `642 M pairs/s · 12 s · 8 s left`: of this phase and this run, without what an earlier run did.
fn message(progress: Progress, seconds: f64) -> String {
    let done = progress.pairs.saturating_sub(progress.before) as f64;
    let left = progress.total.saturating_sub(progress.pairs) as f64;
    if done == 0.0 || seconds < 0.05 {
        return String::new();
    }
    let rate = done / seconds;
    let passed = figures::duration(seconds.max(1.0).round());
    format!(
        "{} pairs/s · {} · {} left",
        figures::si(rate),
        whole(&passed),
        whole(&figures::duration((left / rate).ceil().max(1.0)))
    )
}

/// `12.0 s` as `12 s`: whole seconds are enough for a time that changes.
fn whole(text: &str) -> String {
    text.replace(".00 s", " s").replace(".0 s", " s")
}

/// A line with the phase of an inference and the time it has taken, on a terminal; nothing
/// elsewhere. It is removed when it goes out of scope, and by Ctrl-C.
pub(crate) struct Phases(Option<Shown>);

struct Shown {
    bar: ProgressBar,
    phase: Arc<Mutex<(String, Instant)>>,
    end: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Phases {
    /// A line, unless `silent` or standard error is no terminal.
    pub(crate) fn new(silent: bool) -> Self {
        if silent || !std::io::stderr().is_terminal() {
            return Phases(None);
        }
        let phase = Arc::new(Mutex::new((String::new(), Instant::now())));
        let end = Arc::new(AtomicBool::new(false));
        let stopped = Arc::new(AtomicUsize::new(0));
        for (signal, status) in [(SIGINT, 130), (SIGTERM, 143)] {
            // A signal that cannot be caught ends the run as usual, with the line on the screen.
            let _ = signal_hook::flag::register_usize(signal, stopped.clone(), status);
            // Once the line is gone, signals do what they did before.
            let _ = signal_hook::flag::register_conditional_default(signal, end.clone());
        }
        let (seen, done) = (phase.clone(), end.clone());
        let bar = ProgressBar::new_spinner();
        let drawn = bar.clone();
        let thread = std::thread::spawn(move || draw(&drawn, &seen, &done, &stopped));
        Phases(Some(Shown {
            bar,
            phase,
            end,
            thread: Some(thread),
        }))
    }
    /// Warnings that are printed as they come, above the line.
    pub(crate) fn warnings(&self) -> Warnings {
        above(self.0.as_ref().map(|shown| shown.bar.clone()))
    }
    /// What is to be told of every phase.
    pub(crate) fn listener(&self) -> Option<impl Fn(&str, f64) + Send + Sync + use<>> {
        let phase = self.0.as_ref()?.phase.clone();
        Some(move |name: &str, predicted: f64| {
            let of = if predicted > 0.5 {
                format!(" of about {}", figures::duration(predicted))
            } else {
                String::new()
            };
            if let Ok(mut phase) = phase.lock() {
                *phase = (format!("{name} · {{}}{of}"), Instant::now());
            }
        })
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        if let Some(shown) = &mut self.0 {
            shown.end.store(true, Ordering::Relaxed);
            if let Some(thread) = shown.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

fn draw(
    bar: &ProgressBar,
    phase: &Mutex<(String, Instant)>,
    end: &AtomicBool,
    stopped: &AtomicUsize,
) {
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    while !end.load(Ordering::Relaxed) {
        let status = stopped.load(Ordering::Relaxed);
        if status > 0 {
            bar.finish_and_clear();
            crate::terminal::say("error: interrupted");
            std::process::exit(i32::try_from(status).unwrap_or(130));
        }
        if let Ok(phase) = phase.lock()
            && !phase.0.is_empty()
        {
            let passed = figures::duration(phase.1.elapsed().as_secs_f64().max(1.0).round());
            bar.set_message(phase.0.replace("{}", &whole(&passed)));
            bar.tick();
        }
        std::thread::sleep(BEAT);
    }
    bar.finish_and_clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_this_run() {
        let progress = Progress::new("pairs", [1_000_000_000, 1_200_000_000, 900_000_000]);
        assert_eq!(message(progress, 10.0), "10.0 M pairs/s · 10 s · 20 s left");
        let fresh = Progress::new("pairs", [642_000_000, 642_000_000 * 60, 0]);
        assert_eq!(message(fresh, 1.0), "642 M pairs/s · 1 s · 59 s left");
    }
}
