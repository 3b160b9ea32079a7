//! Writes folds as epilogues of dense tiles: rows too wide for registers are compared by
//! register-blocked tiles, and the fold takes the values from there. No matrix is ever in memory.
//!
//! ```text
//! for each tile of 128 others in the strip
//!     sums[8][16] by register-blocked slices of components (dense.rs)
//!     for each row of the thread's part of the tile
//!         fold.line; for each value: fold.absorb            a limit test, a bin, a sum
//!     fold.settle:  candidates of all threads are queued in shared memory (the space of the slices),
//!                   computed in double precision, one per thread, and given to the threads that own their rows
//! fold.end
//! ```
//!
//! A sweep with rows of more than 32 numbers would read every row from device memory for each
//! anchor. A tile reads each number once for 128 pairs. The price is that a thread holds parts of
//! rows of others, so results by row need the exchange above.

use super::dense::TileText;
use super::epilogue::{Deciding, Epilogue, NONE_WAITS, marked, marks, waiting};
use super::folds;
use super::join::Truth;
use super::pair::{PairText, RootText, fast_pair_text, pair_text};
use super::product_tile::{NO_CELLS, ProductSlices, ProductTile, TileTexts};
use super::sweep;
use super::values::width;
use super::{fill, matches, nearest};
use zipfold_core::fold::{Fold, Histogram, JoinKind, Nearest, Reduce, ReduceOp};
use zipfold_core::pair::lower::Lowered;
use zipfold_core::{Job, Precision};
use zipfold_plan::device::bins::Band;
use zipfold_plan::device::matrix::{MatrixShape as Tile, TILE};
use zipfold_plan::device::pair_tiles::PairTiles;
use zipfold_plan::device::products::Rounding;
use zipfold_plan::device::sweeps::Shape;

/// Numbers of shared memory that the pairs of a tile take as entries of a queue.
const QUEUE: usize = TILE * TILE / 2;

/// Operations of a pair up to which values are found twice, where a row of a thread has an open pair.
const CHEAP: usize = 2;

/// What single precision knows of the values.
#[derive(Clone, Debug, Default)]
pub struct Known<'k> {
    /// Bound of their error: absolute, relative.
    pub bound: Option<(f64, f64)>,
    /// How bins are decided.
    pub bands: Option<Vec<Band>>,
    /// Where predicates hold.
    pub truth: Option<&'k Truth>,
    /// How rows are rounded whose products give the values.
    pub rounding: Option<&'k Rounding>,
}

