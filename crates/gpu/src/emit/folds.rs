//! Writes what each fold adds to the sweep.
//!
//! ```text
//! sums        part[q] += value                     after each panel: total[q] += part[q] in double precision
//! extremes    if value better than best[q]: best[q], index[q] = value, other
//! exponentials  if value > top[q]: shrink the sum; sum += exp(value − top)        after each panel: into double precision
//! ends        least, most = the smaller, the larger of it and value
//! counts      if predicate: count[q] += 1          single precision: sure counts, maybe is marked
//! histogram   t = position of the value in bins, from single precision
//!             if t is further from an edge than the bound of its error: bins[round(t)] += 1    (shared memory, several copies)
//!             else mark the pair; settle: bin of its value in double precision
//! ```
//!
//! The position is computed so that its rounding to an integer is the bin, and the distance from
//! the nearest integer is the test: no edge is read from memory for most pairs. Where edges are
//! spaced in no known way, the integer is a cell, whose edge and bin a table in shared memory has.
//! The bound includes the error of the value (`plan/src/device/rounding.rs`), of the root and of the position itself.

use super::bin_sums::SumText;
use super::join::Truth;
use super::pair::{RootText, fast_pair_text, pair_text};
use super::sweep::{FoldText, beyond_cut, each_marked, mark, marked_pair, number};
use super::type_name;
use std::fmt::Write;
use zipfold_core::fold::{Extremes, Histogram, Reduce, ReduceOp};
use zipfold_core::{Job, Precision};
use zipfold_plan::device::bins::{Band, Cells, Scale};
use zipfold_plan::device::sweeps::{self, CutoffBand, Shape};

/// Adds the tally of pairs beyond the cut-off and of NaN: four numbers a thread.
pub fn with_tally(mut fold: FoldText, shape: &Shape) -> FoldText {
    if shape.clean {
        fold.chunk = fold.chunk.replace("@LEAVE@", "");
        return fold;
    }
    fold.args += ", ZF_OUT(zf_u32) tally";
    fold.state += "\n    zf_u32 far = 0, nan = 0, nan_i = 0xffffffffu, nan_j = 0xffffffffu;";
    let store = "{ const size_t seat = ((size_t)(ZF_GROUP_Y * ZF_GROUPS_X + ZF_GROUP_X) * 128u + tid) * 4u;\n    \
        tally[seat] += far; tally[seat + 1] += nan; if (nan_i < tally[seat + 2] || (nan_i == tally[seat + 2] && \
        nan_j < tally[seat + 3])) { tally[seat + 2] = nan_i; tally[seat + 3] = nan_j; } }";
    fold.chunk = fold.chunk.replace("@LEAVE@", store);
    fold.finish += store;
    fold
}

/// A fold by rows: `out` holds the state of every anchor and span, `counts` how many pairs it saw.
/// `truth` is what single precision knows of a predicate that is counted.
pub fn rows(job: &Job, f: &Reduce, shape: &Shape, truth: Option<&Truth>) -> FoldText {
    let value = number(job, f.root, shape.precision);
    let stride = f.stride().max(1);
    let ip = shape.anchors;
    let ty = type_name(shape.precision);
    let mut out = FoldText {
        args: format!(", ZF_IN({ty}) weights, ZF_OUT(double) out, ZF_OUT(zf_u32) counts"),
        state: format!("double total[{ip}][{stride}]; zf_u32 seen[{ip}];"),
        ..FoldText::default()
    };
    let every = |text: &str| format!("ZF_UNROLL for (int q = 0; q < {ip}; q++) {{ {text} }}\n");
    let one = f.weights.is_some() && f.weight_width == 1;
    if one {
        out.open = step_weights(super::sweep::step(&job.low, shape), shape.precision);
    }
    let weight = |p: &str| match &f.weights {
        None => "1.0".to_string(),
        Some(_) if one => "weight[u]".to_string(),
        Some(_) => format!("weights[(size_t)b * {}u + {p}]", f.weight_width),
    };
    match f.op {
        ReduceOp::Sum | ReduceOp::Mean => sums(&mut out, job, f, shape, &weight, every),
        ReduceOp::Min | ReduceOp::Max | ReduceOp::Argmin | ReduceOp::Argmax => {
            extremes(&mut out, f.op, &value, every)
        }
        ReduceOp::Count => {
            out.state += &every("seen[q] = 0u; total[q][0] = 0.0;");
            match truth {
                None => out.absorb = format!("if ({value} != 0) seen[q]++;"),
                Some(truth) => counted(&mut out, truth, job, shape),
            }
        }
        ReduceOp::Logsumexp | ReduceOp::Softmax => exponentials(
            &mut out,
            f,
            &value,
            shape,
            |p| weight(&p.to_string()),
            every,
        ),
    }
    let store = format!(
        "if (a[q] < a1) {{ const size_t slot = (size_t)ZF_GROUP_Y * (a1 - a0) + (a[q] - a0); counts[slot] = seen[q];\n        \
         for (int p = 0; p < {stride}; p++) out[slot * {stride}u + p] = total[q][p]; }}"
    );
    out.finish += &every(&store);
    out
}

