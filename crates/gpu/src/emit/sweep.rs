//! Writes the sweep kernels of devices: anchors in registers, the other side through shared memory,
//! a fold in registers, shared or global memory.
//!
//! ```text
//! each thread holds A anchors (rows of one side), in registers
//! for each panel of 128 others in the block's span
//!     copy the panel to shared memory                       or read it through the cache, or by shuffles
//!     fold.before; fold.chunk
//!     for each `load` others of the panel, unrolled
//!         read them once for all anchors
//!         for each anchor, for each other that the domain has
//!             values of the pair (pair.rs)
//!             cut-off, NaN                                  left out if every pair counts
//!             fold.absorb                                   accumulate, or mark a candidate
//!         fold.settle                                       candidates in double precision
//!     fold.after
//! fold.finish
//! ```
//!
//! The skeleton is C (`kernels/sweep.c`), filled in here, and folds are texts for its places
//! ([`FoldText`]). A generated text and not a template of the compiler, because formulas are known
//! at run time. Rows are packed in panels of 128, component by component, so that a warp reads one
//! component of consecutive rows in one transaction.

use super::pair::{RootText, SHORT, fast_pair_text, filter_pair_text, pair_text};
use super::values::{NO_ACCESS, RowsFrom, access, width};
use super::{fill, loads, type_name};
use crate::pack::Layout;
use std::fmt::Write;
use zipfold_core::fold::{Axis, Fold};
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::tree::Side;
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Domain, Job, PeriodicBox, Precision};
use zipfold_plan::device::sweeps::{CutoffBand, Shape, is_short};
use zipfold_plan::overrides::Input;

/// Threads of a block, and rows of a panel.
pub const THREADS: u32 = 128;

/// What a fold adds to the kernel. Texts may use `q`, `a[q]`, `b`, `i`, `j`, `tid`, `first`, and
/// the numbers of roots.
#[derive(Clone, Debug, Default)]
pub struct FoldText {
    /// Parameters, each with a comma before it.
    pub args: String,
    /// Shared memory.
    pub shared: String,
    /// Declarations before the sweep.
    pub state: String,
    /// For every pair that counts.
    pub absorb: String,
    /// Before the pairs of a step.
    pub open: String,
    /// After the pairs of a step.
    pub settle: String,
    /// Before each panel.
    pub before: String,
    /// Before each `step` others.
    pub chunk: String,
    /// After each panel.
    pub after: String,
    /// After the sweep.
    pub finish: String,
    /// Before the loop over the others of an incomplete step: an unrolling.
    pub tail: String,
    /// Squared distances by which single precision leaves out pairs beyond the cut-off, and marks
    /// those in `odd` that double precision decides.
    pub cut: Option<CutoffBand>,
    /// The state of the anchors of a run, where blocks take a list of runs.
    pub run_state: String,
    /// After the panels of a run.
    pub run_finish: String,
    /// Others are called by their rows as given, where blocks take a list of runs of sorted rows.
    pub named: bool,
}

