//! Functions under their first names, which some programs look up. Their parameters never changed.

use super::code::Code;
use super::context::{cuCtxDestroy_v2, cuCtxPopCurrent_v2, cuCtxPushCurrent_v2};
use super::event::cuEventDestroy_v2;
use super::memory::cuMemHostRegister_v2;
use super::pointers::{Handle, Out, Source};
use super::stream::cuStreamDestroy_v2;
use std::ffi::c_uint;

macro_rules! first_names {
    ($($first:ident($($argument:ident: $type:ty),*) = $now:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $first($($argument: $type),*) -> Code {
                $now($($argument),*)
            }
        )*
    };
}

first_names! {
    cuCtxDestroy(context: Handle) = cuCtxDestroy_v2;
    cuCtxPopCurrent(context: Out<Handle>) = cuCtxPopCurrent_v2;
    cuCtxPushCurrent(context: Handle) = cuCtxPushCurrent_v2;
    cuEventDestroy(event: Handle) = cuEventDestroy_v2;
    cuMemHostRegister(pointer: Source, bytes: usize, flags: c_uint) = cuMemHostRegister_v2;
    cuStreamDestroy(stream: Handle) = cuStreamDestroy_v2;
}