/// Reads the weights of the others of a step, as one load.
fn step_weights(step: usize, precision: Precision) -> String {
    let vector = super::loads::vector(precision, step);
    let mut out = format!(
        "{} weight[{step}]; {{ const {vector} v = *(ZF_GLOBAL const {vector}*)&weights[base + jj]; ",
        type_name(precision)
    );
    for (u, part) in super::loads::parts(step).iter().enumerate() {
        let _ = write!(out, "weight[{u}] = v{part}; ");
    }
    out + "}\n"
}

/// Counts what surely holds; what may hold is decided by double precision.
fn counted(out: &mut FoldText, truth: &Truth, job: &Job, shape: &Shape) {
    let (ip, step) = (shape.anchors, super::sweep::step(&job.low, shape));
    out.open = "zf_u32 odd = 0u;".into();
    out.absorb = format!(
        "if ({}) seen[q]++; else if ({}) {}",
        truth.sure,
        truth.maybe,
        mark(step)
    );
    out.settle = each_marked(job, shape, step)
        + &format!(
            "\nif (zf_exact(x_wide, y_wide, c_wide, i, j) != 0.0) ZF_UNROLL for (zf_u32 q = 0; q < {ip}u; q++) seen[q] += q == n / {step}u; }}"
        );
}

/// The terms of a sum: `{part} += {value} * weight` for every number.
fn terms(job: &Job, f: &Reduce, shape: &Shape, weight: &dyn Fn(&str) -> String) -> String {
    let (ty, periodic) = (type_name(shape.precision), job.periodic_box.as_ref());
    let pair = if shape.fast {
        fast_pair_text(&job.low, periodic)
    } else {
        pair_text(&job.low, periodic, shape.precision)
    };
    // A product is added with one rounding; a weight goes into the factor that components share.
    let factors = &pair.factors[f.root];
    let one = |part: &str, value: &str| {
        let weight = f
            .weights
            .as_ref()
            .map(|_| format!("({ty}){}", weight(part)));
        let product = match (factors, weight) {
            (Some([own, shared]), Some(weight)) => {
                Some([own.clone(), format!("({shared} * {weight})")])
            }
            (Some(factors), None) => Some(factors.clone()),
            (None, Some(weight)) => Some([value.to_string(), weight]),
            (None, None) => None,
        };
        match (product, shape.fast) {
            (Some([a, b]), true) => {
                format!("part[q][{part}] = zf_fma_f({a}, {b}, part[q][{part}]);\n")
            }
            (Some([a, b]), false) => format!("part[q][{part}] += {a} * {b};\n"),
            (None, _) => format!("part[q][{part}] += {value};\n"),
        }
    };
    match &pair.roots[f.root] {
        // One value meets every number of the weight.
        RootText::Numbers(n) => (0..f.out_width())
            .map(|p| one(&p.to_string(), &n[p.min(n.len() - 1)]))
            .collect(),
        // Sums stay in registers if their loop is unrolled.
        RootText::Components(body, value) => format!(
            "ZF_UNROLL for (zf_u32 k = 0; k < DIM; k++) {{\n{body}{}}}\n",
            one("k", value)
        ),
    }
}

