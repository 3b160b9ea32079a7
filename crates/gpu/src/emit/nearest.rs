//! Writes lists of the k nearest of every anchor.
//!
//! ```text
//! in registers (k ≤ 16, double precision):  a value better than the worst is inserted by one pass of exchanges
//! in device memory (k > 16):                a heap for each anchor; a value better than its root replaces it
//! candidates (single precision):
//!     limit[q] = worst so far + the bound of the error
//!     a value ≤ limit[q] appends (q, other) to the thread's queue of 32 in shared memory
//!     when the queue is nearly full, or others seen have doubled:
//!         compute the queued pairs in double precision, keep the better ones, lower the limits
//! ```
//!
//! Threads of a warp wait for the slowest, so insertions are collected: all threads empty their
//! queues together. Emptying also when the number of others has doubled keeps limits fresh at the
//! beginning, when they fall fast.
//!
//! Over a list of runs, lists are in device memory: a first pass fills them from the panels near a
//! group of anchors and tells the worst of each, a second one goes on with what the host, knowing
//! these, leaves open.

use super::fill;
use super::sweep::{FoldText, each_marked, number, step};
use std::fmt::Write;
use zipfold_core::Job;
use zipfold_core::fold::{Nearest, Reduce, ReduceOp};
use zipfold_core::pair::tree::Side;
use zipfold_plan::device::sweeps::{CutoffBand, Shape};
use zipfold_plan::sweep::FEW;

/// Candidates that a thread's queue holds.
const QUEUE: usize = 32;
const NONE: &str = "0xffffffffu";
const PLACE: &str = "const size_t slot = (size_t)ZF_GROUP_Y * (a1 - a0) + (a[q] - a0);";
const LANES: &str = "const size_t lanes = (size_t)ZF_GROUPS_Y * (a1 - a0);";

/// Functions of the lists, before the kernel: those of the queue too where there is a filter.
pub fn functions(f: &Nearest, shape: &Shape) -> String {
    if f.k <= FEW && !shape.filter && !shape.listed {
        return String::new();
    }
    let (i, j) = if shape.anchor == Side::X {
        ("mine", "b")
    } else {
        ("b", "mine")
    };
    let exact = "zf_exact(x_wide, y_wide, c_wide, i, j)";
    let places = [
        ("K", f.k.to_string()),
        ("HEAP", u8::from(f.k > FEW).to_string()),
        ("I", i.into()),
        ("J", j.into()),
        (
            "EXACT",
            if f.largest {
                format!("-{exact}")
            } else {
                exact.into()
            },
        ),
        ("CALLED", called(shape).into()),
        (
            "GIVEN",
            if shape.listed {
                ", ZF_IN(zf_u32) given_y".into()
            } else {
                String::new()
            },
        ),
    ];
    let queue = if shape.filter {
        include_str!("../kernels/queue.c")
    } else {
        ""
    };
    fill(
        &[include_str!("../kernels/nearest.c"), queue].concat(),
        &places,
    )
}

/// The k nearest of every anchor; `band` bounds the error of single precision: absolute, relative.
/// `cut` says which pairs it leaves out.
pub fn nearest(
    job: &Job,
    f: &Nearest,
    shape: &Shape,
    band: Option<(f64, f64)>,
    cut: Option<CutoffBand>,
) -> FoldText {
    let value = number(job, f.root, shape.precision);
    let value = if f.largest {
        format!("(-{value})")
    } else {
        value
    };
    let worst = if shape.listed {
        ", ZF_OUT(double) worst_v"
    } else {
        ""
    };
    let mut out = FoldText {
        args: format!(", ZF_OUT(double) near_v, ZF_OUT(zf_u32) near_i{worst}"),
        cut,
        named: shape.listed,
        ..FoldText::default()
    };
    match band {
        Some(band) => queued(&mut out, (job, f, shape), &value, band),
        None if shape.listed => in_lists(&mut out, shape.anchors, &value),
        None if f.k <= FEW => in_registers(&mut out, f.k, shape.anchors, &value),
        None => in_memory(&mut out, f.k, shape.anchors, &value),
    }
    out
}

/// What an other `b` is called in lists.
fn called(shape: &Shape) -> &'static str {
    if shape.listed { "given_y[b]" } else { "b" }
}

/// The first pass over a list of runs, which begins lists; the second goes on with them.
const FIRST_PASS: &str = "span == 1u";

