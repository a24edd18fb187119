//! Generators: functions in `args` that fill a buffer, with the same data in every process.
//!
//! Input: the annotation of a buffer, its element type and a seed. Output: its elements, or why the
//! type or the file cannot provide them.

use std::fs;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use crate::host::arguments::elements::Element;
use crate::host::error::{Error, Result};
use crate::host::values::number::{IntoNumber, Number};

/// The base of relative paths of `from_file`, instead of the package's folder.
const FOLDER_ENV: &str = "GPUPROF_DATA";

/// Whose contents they are.
#[derive(Debug, Clone, Copy)]
pub struct FillTarget<'a> {
    /// The buffer's name.
    pub(crate) name: &'a str,
    /// The folder of the package with the annotation.
    pub(crate) folder: &'a Path,
    /// The package.
    pub(crate) package: &'a str,
}

/// The contents of a buffer before a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    pub(crate) length: Number,
    fill: Fill,
}

#[derive(Debug, Clone, PartialEq)]
enum Fill {
    Random { low: f64, high: f64, whole: bool },
    RandomBits,
    Zeros,
    Iota,
    Normal { mean: f64, deviation: f64 },
    Permutation,
    Sorted(Box<Fill>),
    File(PathBuf),
}

/// The input of `sorted`: a generator, or a length for `random`.
#[diagnostic::on_unimplemented(
    message = "`sorted` cannot sort `{Self}`",
    note = "it takes a length, sorted(n), or a generator, sorted(random_in(n, 0..100))"
)]
pub trait IntoGenerator {
    /// The generator.
    #[doc(hidden)]
    fn into_generator(self) -> Generator;
}

impl<N: IntoNumber> IntoGenerator for N {
    fn into_generator(self) -> Generator {
        generators::random(self)
    }
}

impl IntoGenerator for Generator {
    fn into_generator(self) -> Generator {
        self
    }
}

/// A range of numbers.
#[diagnostic::on_unimplemented(
    message = "`random_in` takes no `{Self}`",
    note = "it takes a range of numbers: random_in(n, 0..100), or with its end random_in(n, 0..=99)"
)]
pub trait NumberRange {
    /// The lower bound, and the first number above the range.
    #[doc(hidden)]
    fn bounds(self) -> (Number, Number);
}

impl<N: IntoNumber> NumberRange for Range<N> {
    fn bounds(self) -> (Number, Number) {
        (self.start.into_number(), self.end.into_number())
    }
}

impl<N: IntoNumber> NumberRange for RangeInclusive<N> {
    fn bounds(self) -> (Number, Number) {
        let (low, high) = self.into_inner();
        let above = match high.into_number() {
            Number::Int(value) => Number::Int(value.saturating_add(1)),
            Number::Float(value) => Number::Float(value.next_up()),
        };
        (low.into_number(), above)
    }
}

fn float(number: impl IntoNumber) -> f64 {
    match number.into_number() {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
    }
}

/// The functions that `args(…)` may call for buffers.
pub mod generators {
    use super::{Fill, Generator, IntoGenerator, IntoNumber, Number, NumberRange, Path, float};

    fn generator(length: impl IntoNumber, fill: Fill) -> Generator {
        Generator { length: length.into_number(), fill }
    }

    /// `length` random elements: integers over their whole range, floats in 0..1.
    pub fn random(length: impl IntoNumber) -> Generator {
        generator(length, Fill::RandomBits)
    }

    /// `length` random elements in `range`: `low..high` without its end, or `low..=high`.
    pub fn random_in(length: impl IntoNumber, range: impl NumberRange) -> Generator {
        let (low, high) = range.bounds();
        let whole = matches!((low, high), (Number::Int(_), Number::Int(_)));
        generator(length, Fill::Random { low: number(low), high: number(high), whole })
    }