fn sums(
    out: &mut FoldText,
    job: &Job,
    f: &Reduce,
    shape: &Shape,
    weight: &dyn Fn(&str) -> String,
    every: impl Fn(&str) -> String,
) {
    let (width, stride, ip) = (f.out_width(), f.stride(), shape.anchors);
    let ty = type_name(shape.precision);
    let _ = writeln!(out.state, " {ty} part[{ip}][{stride}];");
    let each = |text: &str| every(&format!("for (int p = 0; p < {stride}; p++) {text}"));
    out.state += &each("{ total[q][p] = 0.0; part[q][p] = 0; }");
    out.state += &every("seen[q] = 0u;");
    out.absorb += &terms(job, f, shape, weight);
    if f.op == ReduceOp::Mean {
        for p in 0..f.weight_width {
            let weight = weight(&p.to_string());
            let _ = writeln!(out.absorb, "part[q][{}] += ({ty}){weight};", width + p);
        }
    }
    if !shape.clean {
        out.absorb += "seen[q]++;";
    }
    out.after = each("{ total[q][p] += part[q][p]; part[q][p] = 0; }");
}

/// The least and the largest value of every root that a thread met.
pub fn ends(job: &Job, f: &Extremes, shape: &Shape) -> FoldText {
    let count = f.roots.len();
    let mut out = FoldText {
        args: ", ZF_OUT(double) ends".into(),
        state: format!(
            "double least[{count}], most[{count}]; for (int p = 0; p < {count}; p++) {{ least[p] = ZF_INF_D; most[p] = -ZF_INF_D; }}"
        ),
        finish: format!(
            "{{ const size_t seat = ((size_t)(ZF_GROUP_Y * ZF_GROUPS_X + ZF_GROUP_X) * 128u + tid) * {}u;\n    \
             for (int p = 0; p < {count}; p++) {{ ends[seat + 2 * p] = least[p]; ends[seat + 2 * p + 1] = most[p]; }} }}\n    ",
            2 * count
        ),
        ..FoldText::default()
    };
    for (at, root) in f.roots.iter().enumerate() {
        let value = number(job, *root, shape.precision);
        let _ = writeln!(
            out.absorb,
            "{{ const double v = (double){value}; least[{at}] = v < least[{at}] ? v : least[{at}]; \
             most[{at}] = v > most[{at}] ? v : most[{at}]; }}"
        );
    }
    out
}

fn extremes(out: &mut FoldText, op: ReduceOp, value: &str, every: impl Fn(&str) -> String) {
    let low = matches!(op, ReduceOp::Min | ReduceOp::Argmin);
    let (start, sign) = if low {
        ("ZF_INF_D", "<")
    } else {
        ("-ZF_INF_D", ">")
    };
    out.state += &every(&format!(
        "seen[q] = 0u; total[q][0] = {start}; total[q][1] = ZF_INF_D;"
    ));
    let _ = write!(
        out.absorb,
        "{{ const double v = (double){value}; seen[q]++;\n\
         if (v {sign} total[q][0] || (v == total[q][0] && total[q][1] == ZF_INF_D) || (v != v && total[q][0] == total[q][0])) \
         {{ total[q][0] = v; total[q][1] = (double)b; }} }}"
    );
}