/// Tells the worst of the lists of a group after the first pass; ∞ of one that is not full.
fn told_worst(ip: usize) -> String {
    let tell = format!(
        "if (a[q] < a1) {{ {PLACE} const size_t at = ZF_WORST * lanes + slot; \
         worst_v[slot] = near_i[at] != {NONE} ? near_v[at] : ZF_INF_D; }}"
    );
    format!("if ({FIRST_PASS}) {{ {} }}", every(ip, &tell))
}

/// Whether lists are heaps.
pub fn is_heap(f: &Nearest) -> bool {
    f.k > FEW
}

/// An extreme is the nearest of one.
pub fn of_rows(f: &Reduce) -> Nearest {
    let largest = matches!(f.op, ReduceOp::Max | ReduceOp::Argmax);
    Nearest {
        root: f.root,
        k: 1,
        largest,
        squared: false,
    }
}

fn every(ip: usize, text: &str) -> String {
    format!("ZF_UNROLL for (int q = 0; q < {ip}; q++) {{ {text} }}\n")
}

/// Statements `take` run where `v` is better than the worst kept.
fn decide(value: &str, take: &str) -> String {
    format!(
        "{{ const double v = (double){value};\n\
         if (!full[q] || v < worst[q] || (worst[q] != worst[q] && v == v)) {{ {take} }} }}"
    )
}

fn in_registers(out: &mut FoldText, k: usize, ip: usize, value: &str) {
    let last = k - 1;
    out.state = format!(
        "double worst[{ip}]; int full[{ip}]; double best_v[{ip}][{k}]; zf_u32 best_i[{ip}][{k}];\n"
    ) + &every(
        ip,
        &format!(
            "worst[q] = 0.0; full[q] = 0; ZF_UNROLL for (int p = 0; p < {k}; p++) {{ best_v[q][p] = 0.0; best_i[q][p] = {NONE}; }}"
        ),
    );
    let take = format!(
        "double cv = v; zf_u32 ci = b; int moved = 0;\n\
         ZF_UNROLL for (int p = 0; p < {k}; p++) {{ if (moved || best_i[q][p] == {NONE} || cv < best_v[q][p] || (best_v[q][p] != best_v[q][p] && cv == cv)) \
         {{ const double tv = best_v[q][p]; const zf_u32 ti = best_i[q][p]; best_v[q][p] = cv; best_i[q][p] = ci; cv = tv; ci = ti; moved = 1; }} }}\n\
         full[q] = best_i[q][{last}] != {NONE}; worst[q] = best_v[q][{last}];"
    );
    out.absorb = decide(value, &take);
    out.finish = every(
        ip,
        &format!(
            "if (a[q] < a1) {{ {PLACE} {LANES} ZF_UNROLL for (int p = 0; p < {k}; p++) {{ near_v[p * lanes + slot] = best_v[q][p]; near_i[p * lanes + slot] = best_i[q][p]; }} }}"
        ),
    );
}

/// Lists in device memory that runs of panels go on with. An other that is as good as the worst may
/// belong: the rows are sorted, so it may come before it in the order given.
fn in_lists(out: &mut FoldText, ip: usize, value: &str) {
    let worst = format!(
        "full[q] = near_i[ZF_WORST * lanes + slot] != {NONE}; worst[q] = near_v[ZF_WORST * lanes + slot];"
    );
    let begin = format!(
        "worst[q] = 0.0; full[q] = 0; if (a[q] < a1) {{ {PLACE} if ({FIRST_PASS}) zf_empty(near_v, near_i, slot, lanes); {worst} }}"
    );
    out.run_state = format!("double worst[{ip}]; int full[{ip}]; {LANES}\n") + &every(ip, &begin);
    out.absorb = format!(
        "{{ const double v = (double){value};\n\
         if (!full[q] || v <= worst[q] || worst[q] != worst[q]) {{ {PLACE} zf_keep(near_v, near_i, slot, lanes, v, given_y[b]); {worst} }} }}"
    );
    out.run_finish = told_worst(ip);
}

fn in_memory(out: &mut FoldText, k: usize, ip: usize, value: &str) {
    out.state = format!("double worst[{ip}]; int full[{ip}]; {LANES}\n")
        + &every(
            ip,
            &format!(
                "worst[q] = 0.0; full[q] = 0; if (a[q] < a1) {{ {PLACE} zf_empty(near_v, near_i, slot, lanes); }}"
            ),
        );
    let take = format!(
        "{PLACE} zf_keep(near_v, near_i, slot, lanes, v, b); \
         full[q] = near_i[ZF_WORST * lanes + slot] != {NONE}; worst[q] = near_v[ZF_WORST * lanes + slot];"
    );
    out.absorb = decide(value, &take);
    out.finish = settled(k, ip);
}