    fn number(number: Number) -> f64 {
        match number {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// `length` zeros.
    pub fn zeros(length: impl IntoNumber) -> Generator {
        generator(length, Fill::Zeros)
    }

    /// 0, 1, 2, … up to `length`, wrapping where the element type does.
    pub fn iota(length: impl IntoNumber) -> Generator {
        generator(length, Fill::Iota)
    }

    /// `length` floats of the normal distribution with this `mean` and standard `deviation`.
    pub fn normal(
        length: impl IntoNumber,
        mean: impl IntoNumber,
        deviation: impl IntoNumber,
    ) -> Generator {
        generator(length, Fill::Normal { mean: float(mean), deviation: float(deviation) })
    }

    /// The whole numbers below `length`, each once, in random order.
    pub fn permutation(length: impl IntoNumber) -> Generator {
        generator(length, Fill::Permutation)
    }

    /// The elements of `of` in ascending order; of a length: that many random elements.
    pub fn sorted(of: impl IntoGenerator) -> Generator {
        let Generator { length, fill } = of.into_generator();
        Generator { length, fill: Fill::Sorted(Box::new(fill)) }
    }

    /// `length` elements from the file at `path`, which holds them and nothing else, little end
    /// first. A relative path begins at the package's folder.
    pub fn from_file(length: impl IntoNumber, path: impl AsRef<Path>) -> Generator {
        generator(length, Fill::File(path.as_ref().to_owned()))
    }
}

impl Generator {
    /// The elements, from `seed`, so that no two buffers are equal; and the file that was read.
    ///
    /// # Errors
    /// A buffer of `T` cannot hold them, or the file does not.
    pub(crate) fn elements<T: Element>(
        &self,
        length: usize,
        seed: u64,
        place: &FillTarget<'_>,
    ) -> Result<(Vec<T>, Option<FileContents>)> {
        self.fill.elements(length, &mut Stream(seed), place)
    }
}

/// A file that a buffer was filled from.
#[derive(Debug, PartialEq)]
pub(crate) struct FileContents {
    /// The path, as the annotation has it.
    pub(crate) path: PathBuf,
    /// Its contents.
    pub(crate) bytes: Vec<u8>,
}

impl Fill {
    fn elements<T: Element>(
        &self,
        length: usize,
        stream: &mut Stream,
        place: &FillTarget<'_>,
    ) -> Result<(Vec<T>, Option<FileContents>)> {
        let all = 0..length;
        let elements = match self {
            Self::Zeros => vec![T::from_index(0); length],
            Self::Iota => (0..length as u64).map(T::from_index).collect(),
            Self::RandomBits => all.map(|_| T::from_bits(stream.bits())).collect(),
            Self::Random { low, high, whole } => {
                check_range::<T>(*low, *high, place)?;
                let value = |_| {
                    let value = low + (high - low) * stream.unit();
                    T::from_f64(if *whole { value.floor() } else { value.min(high.next_down()) })
                };
                all.map(value).collect()
            }
            Self::Normal { mean, deviation } => {
                check_normal::<T>(*mean, *deviation, place)?;
                all.map(|_| T::from_f64(mean + deviation * stream.normal())).collect()
            }
            Self::Permutation => {
                check_permutation::<T>(length, place)?;
                permutation(length, stream)
            }
            Self::Sorted(of) => {
                let (mut elements, read) = of.elements::<T>(length, stream, place)?;
                elements.sort_unstable_by(T::order);
                return Ok((elements, read));
            }
            Self::File(path) => {
                let read = read(path, place)?;
                return Ok((decode(&read.bytes, length, path, place)?, Some(read)));
            }
        };
        Ok((elements, None))
    }
}

fn check_range<T: Element>(low: f64, high: f64, place: &FillTarget<'_>) -> Result<()> {
    let (lowest, above) = T::RANGE;
    let wrong = match low < high {
        false => "is empty: write the lower bound first".to_owned(),
        true if low < lowest || high > above => format!("goes beyond {}", T::NAME),
        true => return Ok(()),
    };
    Err(Error::invalid(format!("`{}` is random in {low}..{high}, which {wrong}", place.name)))
}

fn check_normal<T: Element>(mean: f64, deviation: f64, place: &FillTarget<'_>) -> Result<()> {
    let FillTarget { name, .. } = place;
    if T::WHOLE {
        return Err(Error::invalid(format!(
            "`normal` gives floats, and `{name}` is of {}: take random_in(n, low..high)",
            T::NAME
        )));
    }
    if mean.is_finite() && deviation.is_finite() && deviation >= 0.0 {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{name}` is normal with the mean {mean} and the standard deviation {deviation}: both must be \
         finite, and the latter not negative"
    )))
}

fn check_permutation<T: Element>(length: usize, place: &FillTarget<'_>) -> Result<()> {
    let FillTarget { name, .. } = place;
    if !T::WHOLE {
        return Err(Error::invalid(format!(
            "`permutation` gives whole numbers, and `{name}` is of {}: take an integer type, or \
             random(n) for floats in no order",
            T::NAME
        )));
    }
    if length as f64 <= T::RANGE.1 {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{name}` is a permutation of 0..{length}, which goes beyond {}: take a wider type",
        T::NAME
    )))
}

/// 0..`length` in random order, every order as likely (Fisher and Yates).
fn permutation<T: Element>(length: usize, stream: &mut Stream) -> Vec<T> {
    let mut all: Vec<T> = (0..length as u64).map(T::from_index).collect();
    for end in (1..length).rev() {
        all.swap(end, stream.below(end as u64 + 1) as usize);
    }
    all
}

/// The file at `path`, as the annotation has it.
fn read(path: &Path, place: &FillTarget<'_>) -> Result<FileContents> {
    let folder = std::env::var_os(FOLDER_ENV).map(PathBuf::from);
    let at = folder.as_deref().unwrap_or(place.folder).join(path);
    let bytes = fs::read(&at).map_err(|error| {
        Error::failed(format!(
            "reading `{}` from {}: {error}; relative paths begin at the package's folder, or at \
             {FOLDER_ENV} where that is set, as for archives",
            place.name,
            at.display()
        ))
    })?;
    Ok(FileContents { path: path.to_owned(), bytes })
}

/// `length` elements that `bytes` are, all that the file at `path` holds.
fn decode<T: Element>(
    bytes: &[u8],
    length: usize,
    path: &Path,
    place: &FillTarget<'_>,
) -> Result<Vec<T>> {
    let size = size_of::<T>();
    if Some(bytes.len()) == length.checked_mul(size) {
        return Ok(bytes.chunks_exact(size).map(T::from_le).collect());
    }
    let holds = match bytes.len() % size {
        0 => format!("which are {} of {}", bytes.len() / size, T::NAME),
        _ => format!("no whole number of {}", T::NAME),
    };
    Err(Error::invalid(format!(
        "`{}` takes {length} elements of {}, and {} has {} bytes, {holds}: give its own length and type, \
         or write the file anew",
        place.name,
        T::NAME,
        path.display(),
        bytes.len(),
    )))
}

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Stream(u64);

impl Stream {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In 0..1.
    fn unit(&mut self) -> f64 {
        <f64 as Element>::from_bits(self.bits())
    }

    /// Below `end`, each as likely up to one part in 2⁶⁴ ÷ `end`.
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// Of the standard normal distribution (Box and Muller). `libm` has the same bits everywhere.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }
}