/// The largest exponent so far and the sums scaled by it (core: `Reduce::absorb_exp`, `combine`);
/// the sums of a panel in the sweep's precision. The largest is kept from panel to panel, so that
/// sums are seldom scaled again.
fn exponentials(
    out: &mut FoldText,
    f: &Reduce,
    value: &str,
    shape: &Shape,
    weight: impl Fn(usize) -> String,
    every: impl Fn(&str) -> String,
) {
    let (stride, ip, precision) = (f.stride(), shape.anchors, shape.precision);
    let ty = type_name(precision);
    let (inf, exp, base) = match precision {
        Precision::F32 => ("ZF_INF_F", "zf_exp2_fast", " * 1.44269504f"),
        Precision::F64 => ("ZF_INF_D", "zf_exp_d", ""),
    };
    let _ = writeln!(out.state, " {ty} part[{ip}][{stride}];");
    let reset = format!("for (int p = 1; p < {stride}; p++) part[q][p] = 0;");
    out.state += &every(&format!(
        "seen[q] = 0u; part[q][0] = -{inf}; total[q][0] = -ZF_INF_D; for (int p = 1; p < {stride}; p++) total[q][p] = 0.0; {reset}"
    ));
    let term = |p: usize| {
        if f.weights.is_some() {
            format!("e * ({ty}){}", weight(p))
        } else {
            "e".into()
        }
    };
    let share = if f.op == ReduceOp::Logsumexp {
        term(0)
    } else {
        "e".into()
    };
    let seen = if shape.clean { "" } else { " seen[q]++;" };
    let mut absorb = format!(
        "{{ const {ty} v = {value};{seen}\n\
         if (v > part[q][0]) {{ const {ty} shrink = {exp}((part[q][0] - v){base}); \
         for (int p = 1; p < {stride}; p++) part[q][p] *= shrink; part[q][0] = v; }}\n\
         const {ty} e = v == -{inf} ? 0 : v == part[q][0] ? 1 : {exp}((v - part[q][0]){base}); part[q][1] += {share};\n"
    );
    for p in 2..stride {
        let _ = writeln!(absorb, "part[q][{p}] += {};", term(p - 2));
    }
    out.absorb = absorb + "}";
    // Without a branch: PoCL (3.1) takes a branch between the last statement and a barrier as the
    // first thread of a block does.
    out.after = every(&format!(
        "{{ const double top = (double)part[q][0];\n\
         const double shrink = total[q][0] == -ZF_INF_D ? 0.0 : total[q][0] == top ? 1.0 : zf_exp_d(total[q][0] - top);\n\
         for (int p = 1; p < {stride}; p++) total[q][p] = total[q][p] * shrink + (double)part[q][p];\n\
         total[q][0] = top; {reset} }}"
    ));
}

/// Counts by cell of the grid; `edges` holds the compared edges of all axes end to end. `bands` say
/// how single precision decides the bins of each axis, where it does.
pub fn histogram(
    job: &Job,
    f: &Histogram,
    shape: &Shape,
    bands: Option<&[Band]>,
    cut: Option<CutoffBand>,
) -> FoldText {
    let copies = shape.copies;
    let cells = f.cells();
    let mut out = FoldText {
        args: ", ZF_IN(double) edges, ZF_OUT(zf_u32) low, ZF_OUT(zf_u32) high".into(),
        ..FoldText::default()
    };
    let value = |root: usize| {
        if shape.filter {
            format!("w{root}")
        } else {
            number(job, root, shape.precision)
        }
    };
    let place = place(f, value);
    let sums = SumText::new(f, shape, value, &inside(f));
    let requested = sweeps::requested(&job.low, f, shape);
    // One counter more than cells: what single precision cannot place is counted there, without a
    // branch.
    let count = if copies > 0 {
        let places = (cells + 1) * copies;
        out.shared += &match requested {
            Some(bytes) => format!("ZF_DYNAMIC(zf_u32, bins, {});", bytes / 4),
            None => format!("ZF_SHARED zf_u32 bins[{places}];"),
        };
        out.state = format!(
            "for (zf_u32 s = tid; s < {}u; s += 128u) bins[s] = 0u;\n    const zf_u32 copy = tid % {copies}u; (void)copy;\n    ZF_BARRIER();",
            cells * copies
        );
        out.finish = gather(cells, copies);
        format!("ZF_ADD_SHARED(&bins[cell * {copies}u + copy], 1u);")
    } else {
        "{ const zf_u32 old = ZF_ADD_GLOBAL(&low[cell], 1u); if (old == 0xffffffffu) ZF_ADD_GLOBAL(&high[cell], 1u); }"
            .into()
    };
    sums.extend(&mut out, requested.is_some());
    let add = sums.add();
    let Some(bands) = bands else {
        out.absorb = format!("{{ {place} {count} {add} }}");
        return out;
    };
    let settle = exact_values(f) + &place + &count + &add;
    filtered(&mut out, (job, f, shape), bands, [&settle, &count, &add]);
    let step = super::sweep::step(&job.low, shape);
    let square = cut.map(|cut| (number(job, cut.root, shape.precision), cut));
    let square = square.as_ref().map(|(text, cut)| (text.as_str(), *cut));
    let values = f
        .axes
        .iter()
        .map(|axis| number(job, axis.root, shape.precision));
    let values: Vec<String> = values.collect();
    let spare = (copies > 0).then_some(cells);
    out.absorb = decide(bands, &values, &out.absorb, (&mark(step), spare), square);
    out
}

