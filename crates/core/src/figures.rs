//! Numbers as people read them: `109 M`, `48 ms`, `1 770`, `54.5 %`.
//!
//! Three significant digits suffice for a message. Limits such as 99.95 are where rounding to the
//! shown digits would carry to the next unit: 999.6 ms is written as 1.00 s, not as 1000 ms.
//!
//! All messages, reports and pictures take their numbers from here, so the same time looks the same
//! in each. Results in files never do: they have all digits.

/// Writes three digits and a step of a thousand: `642 M`, `2.30 G`; whole numbers below 100 000 in
/// full: `15 753`.
///
/// The sign of a whole number below 100 000 is not written, since such counts have none.
pub fn si(value: f64) -> String {
    // From here on five digits would round to 100 000.
    if value.abs() < 99_999.5 {
        return if value == value.trunc() {
            grouped(value.abs() as u64)
        } else {
            digits(value)
        };
    }
    // The first step that the value reaches after rounding to three digits: 999.6 k is 1.00 M.
    let steps = [
        (1e18, "E"),
        (1e15, "P"),
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
    ];
    let step = steps
        .iter()
        .find(|(size, _)| value.abs() >= size * 0.9995)
        .copied()
        .unwrap_or((1.0, ""));
    // No prefix that people know is left.
    if value.abs() >= 1e21 {
        return format!("{value:.1e}");
    }
    format!("{} {}", digits(value / step.0), step.1)
}

/// Writes three significant digits without an exponent.
fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.0995 || v == 0.0 => format!("{value:.2}"),
        // Leading zeros would hide how small it is.
        _ => format!("{value:.1e}"),
    }
}

/// Writes an integer with its digits in groups of three.
///
/// A space and not a comma: a comma is a decimal sign in half of the world (ISO 80000-1).
pub fn grouped(value: u64) -> String {
    let text = value.to_string();
    let mut out = String::new();
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && (text.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Writes a time: `850 µs`, `48 ms`, `4.44 s`, `3 min 20 s`, `2 h 05 min`, `3 d 4 h`.
///
/// Three digits up to a minute. Predictions are rarely better than that.
pub fn duration(seconds: f64) -> String {
    match seconds {
        // A rate of 0 gives ∞: nothing was measured yet.
        s if !s.is_finite() => "an unknown time".into(),
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 0.9995 => {
            format!(
                "{} ms",
                if s < 0.01 {
                    format!("{:.1}", s * 1e3)
                } else {
                    format!("{:.0}", s * 1e3)
                }
            )
        }
        s if s < 59.95 => format!(
            "{} s",
            if s < 9.995 {
                format!("{s:.2}")
            } else {
                format!("{s:.1}")
            }
        ),
        // From a minute on two units, rounded to the smaller one.
        s if s < 3599.5 => {
            let whole = s.round() as u64;
            format!("{} min {:02} s", whole / 60, whole % 60)
        }
        s if s < 86_400.0 => {
            let minutes = (s / 60.0).round() as u64;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
        s if s < 86_400.0 * 1000.0 => {
            let hours = (s / 3600.0).round() as u64;
            format!("{} d {} h", hours / 24, hours % 24)
        }
        // Julian years of 365.25 days. The number is for a refusal, and its size is what counts.
        s => format!("{} years", si(s / 31_557_600.0)),
    }
}

/// Writes a share: `98.9 %`. A part that is not all is never `100 %`.
pub fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    match part {
        0 => "0 %".into(),
        _ if part >= whole => "100 %".into(),
        // One pair that is left of a billion still matters, and 100 % would deny it.
        _ if share > 99.9 => format!("{:.3} %", share.min(99.999)),
        _ if share < 0.1 => format!("{} %", digits(share)),
        _ => format!("{share:.1} %"),
    }
}

/// Writes a value of a result in a table on a terminal: six significant digits, whole numbers in
/// full.
pub fn value(v: f64) -> String {
    if v.is_nan() {
        return "NaN".into();
    }
    // Counts and indices in full: a rounded index names another row.
    if v == 0.0 || !v.is_finite() || (v == v.trunc() && v.abs() < 1e15) {
        return format!("{v}");
    }
    // Outside of these, digits before or after the point would push columns apart.
    if !(1e-4..1e7).contains(&v.abs()) {
        return format!("{v:.5e}");
    }
    let places = (5 - v.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{v:.places$}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_rates() {
        assert_eq!(si(15_753.0), "15 753");
        assert_eq!(si(108_962_282.0), "109 M");
        assert_eq!(si(2.3e9), "2.30 G");
        assert_eq!(si(999_960_000.0), "1.00 G");
        assert_eq!(si(0.0), "0");
        assert_eq!(si(1e30), "1.0e30");
        assert_eq!(grouped(1770), "1 770");
        assert_eq!(grouped(54_481_141), "54 481 141");
        assert_eq!(grouped(7), "7");
    }

    #[test]
    fn times() {
        assert_eq!(duration(0.048), "48 ms");
        assert_eq!(duration(0.0012), "1.2 ms");
        assert_eq!(duration(0.00085), "850 µs");
        assert_eq!(duration(4.441), "4.44 s");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7500.0), "2 h 05 min");
        assert_eq!(duration(f64::INFINITY), "an unknown time");
    }

    #[test]
    fn shares_are_whole_only_where_they_are() {
        assert_eq!(percent(0, 10), "0 %");
        assert_eq!(percent(989, 1000), "98.9 %");
        assert_eq!(percent(10, 10), "100 %");
        assert_eq!(percent(999_999_999, 1_000_000_000), "99.999 %");
    }

    #[test]
    fn values_have_six_digits() {
        assert_eq!(value(0.1 + 0.2), "0.3");
        assert_eq!(value(1234.56789), "1234.57");
        assert_eq!(value(3.0), "3");
        assert_eq!(value(1.5e-9), "1.50000e-9");
        assert_eq!(value(f64::NAN), "NaN");
    }
}
