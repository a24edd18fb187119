//! Machine code of a GPU, which this driver does not run. The fake driver of the tests has a file
//! of its own in place of this one, which is why `stand_in` is given the image and may succeed.

use super::code::Code;
use super::pointers::Source;
use super::state::Driver;

/// The PTX that stands in for machine code, of which `image` is `what`: there is none.
///
/// # Errors
/// Always, with the reason.
pub fn stand_in(driver: &mut Driver, what: &str, _image: Source) -> Result<String, (Code, String)> {
    let why = refusal(what);
    driver.note("unsupported_binary", &why);
    Err((Code::NO_BINARY_FOR_GPU, why))
}

/// Why `what` is not run.
pub fn refusal(what: &str) -> String {
    format!("the module is {what} (GPU machine code): the emulator runs PTX text only")
}