/// The kernel `name` that folds `job` by what is `known` of its values, which come from `tiles`;
/// matches go to pages of `page` slots.
pub fn kernel(
    name: &str,
    job: &Job,
    shape: &Shape,
    tiles: &PairTiles,
    (known, page): (Known<'_>, usize),
) -> String {
    let low = &job.low;
    let pair = if shape.fast {
        fast_pair_text(low, None)
    } else {
        pair_text(low, None, Precision::F32)
    };
    let root = |root: usize| match &pair.roots[root] {
        RootText::Numbers(n) => n[0].clone(),
        RootText::Components(..) => "0".into(),
    };
    let mut fold = epilogue(&job.folds[0], shape, &known, page, &root);
    let products = known
        .rounding
        .map(|rounding| ProductTile::new(low, shape, rounding, scratch(&job.folds[0])));
    let nearest = nearest_of(&job.folds[0]).zip(products.as_ref());
    if let Some([line, look]) = nearest.and_then(|(f, tile)| tile.reach(&f)) {
        fold.line += &line;
        fold.look = look;
    } else if low.operations().1 > CHEAP {
        fold.look.clear();
    }
    let skip = skipped(shape, &fold);
    let tile = match (tiles, products) {
        (PairTiles::Registers(tile), _) => in_registers(low, shape, tile, &pair),
        (PairTiles::Products { .. }, Some(products)) => products.texts(&pair, &skip),
        // INVARIANT: a plan with products has their rounding.
        (PairTiles::Products { .. }, None) => TileTexts::default(),
    };
    // A text may hold places that later ones fill, so the order counts.
    let mut places = vec![("NAME", name.to_string()), ("ARGS", fold.args.clone())];
    places.extend(fold_places(&fold));
    places.extend(tile.places);
    places.extend(side_places(shape, skip));
    let source = fill(include_str!("../kernels/strip.c"), &tile.inner);
    tile.before + &fill(&source, &places) + &tile.after
}

/// The texts of the sides of a tile, which is left out where `skip` holds.
fn side_places(shape: &Shape, skip: String) -> [(&'static str, String); 9] {
    let names = sweep::side_names(shape);
    [
        ("CARRY", String::new()),
        ("CARRIED", String::new()),
        ("A", names[0].into()),
        ("B", names[1].into()),
        ("PA", names[0].to_uppercase()),
        ("PB", names[1].to_uppercase()),
        ("SKIP", skip),
        ("ALL", sweep::all(shape.domain, shape.anchor)),
        (
            "KEEP",
            sweep::keep(shape.domain, shape.anchor).replace("a[q]", "a"),
        ),
    ]
}

/// The best that `fold` keeps of every anchor, if it keeps some.
fn nearest_of(fold: &Fold) -> Option<Nearest> {
    match fold {
        Fold::Nearest(f) => Some(f.clone()),
        Fold::Reduce(f) if f.op.is_extreme() => Some(nearest::of_rows(f)),
        Fold::Dense(_)
        | Fold::Reduce(_)
        | Fold::Histogram(_)
        | Fold::Join(_)
        | Fold::Extremes(_)
        | Fold::Top(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => None,
    }
}

/// A tile of vector units.
fn in_registers(low: &Lowered, shape: &Shape, tile: &Tile, pair: &PairText) -> TileTexts {
    let (at, other) = (shape.anchor as usize, 1 - shape.anchor as usize);
    let text = TileText::new(low, tile, at);
    let shared = (tile.copy.stages() * text.stage_size()).max(QUEUE);
    let cells = "#define ZF_ROW(p) ((p) < 4 ? ty * 4u + (p) : 60u + ty * 4u + (p))\n\
                 #define ZF_COLUMN(p, q) ((q) / 4 * 32u + tx * 4u + (q) % 4)\n\
                 #define ZF_PART(p) tx\n";
    TileTexts {
        before: text.macros() + cells,
        inner: text.places(&pair.stages[0]),
        places: vec![
            ("INPUTS", sweep::inputs(shape)),
            ("T", "float".into()),
            (
                "SLICES",
                format!(
                    "ZF_SHARED float slices[{shared}];\n    ZF_SHARED_ARG float* scratch = slices; (void)scratch;"
                ),
            ),
            ("BEGIN", String::new()),
            ("FIRST_SLICES", String::new()),
            ("TILE_BEGINS", "ZF_BARRIER();".into()),
            ("TILE_IS_THERE", "ZF_BARRIER();".into()),
            ("LEAVE", "return;".into()),
            (
                "PLACES",
                "const zf_u32 tx = tid % @TX@u, ty = tid / @TX@u;"
                    .replace("@TX@", &(TILE / tile.across).to_string()),
            ),
            ("START", text.start(&pair.stages[0].start, false)),
            ("FINISH", pair.finish.clone()),
            ("AW", width(low, at).to_string()),
            ("BW", width(low, other).to_string()),
            ("BLOCKS", tile.blocks.to_string()),
        ],
        after: text.no_macros() + NO_CELLS,
    }
}

/// Bytes of shared memory that the launch of a kernel asks for.
pub fn dynamic(job: &Job, shape: &Shape) -> Option<usize> {
    match shape.tiled? {
        PairTiles::Registers(_) => None,
        PairTiles::Products { units, paired } => {
            Some(ProductSlices::new(job.low.dim, units, paired, scratch(&job.folds[0])).bytes())
        }
    }
}

/// Bytes of shared memory that `fold` keeps while it takes the values of a tile.
fn scratch(fold: &Fold) -> usize {
    match fold {
        Fold::Join(f) if f.kind == JoinKind::Inner => QUEUE * 4,
        Fold::Nearest(_) | Fold::Reduce(_) if nearest_of(fold).is_some_and(|f| f.k <= GROUPS) => {
            GROUPS * TILE * 4
        }
        Fold::Nearest(_)
        | Fold::Reduce(_)
        | Fold::Join(_)
        | Fold::Histogram(_)
        | Fold::Dense(_)
        | Fold::Extremes(_)
        | Fold::Top(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => 0,
    }
}

/// What `fold` adds to the kernel, by what is `known` of its values; `root` is the text of a root.
fn epilogue(
    fold: &Fold,
    shape: &Shape,
    known: &Known<'_>,
    page: usize,
    root: &dyn Fn(usize) -> String,
) -> Epilogue {
    match fold {
        Fold::Join(f) => match known.truth {
            Some(truth) if f.kind == JoinKind::Inner => matches::pairs(shape, truth, page),
            Some(truth) => matches::matched(shape, truth),
            None => Epilogue::default(),
        },
        Fold::Reduce(f) => match (known.truth, known.bound) {
            (Some(truth), _) if f.op == ReduceOp::Count => matches::counts(shape, truth),
            (_, Some(bound)) => best(&nearest::of_rows(f), shape, &root(f.root), bound),
            (_, None) => sums(f, &root(f.root)),
        },
        Fold::Nearest(f) => known.bound.map_or_else(Epilogue::default, |bound| {
            best(f, shape, &root(f.root), bound)
        }),
        Fold::Histogram(h) => {
            // Tiles take histograms of one axis.
            let band = known.bands.iter().flatten().next().copied();
            counters(h, shape, &root(h.axes[0].root), band)
        }
        Fold::Dense(_)
        | Fold::Extremes(_)
        | Fold::Top(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => Epilogue::default(),
    }
}

/// Which tiles are left out: tiles without pairs, and the ones that the fold leaves out.
fn skipped(shape: &Shape, fold: &Epilogue) -> String {
    let skip = sweep::skip(shape.domain, shape.anchor);
    if fold.skip.is_empty() {
        skip
    } else {
        format!("({skip}) || {}", fold.skip)
    }
}

/// Which cells of a row are pairs of the domain.
const THERE: &str = include_str!("../kernels/strip_there.c");

/// Clears the bits of pairs that are none.
fn masked(bits: &[&str]) -> String {
    if bits.is_empty() {
        return String::new();
    }
    let clear: String = bits
        .iter()
        .map(|bits| format!("{bits}[p / 2] &= kept; "))
        .collect();
    let places = [("THERE", THERE.into()), ("CLEAR", clear)];
    fill(include_str!("../kernels/strip_mask.c"), &places)
}

/// The texts of a fold by the names of their places in the kernel.
fn fold_places(fold: &Epilogue) -> [(&'static str, String); 14] {
    let fold = fold.clone();
    let look = if fold.look.is_empty() {
        String::new()
    } else {
        fill(
            include_str!("../kernels/strip_look.c"),
            &[("OPENING", fold.look)],
        )
    };
    let test = if fold.bits.is_empty() {
        "if (!whole && (a >= a1 || col >= count || !(@KEEP@))) continue;"
    } else {
        ""
    };
    [
        ("OWN", fold.own),
        ("STATE", fold.state),
        (
            "ROUNDS",
            if fold.rounds.is_empty() {
                "1".into()
            } else {
                fold.rounds
            },
        ),
        ("FIRST", fold.first),
        ("TEST", test.into()),
        ("MASK", masked(fold.bits) + &fold.of_round),
        ("OPEN", fold.open),
        ("LINE", fold.line),
        ("LOOK", look),
        ("ABSORB", fold.absorb),
        ("AFTER_LINE", fold.after_line),
        ("SETTLE", fold.settle),
        ("AFTER", fold.after),
        ("END", fold.end),
    ]
}

/// Where the list of a thread's row is; told anew at each use, since registers are scarce.
const LIST: &str = "const zf_u32 lanes = ZF_GROUPS_Y * (a1 - a0), slot = ZF_GROUP_Y * (a1 - a0) + (first + tid - a0);";

/// Groups of a row whose least values bound the best ones of the first tile.
const GROUPS: usize = 16;

/// The k best of every anchor: a thread owns the list of a row. Few are sought among the pairs of the
/// first tile that groups leave open, many in it by quarters, so that the worst kept is known soon.
fn best(f: &Nearest, shape: &Shape, value: &str, (abs, rel): (f64, f64)) -> Epilogue {
    let sign = if f.largest { "-" } else { "" };
    let limit = format!(
        "const double w = near + {abs:e} + zf_abs_d(near) * {rel:e}; \
         const float limit = (float)w; limits[tid] = zf_min_f(limits[tid], limit + zf_abs_f(limit) * 1e-6f + 1e-37f);"
    );
    let limits = format!(
        "if (first + tid < a1) {{ {LIST} const size_t at = ZF_WORST * (size_t)lanes + slot; \
         if (near_i[at] != 0xffffffffu) {{ const double near = near_v[at]; {limit} }} }}"
    );
    let few = f.k <= GROUPS;
    let first = if few {
        let places = [
            ("THERE", THERE.into()),
            ("VALUE", format!("{sign}({value})")),
            ("K", f.k.to_string()),
            // A value is off by a part of itself, not of what was computed: the parts are below 0.01.
            (
                "ABSOLUTE",
                format!(
                    "{abs:e} + ((double)zf_abs_f(far) + {abs:e}) * {:e}",
                    1.02 * rel
                ),
            ),
            ("LIMIT", limit.clone()),
        ];
        fill(include_str!("../kernels/strip_first.c"), &places)
    } else {
        String::new()
    };
    let owners = fill(
        include_str!("../kernels/strip_owners.c"),
        &[("LIST", LIST.into())],
    );
    let settled =
        format!("if (first + tid < a1) {{ {LIST} zf_settle(near_v, near_i, slot, lanes); }}");
    let deciding = Deciding {
        bits: "hits",
        sign,
        take: "values[tid] = v; owned[tid] = row; others[tid] = b;",
        owners: &owners,
        limits: &limits,
        now: " || rounds > 1",
    };
    Epilogue {
        args: ", ZF_OUT(double) near_v, ZF_OUT(zf_u32) near_i".into(),
        own: waiting()
            + " ZF_SHARED float limits[128]; ZF_SHARED double values[128]; ZF_SHARED zf_u32 owned[128]; ZF_SHARED zf_u32 others[128];",
        state: format!(
            "{NONE_WAITS}int fresh = 1;\n    \
             if (first + tid < a1) {{ {LIST} zf_empty(near_v, near_i, slot, lanes); }}\n    limits[tid] = ZF_INF_F;"
        ),
        first,
        rounds: if few {
            "1".into()
        } else {
            "fresh ? 4 : 1".into()
        },
        of_round: if few {
            String::new()
        } else {
            "if (rounds == 4) { ZF_UNROLL for (int w = 0; w < 4; w++) hits[w] &= 0xf000fu << (4 * round); }".into()
        },
        bits: &["hits"],
        open: marks("hits"),
        line: "const float limit = limits[row];".into(),
        look: format!("{sign}({value}) <= limit"),
        absorb: marked("hits", &format!("{sign}({value}) <= limit")),
        settle: deciding.settle(shape),
        after: "fresh = 0;".into(),
        end: deciding.end(shape) + if nearest::is_heap(f) { &settled } else { "" },
        ..Epilogue::default()
    }
}

/// Counts by bin, in counters of the block.
fn counters(h: &Histogram, shape: &Shape, value: &str, band: Option<Band>) -> Epilogue {
    let cells = h.cells();
    let count = "ZF_ADD_SHARED(&bins[cell], 1u);";
    let place = folds::place(h, |_| "v".into());
    let fast = band.is_none_or(|b| b.fast);
    let mark = marked("odd", "1");
    let absorb = band.map_or_else(String::new, |b| {
        folds::decide(
            &[b],
            &[value.to_string()],
            &folds::at_place(1),
            (&mark, Some(cells)),
            None,
        )
    });
    let take = format!("{place}{count}");
    let deciding = Deciding {
        bits: "odd",
        sign: "",
        take: &take,
        owners: "",
        limits: "",
        now: "",
    };
    let state = band.map_or_else(String::new, |b| {
        folds::bin_rates(&[b]) + "const zf_u32 copy = 0u;\n" + &folds::bin_base(1)
    });
    Epilogue {
        args: ", ZF_IN(double) edges, ZF_OUT(zf_u32) low, ZF_OUT(zf_u32) high".into(),
        own: format!(
            "{} ZF_SHARED zf_u32 bins[{}];{}",
            waiting(),
            cells + 1,
            band.map_or_else(String::new, |b| folds::edge_tables(&[b]))
        ),
        state: format!(
            "{NONE_WAITS}for (zf_u32 s = tid; s < {cells}u; s += 128u) bins[s] = 0u;\n    {state}"
        ),
        open: if fast { String::new() } else { marks("odd") },
        absorb,
        settle: if fast {
            String::new()
        } else {
            deciding.settle(shape)
        },
        end: if fast {
            String::new()
        } else {
            deciding.end(shape)
        } + &folds::gather(cells, 1),
        ..Epilogue::default()
    }
}

/// Sums by row: of a tile in single precision, from tile to tile in double.
fn sums(f: &Reduce, value: &str) -> Epilogue {
    let term = if f.weights.is_some() {
        format!("{value} * weights[b]")
    } else {
        value.to_string()
    };
    Epilogue {
        args: ", ZF_IN(float) weights, ZF_OUT(double) out, ZF_OUT(zf_u32) counts".into(),
        state: "ZF_SHARED_ARG float* parts = (ZF_SHARED_ARG float*)scratch;\n    double total = 0.0;".into(),
        open: "float part[8]; ZF_UNROLL for (int p = 0; p < 8; p++) part[p] = 0.0f;".into(),
        absorb: format!("part[p] += {term};"),
        settle: "ZF_UNROLL for (int p = 0; p < 8; p++) parts[tx * 128u + (p < 4 ? ty * 4u + p : 60u + ty * 4u + p)] = part[p];\n            \
                 ZF_BARRIER();\n            float line = 0.0f;\n            for (zf_u32 t = 0u; t < 8u; t++) line += parts[t * 128u + tid];\n            total += (double)line;"
            .into(),
        end: "if (a_mine < a1) { const size_t slot = (size_t)ZF_GROUP_Y * (a1 - a0) + (a_mine - a0); counts[slot] = 0u; out[slot] = total; }".into(),
        ..Epilogue::default()
    }
}
