//! SHA-256 in hexadecimal.

use std::fs;

use camino::Utf8Path;
use sha2::{Digest, Sha256};

use crate::hex::hex;

/// The SHA-256 of some bytes in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The SHA-256 of a file in hexadecimal; `None` if it cannot be read.
pub fn sha256_of(path: &Utf8Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| hex(&Sha256::digest(bytes)))
}