impl FoldText {
    /// The texts by the names of their places in the kernel.
    fn places(&self) -> [(&'static str, String); 11] {
        [
            ("ARGS", self.args.clone()),
            ("SHARED", self.shared.clone()),
            ("STATE", self.state.clone()),
            ("BEFORE", self.before.clone()),
            ("CHUNK", self.chunk.clone()),
            ("AFTER", self.after.clone()),
            ("OPEN", self.open.clone()),
            ("SETTLE", self.settle.clone()),
            ("RUN_FINISH", self.run_finish.clone()),
            ("FINISH", self.finish.clone()),
            ("TAIL", self.tail.clone()),
        ]
    }
}

/// The expression of the one number of root `root`.
pub fn number(job: &Job, root: usize, precision: Precision) -> String {
    match &pair_text(&job.low, job.periodic_box.as_ref(), precision).roots[root] {
        RootText::Numbers(n) => n[0].clone(),
        RootText::Components(..) => "0".into(),
    }
}

/// Begins the loop over the pairs of a thread that single precision left undecided: `i`, `j` are the
/// rows of one, of x and of y, `n / step` is the number of its anchor. Pairs beyond the cut-off end
/// here. The caller ends its body.
pub(super) fn each_marked(job: &Job, shape: &Shape, step: usize) -> String {
    let (i, j) = marked_pair(shape);
    format!(
        "while (odd != 0u) {{ const zf_u32 n = ZF_LOWEST(odd); odd &= odd - 1u; const zf_u32 mine = first + (n / {step}u) * 128u + tid, \
         b = base + jj + n % {step}u, i = {i}, j = {j};\n"
    ) + &beyond_cut(job, shape)
}

/// The rows of x and of y of a marked pair of an anchor `mine` and an other `b`.
pub(super) fn marked_pair(shape: &Shape) -> (&'static str, &'static str) {
    match shape.anchor {
        Side::X => ("mine", "b"),
        Side::Y => ("b", "mine"),
    }
}

/// Ends a turn of a loop over marked pairs for a pair (i, j) beyond the cut-off, if there is one.
pub(super) fn beyond_cut(job: &Job, shape: &Shape) -> String {
    match job.space.cutoff_squared() {
        Some(limit) if !shape.clean => {
            let limit = super::expression::literal(limit, Precision::F64);
            format!(
                "if (!({EXACT_CUT}(x_wide, y_wide, c_wide, i, j) <= {limit})) {{ far++; continue; }}\n"
            )
        }
        _ => String::new(),
    }
}

/// Marks the pair of anchor `q` and of the `u`-th other of a step for double precision.
pub(super) fn mark(step: usize) -> String {
    format!("odd |= 1u << (q * {step}u + u);")
}

/// The function of the squared distance that a cut-off looks at.
pub(crate) const EXACT_CUT: &str = "zf_exact_cut";

/// Others taken at one step: those of a load.
pub fn step(low: &Lowered, shape: &Shape) -> usize {
    let other = 1 - shape.anchor as usize;
    if is_short(width(low, other)) {
        shape.load
    } else {
        1
    }
}

/// The kernel `name` that folds root numbers of `job` by `fold`.
pub fn kernel(name: &str, job: &Job, shape: &Shape, fold: &FoldText) -> String {
    let low = &job.low;
    let (at, other) = (shape.anchor as usize, 1 - shape.anchor as usize);
    let widths = [width(low, at), width(low, other)];
    let short = [is_short(widths[0]), is_short(widths[1])];
    let ty = type_name(shape.precision);
    let names = side_names(shape);
    let step = step(low, shape);
    let mut fold = fold.clone();
    fold.shared += &shared_rows(shape, widths, short);
    let runs = Runs::new(shape, &mut fold);
    // A text may hold places that later ones fill, so the order counts.
    let mut places = vec![
        ("STEPS", steps(shape, &fold)),
        ("NAME", name.to_string()),
        ("INPUTS", inputs(shape)),
    ];
    places.extend(runs.places());
    places.extend(fold.places());
    places.extend([
        ("BODY", body(job, shape, &fold, false)),
        (
            "BODY_OWN",
            if shape.balanced {
                body(job, shape, &fold, true)
            } else {
                String::new()
            },
        ),
        (
            "BOWN",
            own_row(ty, names[1], widths[1], short[1], shape.input),
        ),
        (
            "NEXT",
            u8::from(shape.domain != Domain::Diagonal).to_string(),
        ),
        ("ANCHORS", held_anchors(ty, widths[0], short[0], shape)),
        (
            "ALOAD",
            load_anchor(names[0], widths[0], short[0], shape.input),
        ),
        (
            "BLOAD",
            load_panel(ty, names[1], widths[1], short[1], shape.input),
        ),
        (
            "BREAD",
            if short[1] {
                read_quads(names[1], widths[1], shape, !fold.chunk.is_empty())
            } else {
                String::new()
            },
        ),
        ("BROW", row(ty, names[1], widths[1], short[1], step)),
        ("A", names[0].to_string()),
        ("PA", names[0].to_uppercase()),
        ("AW", widths[0].to_string()),
        ("STEP", step.to_string()),
    ]);
    places.extend(shape_places(shape));
    let text = fill(include_str!("../kernels/sweep.c"), &places);
    sweep_access(low, names, short, shape.input) + &text + NO_ACCESS
}

/// What is folded by a block: a group of anchors against a span of others, or a list of runs.
struct Runs {
    begin: String,
    first: String,
    from: String,
    to: String,
    end: String,
}

impl Runs {
    /// Those of `shape`. What a fold declares stands before all runs of a block.
    fn new(shape: &Shape, fold: &mut FoldText) -> Runs {
        if !shape.listed {
            return Runs {
                begin: String::new(),
                first: format!("a0 + ZF_GROUP_X * {}u", shape.anchors * 128),
                from: "b0 + ZF_GROUP_Y * span".into(),
                to: "b1 - from < span ? b1 : from + span".into(),
                end: String::new(),
            };
        }
        fold.args += ", ZF_IN(zf_u32) runs, ZF_IN(zf_u32) starts";
        if fold.named || tells_nan(shape) {
            fold.args += ", ZF_IN(zf_u32) given_x, ZF_IN(zf_u32) given_y";
        }
        let state = std::mem::replace(&mut fold.state, fold.run_state.clone());
        Runs {
            begin: format!(
                "{state}\n    zf_u32 passed = 0u; (void)passed;\n    \
                 for (zf_u32 run = starts[ZF_GROUP_X]; run < starts[ZF_GROUP_X + 1u]; run++) {{"
            ),
            first: "runs[run * 3u]".into(),
            from: "runs[run * 3u + 1u]".into(),
            to: "runs[run * 3u + 2u]".into(),
            end: "passed += to - from;\n    }".into(),
        }
    }
    /// The texts by the names of their places in the kernel.
    fn places(&self) -> [(&'static str, String); 5] {
        [
            ("RUNS", self.begin.clone()),
            ("FIRST", self.first.clone()),
            ("FROM", self.from.clone()),
            ("TO", self.to.clone()),
            ("RUN_END", self.end.clone()),
        ]
    }
}

/// The others that a block has met before those of the panel: where a kernel goes on after it left.
pub(super) fn passed(shape: &Shape) -> &'static str {
    if shape.listed {
        "passed + (base - from)"
    } else {
        "base - from"
    }
}

/// The names of the side of the anchors and of the other one.
pub(super) fn side_names(shape: &Shape) -> [&'static str; 2] {
    match shape.anchor {
        Side::X => ["x", "y"],
        Side::Y => ["y", "x"],
    }
}

/// Shared memory for short rows: of a panel, and of the anchors where the shape has them there.
fn shared_rows(shape: &Shape, widths: [usize; 2], short: [bool; 2]) -> String {
    let ty = type_name(shape.precision);
    let mut out = String::new();
    if short[1] && widths[1] > 0 && matches!(shape.input, Input::Panel | Input::Both) {
        let _ = write!(out, "\n    ZF_SHARED {ty} panel[{}];", widths[1] * 128);
    }
    if short[0] && shape.input == Input::Both {
        let (anchors, wide) = (shape.anchors, widths[0].max(1));
        let _ = write!(out, "\n    ZF_SHARED {ty} ar[{anchors}][{wide}][128];");
    }
    out
}

/// What a shape alone decides.
fn shape_places(shape: &Shape) -> [(&'static str, String); 8] {
    [
        ("ROWS", (shape.anchors * 128).to_string()),
        ("IP", shape.anchors.to_string()),
        ("BLOCKS", shape.blocks.to_string()),
        ("UNROLL", shape.unroll.to_string()),
        ("SPAN", "span".into()),
        ("SKIP", skip(shape.domain, shape.anchor)),
        ("ALL", all(shape.domain, shape.anchor)),
        ("KEEP", keep(shape.domain, shape.anchor)),
    ]
}

/// A loop for whole panels and one for the others; one for both where the fold has blocks wait
/// before each step. Before them, where asked for, those of the panels of a block's own rows.
fn steps(shape: &Shape, fold: &FoldText) -> String {
    let rest = if fold.chunk.is_empty() {
        include_str!("../kernels/steps.c")
    } else {
        include_str!("../kernels/chunks.c")
    };
    let own = if shape.balanced {
        include_str!("../kernels/diagonal.c")
    } else {
        ""
    };
    [own, rest].concat()
}

/// The parameters of the rows.
pub(super) fn inputs(shape: &Shape) -> String {
    let ty = type_name(shape.precision);
    format!("ZF_IN({ty}) x, ZF_IN({ty}) y, ZF_IN({ty}) c") + &wide_inputs(shape)
}

/// The parameters of rows that double precision decides by, where a filter leaves it some.
pub(super) fn wide_inputs(shape: &Shape) -> String {
    if shape.filter {
        ", ZF_IN(double) x_wide, ZF_IN(double) y_wide, ZF_IN(double) c_wide".into()
    } else {
        String::new()
    }
}

/// Macros over `ar[q]`, `br` (short) or global memory.
fn sweep_access(low: &Lowered, names: [&str; 2], short: [bool; 2], input: Input) -> String {
    let by_side = if names[0] == "x" {
        short
    } else {
        [short[1], short[0]]
    };
    let text = access(low, by_side.map(RowsFrom::short));
    let (anchor, other) = (format!("{}r[", names[0]), format!("{}r[", names[1]));
    let anchored = |line: &str| {
        // An anchor in shared memory is one column of it.
        let end = if input == Input::Both && line.contains(&anchor) {
            "[tid]"
        } else {
            ""
        };
        format!(
            "{}{end}\n",
            line.replace(&anchor, "ar[q][").replace(&other, "br[")
        )
    };
    text.lines().map(anchored).collect()
}

/// Registers for the anchors of a thread, where they are not in shared memory.
fn held_anchors(ty: &str, width: usize, short: bool, shape: &Shape) -> String {
    if short && shape.input != Input::Both {
        format!("{ty} ar[{}][{}];", shape.anchors, width.max(1))
    } else {
        String::new()
    }
}

fn load_anchor(name: &str, width: usize, short: bool, input: Input) -> String {
    if !short {
        return String::new();
    }
    let column = if input == Input::Both { "[tid]" } else { "" };
    format!(
        "ZF_UNROLL for (zf_u32 w = 0; w < {width}u; w++) ar[q][w]{column} = {name}[{name}_at + w * 128u];"
    )
}

fn load_panel(ty: &str, name: &str, width: usize, short: bool, input: Input) -> String {
    if !short || width == 0 {
        return String::new();
    }
    let at = format!(
        "const size_t panel_at = (size_t)ZF_PANEL_{}(base) * {}u;",
        name.to_uppercase(),
        width * 128
    );
    match input {
        Input::Panel | Input::Both => format!(
            "{at}\n        ZF_BARRIER();\n        ZF_UNROLL for (zf_u32 w = 0; w < {width}u; w++) panel[w * 128u + tid] = \
             {name}[panel_at + w * 128u + tid];\n        ZF_BARRIER();"
        ),
        Input::Cache => at,
        Input::Shuffle => format!("{at}\n        {ty} warp[{width}];"),
    }
}

/// Reads the others of a step: each component by one load, or from the lanes that hold them. Where
/// the sweep may begin anew within a panel (`resumes`), lanes are filled at every step.
fn read_quads(name: &str, width: usize, shape: &Shape, resumes: bool) -> String {
    if width == 0 {
        return String::new();
    }
    let (step, input) = (shape.load, shape.input);
    let vector = loads::vector(shape.precision, step);
    let mut out = format!("{} quad[{}];\n", type_name(shape.precision), width * step);
    if input == Input::Shuffle {
        let load = format!("warp[w] = {name}[panel_at + w * 128u + jj / 32u * 32u + tid % 32u];");
        let when = if resumes { "1" } else { "jj % 32u == 0u" };
        let _ = writeln!(
            out,
            "if ({when}) {{ ZF_UNROLL for (zf_u32 w = 0; w < {width}u; w++) {load} }}"
        );
        let take = format!("quad[w * {step}u + u] = ZF_SHUFFLE(warp[w], (jj + u) % 32u);");
        let _ = writeln!(
            out,
            "ZF_UNROLL for (zf_u32 w = 0; w < {width}u; w++) ZF_UNROLL for (zf_u32 u = 0; u < {step}u; u++) {take}"
        );
        return out;
    }
    for w in 0..width {
        let from = match input {
            Input::Cache => format!(
                "*(ZF_GLOBAL const {vector}*)&{name}[panel_at + {}u + jj]",
                w * 128
            ),
            _ => format!("*(ZF_SHARED_ARG const {vector}*)&panel[{}u + jj]", w * 128),
        };
        let _ = write!(out, "{{ const {vector} v = {from}; ");
        for (u, part) in loads::parts(step).iter().enumerate() {
            let _ = write!(out, "quad[{}] = v{part}; ", w * step + u);
        }
        out += "}\n";
    }
    out
}

fn row(ty: &str, name: &str, width: usize, short: bool, step: usize) -> String {
    if short {
        if width == 0 {
            return format!("{ty} br[1]; (void)br;");
        }
        return format!(
            "{ty} br[{width}];\n                    ZF_UNROLL for (int w = 0; w < {width}; w++) br[w] = quad[w * {step} + u];"
        );
    }
    format!(
        "const size_t {name}_at = (size_t)ZF_PANEL_{}(b) * {}u + b % 128u;",
        name.to_uppercase(),
        width * 128
    )
}

/// The other of a thread alone, row `jj` of the panel.
fn own_row(ty: &str, name: &str, width: usize, short: bool, input: Input) -> String {
    if !short || width == 0 {
        return row(ty, name, width, short, 1);
    }
    let from = match input {
        Input::Panel | Input::Both => "panel[".into(),
        Input::Cache | Input::Shuffle => format!("{name}[panel_at + "),
    };
    format!(
        "{ty} br[{width}];\n                ZF_UNROLL for (int w = 0; w < {width}; w++) br[w] = {from}w * 128u + jj];"
    )
}

/// The pair function and the fold for anchor `a[q]` and other `b`; `swapped` where the anchor may
/// be the later row.
fn body(job: &Job, shape: &Shape, fold: &FoldText, swapped: bool) -> String {
    let periodic_box = job.periodic_box.as_ref();
    let pair = match (shape.fast, shape.filter) {
        (true, _) => fast_pair_text(&job.low, periodic_box),
        (false, true) => filter_pair_text(&job.low, periodic_box, shape.near),
        (false, false) => pair_text(&job.low, periodic_box, shape.precision),
    };
    let mut out = String::new();
    let (i, j) = match (swapped, shape.anchor) {
        (true, _) => ("a[q] < b ? a[q] : b", "a[q] < b ? b : a[q]"),
        (_, Side::X) => ("a[q]", "b"),
        (_, Side::Y) => ("b", "a[q]"),
    };
    let _ = writeln!(out, "const zf_u32 i = {i}, j = {j}; (void)i; (void)j;");
    let long = width(&job.low, shape.anchor as usize) > 2 * SHORT;
    if long {
        let name = if shape.anchor == Side::X { "x" } else { "y" };
        let w = width(&job.low, shape.anchor as usize);
        let _ = writeln!(
            out,
            "const zf_u32 held = a[q] < a1 ? a[q] : a1 - 1u;\nconst size_t {name}_at = (size_t)ZF_PANEL_{}(held) * {}u + held % 128u;",
            name.to_uppercase(),
            w * 128
        );
    }
    out += &pair.whole();
    out += &match (fold.cut, shape.clean || shape.filter) {
        (Some(cut), _) => within(cut, &pair.roots, step(&job.low, shape)),
        (None, false) => admit(job, shape, &pair.roots),
        (None, true) => String::new(),
    };
    out + &fold.absorb
}

/// Leaves out pairs beyond the cut-off, by single precision, and marks the pairs on either side of it.
fn within(cut: CutoffBand, roots: &[RootText], step: usize) -> String {
    let RootText::Numbers(n) = &roots[cut.root] else {
        return String::new();
    };
    let [within, beyond] =
        [cut.within, cut.beyond].map(|v| super::expression::literal(v, Precision::F32));
    let (square, mark) = (&n[0], mark(step));
    format!(
        "if ({square} > {within}) {{ if ({square} >= {beyond}) far++; else {mark} continue; }}\n"
    )
}

/// Leaves out pairs beyond the cut-off, and NaN by the policy; counts them.
fn admit(job: &Job, shape: &Shape, roots: &[RootText]) -> String {
    let mut out = String::new();
    if let (Some(root), Some(limit)) = (job.cutoff_root, job.space.cutoff_squared())
        && let RootText::Numbers(n) = &roots[root]
    {
        let limit = super::expression::literal(limit, Precision::F64);
        let _ = writeln!(out, "if (!({} <= {limit})) {{ far++; continue; }}", n[0]);
    }
    let mut used: Vec<usize> = job
        .folds
        .iter()
        .flat_map(Fold::roots)
        .chain(job.cutoff_root)
        .collect();
    used.sort_unstable();
    used.dedup();
    let mut tests = vec![];
    for at in used {
        match &roots[at] {
            RootText::Numbers(n) => tests.extend(n.iter().map(|n| format!("{n} != {n}"))),
            RootText::Components(body, value) => {
                let _ = writeln!(
                    out,
                    "int odd_{at} = 0; ZF_UNROLL for (zf_u32 k = 0; k < DIM; k++) {{\n{body}odd_{at} |= {value} != {value}; }}"
                );
                tests.push(format!("odd_{at}"));
            }
        }
    }
    let skip = if job.nan == NanPolicy::Skip {
        "nan++; continue;"
    } else {
        ""
    };
    let first = first_nan(shape);
    if !tests.is_empty() {
        let hidden =
            outside(job, roots).map_or_else(String::new, |outside| format!(" && !({outside})"));
        let _ = writeln!(
            out,
            "if (({}){hidden}) {{ {first} {skip} }}",
            tests.join(" || ")
        );
    }
    out
}

/// Whether a kernel over runs tells a pair that is NaN: by its rows as given, which it needs for that.
pub(crate) fn tells_nan(shape: &Shape) -> bool {
    !(shape.clean || shape.filter)
}

/// Statements that keep the first pair that is NaN.
fn first_nan(shape: &Shape) -> String {
    let keep = |i: &str, j: &str| {
        format!("if ({i} < nan_i || ({i} == nan_i && {j} < nan_j)) {{ nan_i = {i}; nan_j = {j}; }}")
    };
    if !shape.listed {
        return keep("i", "j");
    }
    let order = match shape.domain {
        // A pair of a half space is told with its earlier row first.
        Domain::Triangle | Domain::Diagonal => {
            "if (given_i > given_j) { const zf_u32 other = given_i; given_i = given_j; given_j = other; } "
        }
        Domain::Cross | Domain::Ordered | Domain::Square => "",
    };
    let keep = keep("given_i", "given_j");
    format!("{{ zf_u32 given_i = given_x[i], given_j = given_y[j]; {order}{keep} }}")
}

/// That one of several axes of a histogram leaves a pair out, so that a NaN on another, or of a
/// formula that matters in bins alone, is not looked at.
fn outside(job: &Job, roots: &[RootText]) -> Option<String> {
    let [Fold::Histogram(f)] = job.folds.as_slice() else {
        return None;
    };
    let literal = |v: f64| super::expression::literal(v, Precision::F64);
    let one = |axis: &Axis| {
        let RootText::Numbers(n) = &roots[axis.root] else {
            return None;
        };
        let beyond = if axis.closed { ">" } else { ">=" };
        let (first, last) = (
            literal(axis.compared[0]),
            literal(axis.compared[axis.bins()]),
        );
        Some(format!(
            "(double){0} < {first} || (double){0} {beyond} {last}",
            n[0]
        ))
    };
    let tests: Vec<String> = f.axes.iter().filter_map(one).collect();
    f.looks_inside().then(|| tests.join(" || "))
}

/// Pairs of the panel that are none of the space: all of them.
pub(super) fn skip(domain: Domain, anchor: Side) -> String {
    let (i, j) = sides(anchor);
    match domain {
        Domain::Triangle => format!("{} <= {}", j.1, i.0),
        Domain::Diagonal => format!("{} < {}", j.1, i.0),
        _ => "0".into(),
    }
}

/// All pairs of the panel are of the space.
pub(super) fn all(domain: Domain, anchor: Side) -> String {
    let (i, j) = sides(anchor);
    match domain {
        Domain::Triangle => format!("{} < {}", i.1, j.0),
        Domain::Diagonal => format!("{} <= {}", i.1, j.0),
        Domain::Ordered => format!("{} < {} || {} < {}", i.1, j.0, j.1, i.0),
        _ => "1".into(),
    }
}

pub(super) fn keep(domain: Domain, anchor: Side) -> String {
    let (i, j) = if anchor == Side::X {
        ("a[q]", "b")
    } else {
        ("b", "a[q]")
    };
    match domain {
        Domain::Triangle => format!("{i} < {j}"),
        Domain::Diagonal => format!("{i} <= {j}"),
        Domain::Ordered => format!("{i} != {j}"),
        _ => "1".into(),
    }
}

/// First and last row.
type Ends = (&'static str, &'static str);

/// First and last row of x and of y in the panel.
fn sides(anchor: Side) -> (Ends, Ends) {
    let (a, b) = (("first", "last"), ("base", "end"));
    if anchor == Side::X { (a, b) } else { (b, a) }
}

/// The function `name` of (i, j, …): root `root` in double precision, from global memory.
pub fn exact(
    job: &Job,
    periodic_box: Option<&PeriodicBox>,
    (name, root, layout): (&str, usize, Layout),
) -> String {
    let low = &job.low;
    let pair = pair_text(low, periodic_box, Precision::F64);
    let value = match &pair.roots[root] {
        RootText::Numbers(n) => n[0].clone(),
        RootText::Components(..) => "0.0".into(),
    };
    let w = [0, 1].map(|side| layout.size(width(low, side)));
    let (from, each) = match layout {
        Layout::Columns => (RowsFrom::Columns, 1),
        Layout::Fours => (RowsFrom::Fours, 4),
    };
    let head = format!(
        "ZF_SLOW_FN double {name}(ZF_IN(double) x, ZF_IN(double) y, ZF_IN(double) c, zf_u32 i, zf_u32 j) {{\n"
    );
    let places = format!(
        "const size_t x_at = (size_t)ZF_PANEL_X(i) * {}u + i % 128u * {each}u, y_at = (size_t)ZF_PANEL_Y(j) * {}u + j % 128u * {each}u;\n(void)x_at; (void)y_at;\n",
        w[0], w[1]
    );
    access(low, [from, from])
        + &head
        + &places
        + &pair.whole()
        + &format!("return {value};\n}}\n")
        + NO_ACCESS
}
