//! Pictures that are compared within a tolerance.
//!
//! Input: a screenshot. Output: a small picture in grey, in which a pixel is the mean of a square
//! of the screenshot: it does not depend on the smoothing of letters, but on their positions.

use std::fs;
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, Encoder};

/// The side of the square that becomes a pixel.
const SQUARE: usize = 4;

/// How far two pixels may be apart, of 255.
const NEAR: u8 = 24;

/// How many pixels in a thousand may be further apart.
const FAR_IN_THOUSAND: usize = 10;

/// A picture in grey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    grey: Vec<u8>,
}

impl Picture {
    /// Reads a PNG, in colour or in grey, and keeps its light.
    ///
    /// # Panics
    /// It is not a PNG of eight bits.
    pub fn read(png: &[u8]) -> Self {
        let mut reader = Decoder::new(std::io::Cursor::new(png)).read_info().expect("it is a PNG");
        let size = reader.output_buffer_size().expect("it fits into memory");
        let mut pixels = vec![0; size];
        let told = reader.next_frame(&mut pixels).expect("it is a whole PNG");
        assert_eq!(told.bit_depth, BitDepth::Eight, "pictures have eight bits");
        let channels = match told.color_type {
            ColorType::Grayscale => 1,
            ColorType::GrayscaleAlpha => 2,
            ColorType::Rgb => 3,
            ColorType::Rgba => 4,
            ColorType::Indexed => panic!("pictures have no palette"),
        };
        let (width, height) = (told.width as usize, told.height as usize);
        let light = |pixel: &[u8]| match *pixel {
            [r, g, b, ..] => {
                let sum = 299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b);
                u8::try_from(sum / 1000).unwrap_or(u8::MAX)
            }
            [grey, ..] => grey,
            [] => 0,
        };
        let grey = pixels[..width * height * channels].chunks_exact(channels).map(light).collect();
        Self { width, height, grey }
    }

    /// A pixel for each square of this picture.
    #[must_use]
    pub fn small(&self) -> Self {
        let (width, height) = (self.width / SQUARE, self.height / SQUARE);
        let mean = |at: usize| {
            let (x, y) = (at % width * SQUARE, at / width * SQUARE);
            let row = |dy: usize| {
                let begin = (y + dy) * self.width + x;
                self.grey[begin..begin + SQUARE].iter().map(|&grey| u32::from(grey)).sum::<u32>()
            };
            let sum: u32 = (0..SQUARE).map(row).sum();
            #[expect(clippy::cast_possible_truncation, reason = "a mean of bytes")]
            let mean = (sum / (SQUARE * SQUARE) as u32) as u8;
            mean
        };
        Self { width, height, grey: (0..width * height).map(mean).collect() }
    }

    /// How many pixels in a thousand are far from the other picture's; none if the sizes differ.
    pub fn far_in_thousand(&self, other: &Self) -> Option<usize> {
        let same = (self.width, self.height) == (other.width, other.height);
        let pairs = || self.grey.iter().zip(&other.grey);
        let far = || pairs().filter(|&(&a, &b)| a.abs_diff(b) > NEAR).count();
        same.then(|| 1000 * far() / self.grey.len().max(1))
    }

    /// Holds this picture against the checked-in one; with `SCREENSHOTS=write` it becomes that.
    ///
    /// # Panics
    /// They differ: this one is then next to the other one, as `NAME.new.png`.
    pub fn hold_against(&self, file: &Path) {
        let small = self.small();
        let fresh = file.with_extension("new.png");
        if std::env::var_os("SCREENSHOTS").is_some_and(|what| what == "write") {
            return small.write(file);
        }
        let kept = fs::read(file).unwrap_or_else(|e| {
            panic!("{}: {e}; SCREENSHOTS=write makes it", file.display());
        });
        let far = small.far_in_thousand(&Self::read(&kept));
        if far.is_none_or(|far| far > FAR_IN_THOUSAND) {
            small.write(&fresh);
            panic!(
                "{} differs in {far:?} of 1000 pixels: look at {}, and if the page is meant to look \
                 so, run again with SCREENSHOTS=write",
                file.display(),
                fresh.display()
            );
        }
    }

    fn write(&self, file: &Path) {
        let size = |length: usize| u32::try_from(length).expect("a picture is small");
        let out = fs::File::create(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut encoder = Encoder::new(out, size(self.width), size(self.height));
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header().expect("it can be written");
        writer.write_image_data(&self.grey).expect("it can be written");
    }
}
