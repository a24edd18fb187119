//! Tables of functions of the driver's API that only hand their arguments on.

/// Exports functions that return a code: each with its parameters and its result.
macro_rules! exported {
    ($($(#[$about:meta])* $visible:vis fn $name:ident($($parameter:ident: $ty:ty),*) = $result:expr;)*) => {
        $(
            $(#[$about])*
            #[unsafe(no_mangle)]
            $visible extern "C" fn $name($($parameter: $ty),*) -> $crate::driver::code::Code {
                $result
            }
        )*
    };
}
pub(super) use exported;