/// Adds what counts by single precision needs to the texts of a histogram. It leaves in `absorb` the
/// statements that count a pair at its place; `settle` counts one by double precision, `count` and
/// `add` what it adds to a cell.
fn filtered(
    out: &mut FoldText,
    (job, f, shape): (&Job, &Histogram, &Shape),
    bands: &[Band],
    [settle, count, add]: [&str; 3],
) {
    out.shared += &edge_tables(bands);
    out.state += &bin_rates(bands);
    if !bands[0].fast {
        let step = super::sweep::step(&job.low, shape);
        settle_bins(out, job, (shape, step), settle);
    }
    let inside = if f.axes.len() > 1 && !add.is_empty() {
        inside_text(f)
    } else {
        String::new()
    };
    let copies = shape.copies;
    let cell = format!("const zf_u32 cell = place - ZF_FIRST_BIN;{inside}");
    out.absorb = match (copies > 0, add.is_empty()) {
        (true, true) => at_place(copies),
        (true, false) => format!("{}{{ {cell} {add} }}", at_place(copies)),
        (false, _) => format!("{{ {cell} {count} {add} }}"),
    };
    if copies > 0 {
        out.state += &bin_base(copies);
    }
}

/// Declares whether `cell` of a grid of several axes has a bin on each of them.
fn inside_text(f: &Histogram) -> String {
    let mut out = String::from(" int inside = 1; { zf_u32 rest = cell; ");
    for axis in f.axes.iter().rev() {
        let bins = axis.bins();
        let _ = write!(
            out,
            "inside &= rest % {0}u - 1u < {bins}u; rest /= {0}u; ",
            bins + 2
        );
    }
    out + "}"
}

/// Functions that the kernel of a histogram calls.
pub fn histogram_functions(f: &Histogram, shape: &Shape) -> String {
    SumText::new(f, shape, |_| String::new(), "").functions()
        + &if shape.filter {
            edge_constants(f)
        } else {
            String::new()
        }
}

/// The tables of the axes whose edges are spaced in no known way: for each cell the bits of the
/// position of its edge, one half lower, and the bits of its place.
fn edge_constants(f: &Histogram) -> String {
    // An edge that no position reaches; infinity times zero would be no number.
    const NONE: f32 = 1e30;
    let mut out = String::new();
    for (at, axis) in f.axes.iter().enumerate() {
        let Some(table) = Cells::table(axis) else {
            continue;
        };
        let _ = write!(
            out,
            "ZF_CONSTANT zf_u32 zf_edges{at}[{}] = {{",
            2 * table.len()
        );
        for (position, below) in table {
            let edge = ((position - 0.5) as f32).min(NONE);
            let _ = write!(out, "{:#x}u, ZF_FIRST_BIN + {below}u, ", edge.to_bits());
        }
        out += "};\n";
    }
    out
}

/// Declares the tables in shared memory.
pub fn edge_tables(bands: &[Band]) -> String {
    let one = |(at, band): (usize, &Band)| {
        let cells = band.cells?;
        Some(format!(
            "\n    ZF_SHARED uint2 edge_cells{at}[{}];",
            cells.count + 2
        ))
    };
    bands.iter().enumerate().filter_map(one).collect()
}

/// Copies the tables there.
fn edge_copies(bands: &[Band]) -> String {
    let mut out = String::new();
    for (at, cells) in bands
        .iter()
        .enumerate()
        .filter_map(|(at, b)| Some((at, b.cells?)))
    {
        let _ = writeln!(
            out,
            "for (zf_u32 s = tid; s < {}u; s += 128u) {{ edge_cells{at}[s].x = zf_edges{at}[2u * s]; edge_cells{at}[s].y = zf_edges{at}[2u * s + 1u]; }}",
            cells.count + 2
        );
    }
    match out.is_empty() {
        true => out,
        false => out + "ZF_BARRIER();\n",
    }
}

/// That `cell` is a bin, neither under nor over: after [`place`], or for a cell of the only axis.
fn inside(f: &Histogram) -> String {
    match f.axes.as_slice() {
        [axis] => format!("cell - 1u < {}u", axis.bins()),
        _ => "inside".into(),
    }
}