fn settled(k: usize, ip: usize) -> String {
    if k <= FEW {
        return String::new();
    }
    every(
        ip,
        &format!("if (a[q] < a1) {{ {PLACE} zf_settle(near_v, near_i, slot, lanes); }}"),
    )
}

/// Values that may beat the worst kept, by the bound of single precision, wait in the thread's
/// queue. All threads empty theirs at the same panels, the further along the rarer, since
/// neighbours that are not final become rare; so threads of a warp seldom wait for one of them.
fn queued(
    out: &mut FoldText,
    (job, f, shape): (&Job, &Nearest, &Shape),
    value: &str,
    (abs, rel): (f64, f64),
) {
    let (ip, step) = (shape.anchors, step(&job.low, shape));
    let room = QUEUE - ip * step;
    out.tail = "ZF_UNROLL".into();
    let _ = write!(out.shared, "ZF_SHARED zf_u32 queue[{}];", QUEUE * 128);
    let empty = if shape.listed {
        format!("if ({FIRST_PASS} && a[q] < a1)")
    } else {
        "if (a[q] < a1)".into()
    };
    let state = format!(
        "{LANES}\n    const size_t seat = (size_t)ZF_GROUP_Y * (a1 - a0) + (first - a0) + tid;\n    \
         float limit[{ip}]; zf_u32 held = 0u, check = 128u;\n"
    ) + &every(
        ip,
        &format!("limit[q] = ZF_INF_F; {empty} zf_empty(near_v, near_i, seat + q * 128u, lanes);"),
    );
    let limits = every(
        ip,
        &format!(
            "if (a[q] < a1) {{ const size_t at = ZF_WORST * lanes + seat + q * 128u; if (near_i[at] != {NONE}) {{ \
         const double w = near_v[at] + {abs:e} + zf_abs_d(near_v[at]) * {rel:e}; \
         limit[q] = (float)w; limit[q] += zf_abs_f(limit[q]) * 1e-6f + 1e-37f; }} }}"
        ),
    );
    let given = if shape.listed { ", given_y" } else { "" };
    let flush = format!(
        "zf_flush(x_wide, y_wide, c_wide, near_v, near_i, queue + tid, held, first + tid, from, seat, lanes{given});\nheld = 0u;\n{limits}"
    );
    // A thread meets about k candidates an anchor while the others seen double.
    let (part, whole) = (room.max(1), 2 * f.k * ip);
    out.before = format!(
        "if (base - from >= check) {{ {flush}const zf_u32 seen = (base - from) / 128u, more = seen * {part}u / {whole}u; \
         check = base - from + (more > 1u ? more : 1u) * 128u; }}"
    );
    out.open = format!(
        "float val[{ip}][{step}]; int hit = 0;\nZF_UNROLL for (int q = 0; q < {ip}; q++) ZF_UNROLL for (int u = 0; u < {step}; u++) val[q][u] = ZF_NAN_F;"
    );
    out.absorb = format!("val[q][u] = {value};\nhit |= val[q][u] <= limit[q];");
    let cut = match out.cut {
        // They may be among the best: single precision says nothing of them.
        Some(_) => {
            out.open += " zf_u32 odd = 0u;";
            each_marked(job, shape, step)
                + &format!(
                    " queue[held * 128u + tid] = n / {step}u << 20 | (b - from); held++; hit = 1; (void)i; (void)j; }}\n"
                )
        }
        None => String::new(),
    };
    out.settle = cut
        + &format!(
            "if (hit) {{ ZF_UNROLL for (zf_u32 q = 0u; q < {ip}u; q++) ZF_UNROLL for (zf_u32 u = 0u; u < {step}u; u++) \
         if (val[q][u] <= limit[q]) {{ queue[held * 128u + tid] = q << 20 | (base - from + jj + u); held++; }}\n\
         if (held > {room}u) {{ {flush} }} }}"
        );
    let rest = flush.replace(&limits, "");
    if shape.listed {
        out.run_state = state + &limits;
        out.run_finish = rest + &told_worst(ip);
    } else {
        out.state = state;
        out.finish = format!("{rest}{}", settled(f.k, ip));
    }
}
