//! Periodic boxes: what they are, how they are written, and the minimum-image difference.
//!
//! A box is one to three lengths (right angles), three lengths and three angles, or three lattice
//! vectors. All are in the unit of the coordinates; angles are in degrees. Regardless of the form,
//! the lattice is reduced to its shortest basis (`reduce.rs`), because the minimum image is only
//! found reliably in that one; a box whose reduced basis lies along the axes then counts as one
//! with right angles, which is much cheaper.
//!
//! A question without a box has no [`PeriodicBox`]; there is no box of infinite size.

mod image;
mod reduce;

pub use image::{Image, Orthorhombic, Others, Triclinic, dot, minus};

use crate::{Error, Result};
use image::{V, cross};
use std::ops::Range;

/// Lengths outside of these limits are refused, so that no square or volume overflows or vanishes.
/// A volume has the third power of a length, and 10³⁰⁰ is still a number.
const LENGTHS: Range<f64> = 1e-100..1e100;
/// A box whose volume is below this part of the product of its lengths is flat: its basis cannot be
/// reduced in f64.
const FLAT: f64 = 1e-10;
const NAMES: [&str; 6] = ["LX", "LY", "LZ", "alpha", "beta", "gamma"];
const FORMS: &str = "L, LX,LY or LX,LY,LZ; with alpha,beta,gamma in degrees, or nine numbers (three vectors), if the box is triclinic";

/// A periodic box of one to three dimensions with right angles, or a triclinic one of three
/// dimensions.
///
/// It is serialised as the numbers it was made from, so that it comes back with the same bits.
///
/// Everything but `given` follows from it and is computed once, since kernels read the constants
/// for every pair.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct PeriodicBox {
    given: Vec<f64>,
    dims: usize,
    /// As given, for reports.
    vectors: [V; 3],
    /// The shortest basis, which the minimum image needs.
    reduced: [V; 3],
    lengths: [f64; 3],
    volume: f64,
    image: Image,
}

/// What is wrong with a list of numbers: which of them, and how. [`PeriodicBox::parse`] underlines
/// them.
///
/// Not an [`Error`] yet, because only `parse` has a text to underline.
struct Flaw(Range<usize>, String);