/// Declares where bins would begin if places began at 0.
pub fn bin_base(copies: usize) -> String {
    format!("const zf_u32 bin_base = ZF_BIN_BASE(bins, {copies}u, copy);\n")
}

/// Counts at `place`, a bin as the bits of a float.
pub fn at_place(copies: usize) -> String {
    format!("ZF_COUNT(bins, bin_base, place, {copies}u, copy);")
}

/// Statements that find the cell of the grid by double precision, and of several axes whether all
/// have a bin there.
pub fn place(f: &Histogram, value: impl Fn(usize) -> String) -> String {
    let mut out = String::from("zf_u32 cell = 0u;\n");
    let several = f.axes.len() > 1;
    if several {
        out += "int inside = 1; (void)inside;\n";
    }
    let mut at = 0;
    for axis in &f.axes {
        let bins = axis.bins();
        let text = match Scale::even(axis) {
            Some((lo, rate)) => format!(
                "zf_place_even(edges + {at}, {bins}u, (double){}, {}, {}, {lo:e}, {rate:e})",
                value(axis.root),
                u8::from(axis.closed),
                if axis.squared { 2 } else { 1 }
            ),
            None => format!(
                "zf_place(edges + {at}, {bins}u, (double){}, {}, 0, 0.0, 0.0)",
                value(axis.root),
                u8::from(axis.closed)
            ),
        };
        let _ = if several {
            writeln!(
                out,
                "{{ const zf_u32 at = {text}; cell = cell * {}u + at; inside &= at - 1u < {bins}u; }}",
                bins + 2
            )
        } else {
            writeln!(out, "cell = {text};")
        };
        at += axis.compared.len();
    }
    out
}

/// Adds the copies of a block's counters to those of the grid.
pub fn gather(cells: usize, copies: usize) -> String {
    format!(
        "ZF_BARRIER();\n    for (zf_u32 s = tid; s < {cells}u; s += 128u) {{ zf_u32 n = 0u; for (zf_u32 p = 0u; p < {copies}u; p++) n += bins[s * {copies}u + p];\n        \
         if (n) {{ const zf_u32 old = ZF_ADD_GLOBAL(&low[s], n); if (old + n < old) ZF_ADD_GLOBAL(&high[s], 1u); }} }}"
    )
}

/// Statements that count `values` in single precision, one an axis, or mark them where an edge is
/// near. The bin is read off the mantissa of position + 1.5·2²³, whose rounding to the nearest
/// integer is ⌊position + ½⌋ but for ties, which are marked.
///
/// Pairs beyond a cut-off are left out and counted, if there is `cut`: the squared distance, and the
/// limits of single precision.
pub fn decide(
    bands: &[Band],
    values: &[String],
    count: &str,
    (mark, spare): (&str, Option<usize>),
    cut: Option<(&str, CutoffBand)>,
) -> String {
    let mut text = String::from("{ ");
    let mut near = vec![];
    for (at, (band, value)) in bands.iter().zip(values).enumerate() {
        text += &position_text(at, band, value);
        near.push(near_text(at, band));
    }
    text += "zf_u32 place = place0;\n";
    for (at, band) in bands.iter().enumerate().skip(1) {
        let _ = writeln!(
            text,
            "place = (place - ZF_FIRST_BIN) * {}u + place{at};",
            band.bins + 2
        );
    }
    if bands[0].fast {
        let within = cut.map_or_else(String::new, |(square, cut)| {
            let limit = super::expression::literal(cut.limit, Precision::F32);
            format!("if ({square} > {limit}) far++; else ")
        });
        return format!("{text}{within}{{ {count} }} }}");
    }
    let mark = match cut {
        None => mark.to_string(),
        Some((square, cut)) => {
            let [within, beyond] =
                [cut.within, cut.beyond].map(|v| super::expression::literal(v, Precision::F32));
            near.push(format!("{square} > {within}"));
            format!("if ({square} >= {beyond}) far++; else {mark}")
        }
    };
    let near = near.join(" || ");
    let place = match spare {
        Some(cell) => format!("if ({near}) {{ {mark} place = ZF_FIRST_BIN + {cell}u; }}\n{count}"),
        None => format!("if ({near}) {{ {mark} }}\nelse {count}"),
    };
    format!("{text}{place} }}")
}

