macro_rules! kernel {
    ($name:ident, $($key:tt)*) => {
        #[gpuprof::kernel(grid = 1, block = 32, args(zeros(32), zeros(32), zeros(32)), $($key)*)]
        pub unsafe fn $name(x: *const f32, y: *mut f32, z: *mut u32) {
            let _ = (x, y, z);
        }
    };
}

kernel!(no_function, verify = 5);
kernel!(other_parameters, verify = |x, y| on_host(x, y, &mut []));
kernel!(of_several, verify = on_host, compare = same);
kernel!(not_written, verify = on_host, tolerance(x = 1e-5, y = -1));
kernel!(unknown, verify = on_host, compare(w = same));
kernel!(twice, verify = on_host, compare(y = same, y = same));
kernel!(both, verify = on_host, compare(y = same), tolerance(y = 1e-5));
kernel!(without_reference, compare(y = same), tolerance = 1e-5);
kernel!(no_value, verify = on_host, tolerance(y));
kernel!(another_type, verify = on_host, compare(z = same));
kernel!(no_result, verify = on_host, compare(y = |device, host| device == host));
kernel!(ints, verify = |x, y, z| on_host(x, y, z), compare(y = same), tolerance(z = 0));

fn on_host(_x: &[f32], _y: &mut [f32], _z: &mut [u32]) {}

fn same(_device: &[f32], _host: &[f32]) -> Result<(), String> {
    Ok(())
}

fn main() {}
