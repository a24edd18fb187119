//! Exports functions of the runtime.

/// Exports functions with bodies that return a `Result`, each under all of its names. Programs with
/// a default stream per thread use the further names (`_ptds`).
macro_rules! runtime {
    ($(fn $name:ident $(| $alias:ident)* ($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $($crate::macros::runtime! {
            @each ($name $($alias)*) ($($argument: $type),*) $body
        })*
    };
    (@each ($($name:ident)*) $arguments:tt $body:block) => {
        $($crate::macros::runtime! { @one $name $arguments $body })*
    };
    (@one $name:ident ($($argument:ident: $type:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> $crate::error::Error {
            $crate::error::report(|| $body)
        }
    };
}

/// As [`runtime`] for functions on a stream. Under the second name (`_ptsz`) the default stream is
/// the thread's own.
macro_rules! on_stream {
    ($(
        fn $name:ident | $per_thread:ident ($($argument:ident: $type:ty),* $(,)?)
        on $stream:ident $body:block
    )*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> $crate::error::Error {
            $crate::error::report(|| $body)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $per_thread($($argument: $type),*) -> $crate::error::Error {
            let $stream = $stream.per_thread();
            $crate::error::report(|| $body)
        }
    )*};
}

pub(crate) use {on_stream, runtime};