/// Declares the position `t` of a value among the edges of axis `at`, and its cell there as the bits
/// of a float.
fn position_text(at: usize, band: &Band, value: &str) -> String {
    let (position, first) = position(band, value);
    let (declared, position) = match band.root > 0.0 {
        true => (
            format!("const float root{at} = {position};\n"),
            format!("root{at}"),
        ),
        false => (String::new(), position),
    };
    let single = |v: f64| super::expression::literal(v, Precision::F32);
    // Under and over are cells of their own; a value far beyond all edges is brought to the one
    // next to them.
    let (lowest, highest) = outermost(band);
    let floor = if lowest >= -0.5 {
        String::new()
    } else {
        format!("t{at} = zf_max_f(t{at}, {});\n", single(-0.75))
    };
    let top = band.positions() as f64 + 0.25;
    let ceiling = if highest < top - 0.1 {
        String::new()
    } else {
        format!("t{at} = t{at} < {0} ? t{at} : {0};\n", single(top))
    };
    let place = match band.cells {
        None => format!("const zf_u32 place{at} = zf_bits_f(m{at});\n"),
        // A position that is NaN has no cell; the pair is marked.
        Some(cells) => format!(
            "const zf_u32 seat{at} = zf_bits_f(m{at}) - ZF_FIRST_BIN;\n\
             const uint2 cell{at} = edge_cells{at}[seat{at} < {0}u ? seat{at} : {0}u];\n\
             const float edge{at} = zf_of_bits_f(cell{at}.x);\n\
             const zf_u32 place{at} = cell{at}.y + (t{at} >= edge{at} ? 1u : 0u);\n",
            cells.count + 1
        ),
    };
    format!(
        "{declared}float t{at} = zf_fma_f({position}, bin_rate{at}, {});\n{floor}{ceiling}\
         const float m{at} = t{at} + 12582912.0f;\n{place}",
        single(-first - 0.5)
    )
}

/// Whether the position on axis `at` is nearer to an edge than its error, or not trusted; true where
/// it is NaN, as the root of a number that only single precision finds below zero.
fn near_text(at: usize, band: &Band) -> String {
    let single = |v: f64| super::expression::literal(v, Precision::F32);
    let low = if band.sure > 0.0 {
        format!(" || t{at} < {}", single(band.sure - 0.5))
    } else {
        String::new()
    };
    if let Some(cells) = band.cells {
        let apart = format!("zf_abs_f(t{at} - edge{at})");
        // Beyond half of what keeps edges from the ends of cells, a value may be in another cell
        // than its edge.
        return match band.root > 0.0 {
            true => format!(
                "!(zf_fma_f(zf_min_f({apart}, {}) - {}, root{at}, {}) > 0.0f)",
                single(0.5 * cells.clear),
                single(band.constant),
                single(-band.root)
            ),
            false => format!(
                "!({apart} > zf_fma_f(zf_abs_f(t{at}), {}, {})){low}",
                single(band.slope),
                single(band.constant)
            ),
        };
    }
    let off = format!("zf_abs_f(t{at} - (m{at} - 12582912.0f))");
    if band.root > 0.0 {
        // The nearer to an edge, and the smaller the root, the sooner.
        return format!(
            "!(zf_fma_f({} - {off}, root{at}, {}) > 0.0f)",
            single(0.5 - band.constant),
            single(-band.root)
        );
    }
    format!(
        "!(zf_fma_f(zf_abs_f(t{at}), {}, {off}) < {}){low}",
        single(band.slope),
        single(0.5 - band.constant)
    )
}

/// What is multiplied by the rate for the position of `value`, and the position of the first edge.
fn position(band: &Band, value: &str) -> (String, f64) {
    // Where the value may be negative, single precision may find one where the exact value has
    // none.
    let of_square = || match band.least < 0.0 {
        true => format!("zf_max_f({value}, 0.0f)"),
        false => value.to_string(),
    };
    match band.scale {
        Scale::Even { lo, rate } if band.squared => {
            (format!("zf_sqrt_fast({})", of_square()), lo * rate)
        }
        Scale::Even { lo, rate } => (value.to_string(), lo * rate),
        Scale::Logarithmic { lo, rate } => (format!("zf_log2_fast({})", of_square()), lo * rate),
    }
}

