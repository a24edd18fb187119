//! Images on their way through files: sealed when they leave this crate, checked when they come
//! back.
//!
//! Config, availability and counter data images are CUPTI's own binary formats. CUPTI reads them
//! without checks: one altered byte, or an image of another kind, crashed 12.6 to 13.1. So every
//! image from this crate begins with a header of 32 bytes (magic, kind, length, hash), and bytes
//! without a matching header never reach CUPTI. The hash protects against accidents, not against
//! attackers: a process that reads forged images can as well be given a forged CUPTI.

use std::borrow::Cow;

use crate::abi::Function;
use crate::{Code, Failure};

/// The kind of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Config,
    Availability,
    CounterData,
}

const MAGIC: &[u8; 8] = b"gpuprof\0";
const HEADER: usize = 32;
/// CUPTI allocates its own images so; a slice out of a larger file may lie anywhere.
const ALIGNMENT: usize = 16;

impl Kind {
    const fn tag(self) -> &'static [u8; 8] {
        match self {
            Self::Config => b"config  ",
            Self::Availability => b"availabl",
            Self::CounterData => b"counters",
        }
    }

    fn header(self, image: &[u8]) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(MAGIC);
        header[8..16].copy_from_slice(self.tag());
        header[16..24].copy_from_slice(&(image.len() as u64).to_le_bytes());
        header[24..].copy_from_slice(&fnv1a(image).to_le_bytes());
        header
    }

    /// An image that CUPTI just wrote, ready for a file.
    pub(crate) fn seal(self, image: &[u8]) -> Vec<u8> {
        [&self.header(image), image].concat()
    }

    /// The image in `sealed`, aligned; none if it is damaged, cut short, or of another kind.
    fn open(self, sealed: &[u8]) -> Option<Cow<'_, [u8]>> {
        let (header, image) = sealed.split_at_checked(HEADER)?;
        if header != self.header(image) {
            return None;
        }
        let aligned = image.as_ptr().addr() % ALIGNMENT == 0;
        Some(if aligned { Cow::Borrowed(image) } else { Cow::Owned(image.to_vec()) })
    }

    /// The image for `function`; for other bytes, the error that CUPTI returns for invalid ones.
    pub(crate) fn unseal<'s, T>(
        self,
        sealed: &'s [u8],
        function: &Function<T>,
    ) -> Result<Cow<'s, [u8]>, Failure> {
        self.open(sealed).ok_or_else(|| function.failed(Code::InvalidParameter))
    }
}

/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_image_is_opened_at_any_alignment() {
        let sealed = Kind::Config.seal(b"some image");
        let mut shifted = vec![0; 3];
        shifted.extend(&sealed);
        for bytes in [&sealed[..], &shifted[3..]] {
            let image = Kind::Config.open(bytes).unwrap();
            assert_eq!(&*image, b"some image");
            assert_eq!(image.as_ptr().addr() % ALIGNMENT, 0);
        }
    }

    #[test]
    fn altered_truncated_or_foreign_images_are_refused() {
        let sealed = Kind::CounterData.seal(b"some image");
        assert_eq!(Kind::Config.open(&sealed), None);
        for at in 0..sealed.len() {
            assert_eq!(Kind::CounterData.open(&sealed[..at]), None, "cut at {at}");
            let mut altered = sealed.clone();
            altered[at] ^= 0x10;
            assert_eq!(Kind::CounterData.open(&altered), None, "altered at {at}");
        }
    }

    #[test]
    fn the_hash_is_fnv1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