impl PeriodicBox {
    /// Returns a box of one to three dimensions with right angles and these edge lengths along the
    /// axes.
    ///
    /// # Errors
    /// `Request` when there are none or more than three lengths, or one is not a positive finite
    /// number.
    pub fn orthorhombic(lengths: &[f64]) -> Result<Self> {
        match lengths.len() {
            1..=3 => Self::build(lengths).map_err(Flaw::error),
            n => {
                Err(Error::request(format!("a box with {n} lengths"))
                    .remedy("one to three lengths"))
            }
        }
    }
    /// Returns a triclinic box from its edge lengths a, b, c and the angles α (between b and c), β
    /// (a, c), γ (a, b) in degrees; a lies along x and b in the xy plane, the convention of
    /// crystallography and MD packages.
    ///
    /// # Errors
    /// `Request` when a length is not a positive finite number, or the angles close no cell.
    pub fn triclinic(lengths: [f64; 3], angles: [f64; 3]) -> Result<Self> {
        Self::build(&[lengths, angles].concat()).map_err(Flaw::error)
    }
    /// Returns a triclinic box from three lattice vectors of either handedness.
    ///
    /// # Errors
    /// `Request` when a component is not finite, or the vectors are zero, huge or (nearly) in one
    /// plane.
    pub fn from_vectors(vectors: [[f64; 3]; 3]) -> Result<Self> {
        Self::build(&vectors.concat()).map_err(Flaw::error)
    }
    /// Reads a box from text: `L` (a cube), `LX,LY`, `LX,LY,LZ`, `LX,LY,LZ,alpha,beta,gamma`
    /// (degrees), or the nine numbers of its three vectors.
    ///
    /// # Errors
    /// `Request`, underlining the number to blame, as the constructors; or when the text is not
    /// such a list.
    pub fn parse(text: &str) -> Result<Self> {
        let mut numbers = Vec::new();
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut from = 0;
        for part in text.split(',') {
            // The bytes of each number, for underlining.
            places.push(from..from + part.len());
            from += part.len() + 1;
            let place = places[places.len() - 1].clone();
            numbers.push(part.trim().parse::<f64>().map_err(|_| {
                let what = format!("the box has '{}' where a number belongs", part.trim());
                Error::request(what).span(text, place).remedy(FORMS)
            })?);
        }
        match numbers.len() {
            // One number is a cube.
            1 => numbers = vec![numbers[0]; 3],
            2 | 3 | 6 | 9 => {}
            n => return Err(Error::request(format!("{n} numbers do not make a box")).remedy(FORMS)),
        }
        // A cube has one number in the text and three in the list, hence the limits.
        Self::build(&numbers).map_err(|flaw| {
            let (first, last) = (
                flaw.0.start.min(places.len() - 1),
                flaw.0.end.clamp(1, places.len()) - 1,
            );
            let place = places[first].start..places[last].end;
            flaw.error().span(text, place)
        })
    }
    /// Makes a box of 1, 2, 3, 6 or 9 numbers: vectors, checks, reduction, constants of the minimum
    /// image.
    fn build(given: &[f64]) -> std::result::Result<Self, Flaw> {
        // One to three lengths are as many dimensions; six and nine numbers are three.
        let dims = given.len().min(3);
        let vectors = match given.len() {
            9 => [row(given, 0), row(given, 3), row(given, 6)],
            6 => edges(given)?,
            _ => box_edges(given)?,
        };
        let all = if given.len() == 9 { 0..9 } else { 3..6 };
        let mut lengths = vectors.map(|v| dot(v, v).sqrt());
        // Lengths as given, not as computed from vectors, so that they come back with their bits.
        if given.len() < 9 {
            lengths[..dims].copy_from_slice(&given[..dims]);
        } else {
            check_vectors(given, &lengths)?;
        }
        if content(&vectors) < FLAT * (lengths[0] * lengths[1] * lengths[2]) {
            return Err(Flaw(
                all,
                "the box is flat: its edges lie (nearly) in one plane".into(),
            ));
        }
        // Boxes with right angles are reduced already.
        let reduced = if given.len() > 3 {
            reduce::minkowski(&vectors)
        } else {
            Some(vectors)
        };
        let reduced =
            reduced.ok_or_else(|| Flaw(all, "the lattice of the box cannot be reduced".into()))?;
        let image = if given.len() > 3 {
            Image::new(reduced)
        } else {
            Image::orthorhombic(given)
        };
        Ok(PeriodicBox {
            given: given.to_vec(),
            dims,
            vectors,
            reduced,
            lengths,
            volume: content(&reduced),
            image,
        })
    }
    /// Returns the number of periodic dimensions, 1 to 3.
    pub fn dims(&self) -> usize {
        self.dims
    }
    /// Returns the lengths of the edges.
    pub fn lengths(&self) -> &[f64] {
        &self.lengths[..self.dims]
    }
    /// Returns the lattice vectors as given, one for each periodic dimension.
    pub fn vectors(&self) -> &[[f64; 3]] {
        &self.vectors[..self.dims]
    }
    /// Returns a shortest basis of the same lattice (Minkowski-reduced), ascending in length if the
    /// box is triclinic.
    pub fn reduced(&self) -> &[[f64; 3]] {
        &self.reduced[..self.dims]
    }
    /// Returns the volume (area, length) of the box.
    pub fn volume(&self) -> f64 {
        self.volume
    }
    /// Returns half the shortest lattice vector. Two images of one point are never both strictly
    /// within this distance of a place, so one image suffices for every cut-off up to it.
    ///
    /// Cut-offs beyond it would need several images of one pair.
    pub fn inradius(&self) -> f64 {
        self.reduced()
            .iter()
            .map(|v| dot(*v, *v).sqrt() * 0.5)
            .fold(f64::INFINITY, f64::min)
    }
    /// Returns a length that no minimum image exceeds, except by rounding. Exact for right angles
    /// (half the diagonal); for triclinic boxes half the diagonal of the Gram–Schmidt box.
    ///
    /// Bounds of differences start from it.
    pub fn reach(&self) -> f64 {
        match self.image {
            Image::Orthorhombic(_) => {
                0.5 * self.lengths().iter().map(|l| l * l).sum::<f64>().sqrt()
            }
            Image::Triclinic(ref o) => {
                0.5 * o
                    .duals
                    .iter()
                    .map(|n| 1.0 / dot(*n, *n))
                    .sum::<f64>()
                    .sqrt()
            }
        }
    }
    /// Returns the constants of the minimum image, for kernels that compute it themselves.
    pub fn image(&self) -> &Image {
        &self.image
    }
    /// Replaces a difference vector by the shortest of its periodic images. **This is the
    /// reference.**
    ///
    /// Right angles: each component becomes `d − L·rint(d / L)`, where `rint` rounds halves to
    /// even: of two images half a box away, the one an even number of boxes from `d` wins.
    /// Triclinic boxes: [`Triclinic::nearest`] says how, and which of several shortest images wins.
    /// Both are odd functions: the image of `−delta` is the negative of the image of `delta` (zeros
    /// have either sign), so that r² is the same in bits both ways round. NaN and infinite
    /// components give NaN.
    ///
    /// Components beyond [`PeriodicBox::dims`] are not periodic and stay. A box with right angles
    /// serves shorter rows too; a triclinic one leaves them as they are.
    #[inline]
    pub fn minimum_image(&self, delta: &mut [f64]) {
        match &self.image {
            Image::Orthorhombic(o) => {
                delta
                    .iter_mut()
                    .zip(o.lengths())
                    .for_each(|(d, l)| *d = Orthorhombic::nearest(*d, *l));
            }
            Image::Triclinic(o) => {
                if let [x, y, z, ..] = delta {
                    [*x, *y, *z] = o.nearest([*x, *y, *z]);
                }
            }
        }
    }
}

