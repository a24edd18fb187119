//! The content-security policy of a page: its own style and script, by their hashes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The policy that allows `style` and `script` and nothing else: no request, no frame, no form.
pub(super) fn allow(style: &str, script: &str) -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(style),
        hash(script)
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_script_hash_matches_the_example_of_the_standard() {
        // The example of the W3C's "Content Security Policy Level 3", section 6.7.3.3.
        let policy = super::allow("", "alert('Hello, world.');");
        let hash = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
        assert!(policy.contains(hash), "{policy}");
    }
}
