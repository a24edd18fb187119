//! The suffix that makes entry points unique, since all kernels of a package and of the kernel
//! crates it depends on become one PTX module.
//!
//! Input: the annotated function. Output: the end of its entry point's name, `$1a2b3c4d$12$1$`: a
//! hash of the package, the file and the signature, then line and column of the outermost
//! expansion. The host compiles the same text and gets the same name. An attribute macro cannot
//! know its module. The subcommand removes the suffix again if the name is unique in its module.

use std::env;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Signature;

/// The end of the name of `function`'s entry point, as an expression of a string literal.
pub(crate) fn expand_suffix(function: &Signature) -> TokenStream {
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let file = function.ident.span().local_file().map(|file| within(&folder, &file));
    let file = file.unwrap_or_default();
    let written = function.to_token_stream().to_string();
    let hash = hash(&[&package, &file.to_string_lossy(), &written]);
    quote! {
        ::core::concat!("$", #hash, "$", ::core::line!(), "$", ::core::column!(), "$")
    }
}

/// `file` as seen from its package: cargo names it from the workspace's root, or in full.
fn within(folder: &Path, file: &Path) -> PathBuf {
    let whole = env::current_dir().map_or_else(|_| file.to_owned(), |here| here.join(file));
    whole.strip_prefix(folder).map_or(whole.clone(), Path::to_owned)
}

/// FNV-1a, of which the upper half is enough; the same in every build, unlike the library's hashes.
fn hash(parts: &[&str]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{:08x}", hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashed_parts_are_separated() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_eq!(hash(&["saxpy"]).len(), 8);
    }

    #[test]
    fn a_file_is_named_from_its_package() {
        let here = env::current_dir().unwrap();
        assert_eq!(within(&here, Path::new("src/a.rs")), Path::new("src/a.rs"));
        assert_eq!(within(&here, &here.join("src/a.rs")), Path::new("src/a.rs"));
        let other = Path::new("/elsewhere/src/a.rs");
        assert_eq!(within(&here, other), other);
    }
}