impl TryFrom<Vec<f64>> for PeriodicBox {
    type Error = Error;
    /// One to three lengths, three lengths and three angles, or nine components of vectors.
    fn try_from(numbers: Vec<f64>) -> Result<Self> {
        match numbers.len() {
            1..=3 | 6 | 9 => Self::build(&numbers).map_err(Flaw::error),
            n => Err(Error::request(format!("{n} numbers do not make a box"))
                .remedy("1 to 3 lengths, 3 lengths and 3 angles, or the 9 components of the lattice vectors")),
        }
    }
}

impl From<PeriodicBox> for Vec<f64> {
    fn from(cell: PeriodicBox) -> Self {
        cell.given
    }
}

impl Flaw {
    /// Returns the flaw as an error.
    fn error(self) -> Error {
        Error::request(self.1)
    }
}

/// Returns the volume of the box with these edges.
///
/// Of fewer dimensions it is the area or the length: [`box_edges`] puts ones into the others.
fn content(v: &[V; 3]) -> f64 {
    dot(v[0], cross(v[1], v[2])).abs()
}

/// Returns the three numbers from `at` on.
fn row(given: &[f64], at: usize) -> V {
    [given[at], given[at + 1], given[at + 2]]
}

/// Returns the edges of a box with right angles. Missing dimensions get length one, so that
/// products are right.
fn box_edges(given: &[f64]) -> std::result::Result<[V; 3], Flaw> {
    let mut vectors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for (at, length) in given.iter().enumerate().take(3) {
        check_length(at, *length)?;
        vectors[at][at] = *length;
    }
    Ok(vectors)
}

/// Refuses a length that is not finite, positive and within [`LENGTHS`].
fn check_length(at: usize, length: f64) -> std::result::Result<(), Flaw> {
    let flaw = |how: &str| {
        Err(Flaw(
            at..at + 1,
            format!("the box length {} is {length}: {how}", NAMES[at]),
        ))
    };
    match length {
        l if !l.is_finite() => flaw("it must be finite"),
        l if l <= 0.0 => flaw("it must be positive"),
        l if !LENGTHS.contains(&l) => flaw("it must lie between 1e-100 and 1e100"),
        _ => Ok(()),
    }
}

