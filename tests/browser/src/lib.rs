//! Tests of the HTML page in a browser, and their tools: a browser driven by the WebDriver
//! protocol, pictures that are compared within a tolerance, and runs to show.
//!
//! Everything is behind the feature `browser`, so that nothing else needs a browser.

#![cfg(feature = "browser")]

pub mod browser;
pub mod picture;
pub mod runs;
