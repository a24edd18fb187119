macro_rules! kernel {
    ($name:ident, $key:ident = $value:expr) => {
        #[gpuprof::kernel(
            grid = 1,
            block = 32,
            args(zeros(32)),
            verify = on_host,
            $key = $value,
        )]
        pub unsafe fn $name(y: *mut f32) {
            let _ = y;
        }
    };
}

kernel!(negative, tolerance = -1);
kernel!(negative_absolute, tolerance = (absolute(-1e-7), 1e-5));
kernel!(no_number, tolerance = f64::NAN);
kernel!(boundless, tolerance = (1e-7, f64::INFINITY));
kernel!(text, tolerance = "1e-5");
kernel!(three, tolerance = (1e-7, 1e-5, 1e-5));
kernel!(anything, tolerance = 1e9);
kernel!(any_share, tolerance = (absolute(2), 1));
kernel!(always, reset = always);
kernel!(fine, tolerance = (absolute(1e-7), 0));

fn on_host(_y: &mut [f32]) {}

fn main() {}