/// The positions of the least and the largest value, one half lower.
fn outermost(band: &Band) -> (f64, f64) {
    let at = |v: f64| {
        let v = if band.squared { v.max(0.0).sqrt() } else { v };
        match band.scale {
            Scale::Even { lo, rate } => (v - lo) * rate - 0.5,
            Scale::Logarithmic { lo, rate } => (v.max(0.0).log2() - lo) * rate - 0.5,
        }
    };
    (at(band.least), at(band.most))
}

/// Declarations that [`decide`] needs, for all threads of a block. The rates are constants that
/// compilers shall keep in registers.
pub fn bin_rates(bands: &[Band]) -> String {
    let one = |(at, band): (usize, &Band)| {
        let rate = match band.scale {
            Scale::Even { rate, .. } => rate,
            // The logarithm of a square is twice that of its root.
            Scale::Logarithmic { rate, .. } if band.squared => rate / 2.0,
            Scale::Logarithmic { rate, .. } => rate,
        };
        let rate = super::expression::literal(rate, Precision::F32);
        format!("const float bin_rate{at} = span == 0u ? 0.0f : {rate};\n")
    };
    bands.iter().enumerate().map(one).collect::<String>() + &edge_copies(bands)
}

/// Pairs that wait for double precision in a block: a place for one in a hundred of a panel.
const WAITING: usize = 512;

/// Marked pairs wait until the end of the panel. Then the threads of a block take one each, and
/// `count` them by double precision: a thread alone would have the others of its warp wait for every
/// pair.
fn settle_bins(out: &mut FoldText, job: &Job, (shape, step): (&Shape, usize), count: &str) {
    let (i, j) = marked_pair(shape);
    out.open = "zf_u32 odd = 0u;".into();
    let _ = write!(
        out.shared,
        "\n    ZF_SHARED zf_u32 waiting[{WAITING}]; ZF_SHARED zf_u32 held;"
    );
    out.state += "if (tid == 0u) held = 0u;\n    ZF_BARRIER();\n";
    // Where no place is left, the thread counts its pair itself.
    out.settle = format!(
        "while (odd != 0u) {{ const zf_u32 n = ZF_LOWEST(odd); odd &= odd - 1u; const zf_u32 seat = ZF_ADD_SHARED(&held, 1u);\n\
         const zf_u32 mine = first + (n / {step}u) * 128u + tid, b = base + jj + n % {step}u, i = {i}, j = {j};\n\
         if (seat < {WAITING}u) {{ waiting[seat] = (mine - first) << 7 | (b - base); continue; }}\n\
         {beyond}{count} }}",
        beyond = beyond_cut(job, shape)
    );
    out.after = format!(
        "ZF_BARRIER();\n        {{ const zf_u32 ready = held < {WAITING}u ? held : {WAITING}u;\n        \
         for (zf_u32 s = tid; s < ready; s += 128u) {{ const zf_u32 mine = first + (waiting[s] >> 7), b = base + waiting[s] % 128u, \
         i = {i}, j = {j};\n{beyond}{count} }} }}\n        ZF_BARRIER();\n        if (tid == 0u) held = 0u;\n        ZF_BARRIER();",
        beyond = beyond_cut(job, shape)
    );
}

/// Declares the values of pair (i, j) in double precision.
fn exact_values(f: &Histogram) -> String {
    let value = |root: usize| {
        let name = exact_name(f, root);
        format!("const double w{root} = {name}(x_wide, y_wide, c_wide, i, j);\n")
    };
    roots(f).into_iter().map(value).collect()
}

/// The roots that the axes of `f` bin, each once.
pub fn roots(f: &Histogram) -> Vec<usize> {
    let mut roots: Vec<usize> = f.axes.iter().map(|axis| axis.root).collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}

/// The function of root `root` in double precision.
pub fn exact_name(f: &Histogram, root: usize) -> String {
    if root == f.axes[0].root {
        "zf_exact".into()
    } else {
        format!("zf_exact_{root}")
    }
}
