//! The two faces of a device function: PTX on the device, a panic that explains itself on the host.

/// Panics on the host, since `function` needs a running kernel.
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
#[track_caller]
pub(crate) fn device_only(function: &str) -> ! {
    panic!(
        "`gpuprof::{function}` runs on the device only: it belongs in a #[gpuprof::kernel], which is \
         launched and cannot be called on the host"
    );
}

/// `on_device!("module::function"(arguments…), { body })`: the body on the device, [`device_only`]
/// on the host.
macro_rules! on_device {
    ($name:literal ($($argument:ident),*), $body:block) => {{
        #[cfg(target_arch = "nvptx64")]
        $body
        #[cfg(not(target_arch = "nvptx64"))]
        {
            $(let _ = $argument;)*
            crate::device::function::device_only($name)
        }
    }};
}
