//! Machine code of a GPU, which this driver does not run. The fake driver of the tests replaces
//! this file, which is why `stand_in` gets the image and may succeed.

use super::code::Code;
use super::pointers::Source;
use super::state::Driver;

/// The PTX to run instead of the machine code `image`, described by `what`: there is none.
///
/// # Errors
/// Always, with the reason.
pub fn stand_in(driver: &mut Driver, what: &str, _image: Source) -> Result<String, (Code, String)> {
    let why = refusal(what);
    driver.note("unsupported_binary", &why);
    Err((Code::NO_BINARY_FOR_GPU, why))
}

/// Why `what` is not run.
fn refusal(what: &str) -> String {
    format!(
        "the module is {what}: the emulator runs PTX alone, up to that of the device. nvcc embeds \
         it with -gencode arch=compute_80,code=compute_80, also in NVCC_APPEND_FLAGS"
    )
}