/// Refuses vectors with a component that is not finite or a length outside of [`LENGTHS`].
fn check_vectors(given: &[f64], lengths: &[f64; 3]) -> std::result::Result<(), Flaw> {
    if let Some(at) = given.iter().position(|v| !v.is_finite()) {
        return Err(Flaw(
            at..at + 1,
            format!(
                "component {} of the box vectors is {}: it must be finite",
                at, given[at]
            ),
        ));
    }
    match lengths.iter().position(|l| !LENGTHS.contains(l)) {
        Some(at) => {
            let what = format!(
                "box vector {at} has length {}: it must lie between 1e-100 and 1e100",
                lengths[at]
            );
            Err(Flaw(3 * at..3 * at + 3, what))
        }
        None => Ok(()),
    }
}

/// Returns the edges from three lengths and three angles. Right angles, 60° and 120° are exact.
fn edges(given: &[f64]) -> std::result::Result<[V; 3], Flaw> {
    let square = box_edges(&given[..3])?;
    let (lengths, angles) = (row(given, 0), row(given, 3));
    check_angles(angles)?;
    // Exactly along the axes, where sines and cosines would leave 10⁻¹⁷.
    if angles == [90.0; 3] {
        return Ok(square);
    }
    let [ca, cb, cg] = angles.map(cos_degrees);
    let sg = sin_degrees(angles[2]);
    // The sine product for the volume of the unit cell: it has no cancellation where 1 − ca² − cb²
    // − cg² + 2·ca·cb·cg has.
    let s = 0.5 * (angles[0] + angles[1] + angles[2]);
    let [sa, sb, sc] = angles.map(|angle| sin_degrees(s - angle));
    let unit = 2.0 * (sin_degrees(s) * sa * sb * sc).max(0.0).sqrt();
    let c = [
        lengths[2] * cb,
        lengths[2] * ((ca - cb * cg) / sg),
        lengths[2] * (unit / sg),
    ];
    Ok([
        [lengths[0], 0.0, 0.0],
        [lengths[1] * cg, lengths[1] * sg, 0.0],
        c,
    ])
}

/// Refuses angles that close no cell: three edges from one corner need each angle below the sum of
/// the other two, and all three below 360°.
fn check_angles(angles: [f64; 3]) -> std::result::Result<(), Flaw> {
    if let Some(k) = angles.iter().position(|a| !(*a > 0.0 && *a < 180.0)) {
        let what = format!(
            "the box angle {} is {}: it must lie between 0 and 180 degrees",
            NAMES[k + 3],
            angles[k]
        );
        return Err(Flaw(k + 3..k + 4, what));
    }
    // Equality is flat: the three edges lie in one plane.
    let sum = angles[0] + angles[1] + angles[2];
    if sum >= 360.0 {
        return Err(Flaw(
            3..6,
            format!(
                "the box angles close no cell: they add up to {sum} degrees, not less than 360"
            ),
        ));
    }
    match angles.iter().position(|a| 2.0 * a >= sum) {
        Some(k) => {
            let what = format!(
                "the box angles close no cell: {} is not less than the sum of the others",
                NAMES[k + 3]
            );
            Err(Flaw(k + 3..k + 4, what))
        }
        None => Ok(()),
    }
}

/// Computes the cosine of an angle in degrees, exact for the angles of common cells: the nearest
/// f64 to π/3 does not have a cosine of exactly ½.
fn cos_degrees(angle: f64) -> f64 {
    match angle {
        60.0 => 0.5,
        90.0 => 0.0,
        120.0 => -0.5,
        _ => libm::cos(angle.to_radians()),
    }
}

/// Computes the sine of an angle in degrees.
///
/// 60° and 120° need no case: their sines are irrational, and `libm` rounds them well.
fn sin_degrees(angle: f64) -> f64 {
    if angle == 90.0 {
        1.0
    } else {
        libm::sin(angle.to_radians())
    }
}
