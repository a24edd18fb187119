//! A frame that scrolls.

use maud::{Markup, html};

/// A picture that a narrow page scrolls: smaller, it could not be read.
pub(super) fn wide(name: &str, picture: Markup) -> Markup {
    html! { div.wide tabindex="0" role="region" aria-label=(name) { (picture) } }
}
