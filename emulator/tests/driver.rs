//! The driver as a program meets it: built with `rustc` as the tool builds it, but not optimised,
//! which takes five times as long as the tests; loaded by path, and called through unmodified
//! cudarc.

use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, DriverError, LaunchConfig, PushKernelArg,
    sys::{self, CUlimit, CUresult},
};
use cudarc::nvrtc::Ptx;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

const KERNELS: &str = include_str!("fixtures/kernels.ptx");

/// The library, built once and never unloaded.
static LIBRARY: LazyLock<libloading::Library> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (fatbin, driver) = (folder.join("libfatbin.rlib"), folder.join("libcuda.so"));
    let source = Path::new(fatbin::SOURCE_DIR);
    compile(source, "fatbin", &["--crate-type", "rlib"], &fatbin);
    let fatbin = format!("fatbin={}", fatbin.display());
    let soname = "link-arg=-Wl,-soname,libcuda.so";
    let as_driver = ["--crate-type", "cdylib", "--extern", &fatbin, "-C", soname];
    compile(Path::new(env!("CARGO_MANIFEST_DIR")), "cuda", &as_driver, &driver);
    // SAFETY: the emulator's library has no initialisers.
    unsafe { libloading::Library::new(&driver) }.expect("the driver loads")
});

fn compile(package: &Path, name: &str, arguments: &[&str], output: &Path) {
    let mut command = Command::new("rustc");
    // For the processor that runs this test, which may be emulated.
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let linker = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
    if let Ok(linker) = std::env::var(linker) {
        command.args(["-C", &format!("linker={linker}")]);
    }
    let status = command
        .args(["--edition", "2024", "--crate-name", name, "--target", &target])
        .args(["-C", "panic=unwind", "--cfg", "feature=\"interpreter\"", "--cfg", "gpuprof_driver"])
        .args(arguments)
        .arg(package.join("src/lib.rs"))
        .arg("-o")
        .arg(output)
        .status()
        .expect("rustc starts");
    assert!(status.success(), "rustc builds the driver");
}

fn take(name: &[u8]) -> Option<String> {
    // SAFETY: by the driver's contract these functions have these types, and their strings go back
    // to `gpuemu_free`.
    unsafe {
        let take: libloading::Symbol<'_, extern "C" fn() -> *mut c_char> =
            LIBRARY.get(name).unwrap();
        let free: libloading::Symbol<'_, extern "C" fn(*mut c_char)> =
            LIBRARY.get(b"gpuemu_free").unwrap();
        let text = take();
        if text.is_null() {
            return None;
        }
        let owned = CStr::from_ptr(text).to_str().unwrap().to_owned();
        free(text);
        Some(owned)
    }
}

fn report() -> String {
    take(b"gpuemu_take_report").unwrap()
}

pub fn fault() -> String {
    take(b"gpuemu_take_fault").expect("a fault was noted")
}

/// A separate context for each test: the driver is shared by the process, and a fault makes its
/// context unusable.
pub struct Session {
    pub context: Arc<CudaContext>,
    _alone: MutexGuard<'static, ()>,
}

pub fn session() -> Session {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    LazyLock::force(&LIBRARY);
    let context = CudaContext::new(0).unwrap();
    report();
    Session { context, _alone: alone }
}

impl Session {
    fn load(&self, ptx: &str) -> Result<Arc<CudaModule>, DriverError> {
        self.context.load_module(Ptx::from_src(ptx))
    }

    fn function(&self, name: &str) -> CudaFunction {
        self.load(KERNELS).unwrap().load_function(name).unwrap()
    }
}

pub fn config(grid: u32, block: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (grid, 1, 1), block_dim: (block, 1, 1), shared_mem_bytes: 0 }
}

#[test]
fn saxpy_runs_and_is_counted() {
    let session = session();
    let stream = session.context.default_stream();
    let n = 1000usize;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let device_x = stream.clone_htod(&x).unwrap();
    let mut device_y = stream.clone_htod(&vec![1.0f32; n]).unwrap();
    let function = session.function("saxpy");
    let mut launch = stream.launch_builder(&function);
    let count = n as i32;
    launch.arg(&count).arg(&2.0f32).arg(&device_x).arg(&mut device_y);
    // SAFETY: the arguments are those of the kernel.
    unsafe { launch.launch(config(4, 256)) }.unwrap();
    let y = stream.clone_dtoh(&device_y).unwrap();
    assert!(y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + 1.0));

    let report = report();
    for expected in [
        "{\"device\":{\"name\":\"Emulated H200\",\"chip\":\"GH100\",\"compute_capability\":[9,0],\"sm_count\":132,",
        "\"kernel\":\"saxpy\",\"grid\":[4,1,1],\"block\":[256,1,1],\"shared_bytes\":0,\"stream\":0,",
        "\"smsp__warps_launched.sum\":32",
        "\"sm__ctas_launched.sum\":4",
        // 1000 floats twice: 125 sectors each; 31 full warps and one with eight threads.
        "\"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum\":250",
        "\"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum\":64",
        "\"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum\":125",
        "\"smsp__sass_data_bytes_mem_global_op_ld.sum\":8000",
        "\"ptx__thread_inst_executed_op_ffma_pred_on.sum\":1000",
        "\"ptx__branches_divergent.sum\":1",
    ] {
        assert!(report.contains(expected), "{expected} is not in {report}");
    }
}

#[test]
fn an_access_out_of_bounds_is_named_and_sticks() {
    let session = session();
    let stream = session.context.default_stream();
    let mut out = stream.alloc_zeros::<f32>(1024).unwrap();
    let function = session.function("out_of_bounds");
    let mut launch = stream.launch_builder(&function);
    launch.arg(&mut out).arg(&1000i32);
    // SAFETY: the kernel's stores beyond the end are what is tested.
    unsafe { launch.launch(config(2, 32)) }.unwrap();
    assert_eq!(stream.synchronize().unwrap_err().0, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(session.load(KERNELS).unwrap_err().0, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let fault = fault();
    for expected in [
        "\"kind\":\"out_of_bounds\"",
        "kernel 'out_of_bounds' at kernels.cu:",
        "block (0,0,0), thread (24,0,0): writes 4 bytes of global memory at 0x7",
        "just past the end of a 4096-byte allocation at 0x7",
        "\"block\":[0,0,0],\"thread\":[24,0,0]",
        "\"frames\":[{\"file\":\"kernels.cu\",\"line\":",
    ] {
        assert!(fault.contains(expected), "{expected} is not in {fault}");
    }
}

#[test]
fn recursion_is_limited_by_the_stack_size() {
    let session = session();
    let stream = session.context.default_stream();
    let limit = CUlimit::CU_LIMIT_STACK_SIZE;
    assert_eq!(session.context.get_limit(limit).unwrap(), 1024);
    let module = session.load(include_str!("fixtures/calls.ptx")).unwrap();
    let function = module.load_function("depth").unwrap();
    let mut out = stream.alloc_zeros::<i32>(64).unwrap();
    let launch = |out: &mut _| {
        let mut launch = stream.launch_builder(&function);
        launch.arg(out).arg(&500i32);
        // SAFETY: the arguments are those of the kernel.
        unsafe { launch.launch(config(1, 32)) }.unwrap();
    };
    session.context.set_limit(limit, 4096).unwrap();
    launch(&mut out);
    assert_eq!(stream.clone_dtoh(&out).unwrap()[32..], [500; 32]);
    let too_much = session.context.set_limit(limit, (512 << 10) + 1).unwrap_err();
    assert_eq!(too_much.0, CUresult::CUDA_ERROR_INVALID_VALUE);
    session.context.set_limit(limit, 1024).unwrap();
    launch(&mut out);
    let error = stream.synchronize().unwrap_err();
    assert_eq!(error.0, CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR);
    let fault = fault();
    assert!(fault.contains("\"kind\":\"stack_overflow\""), "{fault}");
    assert!(fault.contains("has 1024 bytes (CU_LIMIT_STACK_SIZE)"), "{fault}");
}

#[test]
fn ptx_that_is_not_executed_is_refused_by_name_and_line() {
    let session = session();
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<9>;\n\
                wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0}, [%r1];\nret;\n}\n";
    assert_eq!(session.load(text).unwrap_err().0, CUresult::CUDA_ERROR_INVALID_PTX);
    assert_eq!(
        fault(),
        "{\"kind\":\"unsupported_ptx\",\"message\":\"unsupported PTX instruction \
         'wmma.load.a.sync.aligned.row.m16n16k16.global.f16' at line 6\"}"
    );
}

#[test]
fn more_constant_memory_than_there_is_is_refused() {
    let session = session();
    let of = |bytes: u32| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.const .align 4 .b8 a[65532];\n\
             .const .align 1 .b8 b[{bytes}];\n.visible .entry k() {{\nret;\n}}\n"
        )
    };
    assert!(session.load(&of(4)).is_ok());
    assert_eq!(session.load(&of(5)).unwrap_err().0, CUresult::CUDA_ERROR_INVALID_PTX);
    let said = "65537 bytes of constant memory, and the device has 65536";
    assert!(fault().contains(said), "{}", fault());
}

#[test]
fn machine_code_is_refused_with_a_reason() {
    let session = session();
    let cubin = [b"\x7fELF".as_slice(), &[0; 60]].concat();
    let error = session.context.load_module(Ptx::from_binary(cubin)).unwrap_err();
    assert_eq!(error.0, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    let told = fault();
    assert!(
        told.contains("the module is a cubin (GPU machine code): the emulator runs PTX alone"),
        "{told}"
    );
}

#[test]
fn a_launch_beyond_the_limits_is_an_error_that_does_not_stick() {
    let session = session();
    let stream = session.context.default_stream();
    let out = stream.alloc_zeros::<f32>(64).unwrap();
    let function = session.function("out_of_bounds");
    let mut launch = stream.launch_builder(&function);
    launch.arg(&out).arg(&0i32);
    // SAFETY: the launch is refused.
    let error = unsafe { launch.launch(config(1, 1056)) }.unwrap_err();
    assert_eq!(error.0, CUresult::CUDA_ERROR_INVALID_VALUE);
    assert!(fault().contains("\"kind\":\"launch_config\",\"message\":\"kernel 'out_of_bounds' cannot be launched: block.x is 1056"));
    // SAFETY: 64 threads store to 64 floats.
    unsafe { launch.launch(config(2, 32)) }.unwrap();
    assert_eq!(stream.clone_dtoh(&out).unwrap(), [1.0; 64]);
}

#[test]
fn a_refused_launch_is_reported_until_the_program_continues() {
    let session = session();
    let stream = session.context.default_stream();
    let out = stream.alloc_zeros::<f32>(64).unwrap();
    let function = session.function("out_of_bounds");
    let mut launch = stream.launch_builder(&function);
    launch.arg(&out).arg(&0i32);
    let told = || take(b"gpuemu_take_refused_launch");
    let mut refused = || {
        // SAFETY: the launch is refused.
        unsafe { launch.launch(config(1, 1056)) }.unwrap_err();
    };
    refused();
    // Clean-up calls succeed.
    drop(stream.alloc_zeros::<f32>(1).unwrap());
    assert!(told().is_some_and(|told| told.contains("block.x is 1056")));
    assert_eq!(told(), None);
    refused();
    session.load("no PTX").unwrap_err();
    assert_eq!(told(), None);
    refused();
    // SAFETY: 64 threads store to 64 floats.
    unsafe { launch.launch(config(2, 32)) }.unwrap();
    assert_eq!((told(), take(b"gpuemu_take_fault")), (None, None));
}

#[test]
fn the_reason_of_a_failure_is_forgotten_when_a_launch_is_accepted() {
    let session = session();
    let stream = session.context.default_stream();
    let out = stream.alloc_zeros::<f32>(64).unwrap();
    let function = session.function("out_of_bounds");
    session.load("no PTX").unwrap_err();
    let mut launch = stream.launch_builder(&function);
    launch.arg(&out).arg(&0i32);
    // SAFETY: 64 threads store to 64 floats.
    unsafe { launch.launch(config(2, 32)) }.unwrap();
    assert_eq!(take(b"gpuemu_take_fault"), None);
}

#[test]
fn a_lookup_after_initialisation_hints_at_a_foreign_runtime() {
    let _session = session();
    // SAFETY: the emulated driver reads none of the parameters that the header has.
    let look_up: libloading::Symbol<'_, extern "C" fn() -> CUresult> =
        unsafe { LIBRARY.get(b"cuGetProcAddress_v2") }.unwrap();
    assert_eq!(look_up(), CUresult::CUDA_ERROR_NOT_SUPPORTED);
    assert!(fault().contains("the program carries NVIDIA's CUDA runtime"));
}

#[test]
fn device_attributes_match_an_h200() {
    use cudarc::driver::sys::CUdevice_attribute::*;
    let session = session();
    assert_eq!(session.context.name().unwrap(), "Emulated H200");
    assert_eq!(session.context.compute_capability().unwrap(), (9, 0));
    for (attribute, value) in [
        (CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132),
        (CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024),
        (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232_448),
        (CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62_914_560),
        (CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1_980_000),
        (CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6016),
        (CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1),
    ] {
        assert_eq!(session.context.attribute(attribute).unwrap(), value, "{attribute:?}");
    }
}

#[test]
fn a_kernel_has_attributes_but_no_registers() {
    let session = session();
    let function = session.function("transpose_padded");
    assert_eq!(function.shared_size_bytes().unwrap(), 32 * 33 * 4);
    assert_eq!(function.max_threads_per_block().unwrap(), 1024);
    assert_eq!(function.num_regs().unwrap_err().0, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    assert_eq!(function.occupancy_max_active_blocks_per_multiprocessor(256, 0, None).unwrap(), 8);
}

#[test]
fn streams_and_events_order_work_but_have_no_time() {
    let session = session();
    let stream = session.context.new_stream().unwrap();
    let start =
        stream.record_event(Some(cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT)).unwrap();
    let data = stream.clone_htod(&[1u32, 2, 3]).unwrap();
    let mut copy = stream.alloc_zeros::<u32>(3).unwrap();
    stream.memcpy_dtod(&data, &mut copy).unwrap();
    let end =
        stream.record_event(Some(cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT)).unwrap();
    assert_eq!(stream.clone_dtoh(&copy).unwrap(), [1, 2, 3]);
    assert_eq!(start.elapsed_ms(&end).unwrap_err().0, CUresult::CUDA_ERROR_NOT_SUPPORTED);
}

#[test]
fn a_trap_is_a_launch_failure_as_on_hardware() {
    let session = session();
    let stream = session.context.default_stream();
    let mut out = stream.alloc_zeros::<i32>(32).unwrap();
    let function = session.function("traps");
    let mut launch = stream.launch_builder(&function);
    launch.arg(&mut out);
    // SAFETY: the kernel's trap is what is tested.
    unsafe { launch.launch(config(8, 32)) }.unwrap();
    assert_eq!(stream.clone_dtoh(&out).unwrap_err().0, CUresult::CUDA_ERROR_LAUNCH_FAILED);
    assert!(fault().contains("\"kind\":\"trap\""));
    assert!(report().contains("\"launches\":[]"));
}

#[test]
fn the_jit_error_log_holds_the_reason_of_a_refused_module() {
    use cudarc::driver::sys::CUjit_option;
    let _session = session();
    let text =
        c".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\nnosuch.u32;\n}\n";
    let load = |bytes: usize| {
        let mut log = vec![b'#'; 256];
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values = [log.as_mut_ptr().cast(), bytes as *mut std::ffi::c_void];
        let mut module = std::ptr::null_mut();
        // SAFETY: two options with a value each; the log is longer than is said.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        assert_eq!(code, CUresult::CUDA_ERROR_INVALID_PTX);
        (CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap().to_owned(), values[1] as usize)
    };
    let whole = "unsupported PTX instruction 'nosuch.u32' at line 5";
    assert_eq!(load(200), (whole.to_owned(), whole.len() + 1));
    assert_eq!(load(12), ("unsupported".to_owned(), 12));
}

#[test]
fn a_created_stream_needs_no_current_context() {
    let session = session();
    let created = session.context.new_stream().unwrap();
    let stream = created.cu_stream() as usize;
    let elsewhere = std::thread::spawn(move || {
        let stream = stream as sys::CUstream;
        let mut address = 0;
        // SAFETY: the addresses are those of locals; the stream lives as long as the context.
        unsafe {
            let own = sys::cuMemAllocAsync(&raw mut address, 64, stream);
            let filled = sys::cuMemsetD32Async(address, 7, 16, stream);
            let mut words = [0_u32; 16];
            let read = sys::cuMemcpyDtoHAsync_v2(words.as_mut_ptr().cast(), address, 64, stream);
            let freed = sys::cuMemFreeAsync(address, stream);
            let default = sys::cuMemAllocAsync(&raw mut address, 64, std::ptr::null_mut());
            let unknown = sys::cuStreamSynchronize(0x1234_5670 as sys::CUstream);
            ([own, filled, read, freed, sys::cuStreamSynchronize(stream)], words, default, unknown)
        }
    });
    let (codes, words, default, unknown) = elsewhere.join().unwrap();
    assert_eq!(codes, [CUresult::CUDA_SUCCESS; 5]);
    assert_eq!(words, [7; 16]);
    assert_eq!(default, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    assert_eq!(unknown, CUresult::CUDA_ERROR_INVALID_HANDLE);
}

#[test]
fn ranges_that_no_allocation_holds_are_refused() {
    let session = session();
    session.context.bind_to_thread().unwrap();
    let mut address = 0;
    // SAFETY: the driver refuses what is wrong with these device addresses.
    let codes = unsafe {
        assert_eq!(sys::cuMemAlloc_v2(&raw mut address, 128), CUresult::CUDA_SUCCESS);
        [
            sys::cuMemsetD32_v2(address, 1, 1 << 62),
            sys::cuMemsetD16_v2(address, 1, 1 << 63),
            sys::cuMemsetD8_v2(address, 1, usize::MAX),
            sys::cuMemcpyDtoD_v2(address, address, usize::MAX),
            sys::cuMemsetD32_v2(address + 2, 1, 1),
            sys::cuMemsetD16_v2(address + 1, 1, 1),
            sys::cuMemFree_v2(address + 4),
        ]
    };
    assert_eq!(codes, [CUresult::CUDA_ERROR_INVALID_VALUE; 7]);
    let told = fault();
    let inside =
        format!("4 bytes into a 128-byte allocation: free its first address, {address:#x}");
    assert!(told.contains(&inside), "{told}");
    // SAFETY: as above; the address is that of an allocation.
    assert_eq!(unsafe { sys::cuMemFree_v2(address) }, CUresult::CUDA_SUCCESS);
}

#[test]
fn a_launch_needs_exactly_one_list_of_parameters() {
    let session = session();
    session.context.bind_to_thread().unwrap();
    let text = std::ffi::CString::new(KERNELS).unwrap();
    let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the texts end with a NUL, and the handles are the driver's.
    unsafe {
        sys::cuModuleLoadData(&raw mut module, text.as_ptr().cast()).result().unwrap();
        sys::cuModuleGetFunction(&raw mut function, module, c"saxpy".as_ptr()).result().unwrap();
    }
    let launch = |params: *mut _, extra: *mut _| {
        let stream = std::ptr::null_mut();
        // SAFETY: lists that are not null have valid entries.
        unsafe { sys::cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, extra) }
    };
    let mut value = 0u64;
    let mut params = [(&raw mut value).cast(); 4];
    let mut extra = [std::ptr::null_mut()];
    let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
    assert_eq!(launch(params.as_mut_ptr(), extra.as_mut_ptr()), invalid);
    assert!(fault().contains("both 'kernelParams' and 'extra'"));
    assert_eq!(launch(std::ptr::null_mut(), std::ptr::null_mut()), invalid);
    assert!(fault().contains("'saxpy' has 4 parameters, but the launch gives neither"));
}

#[test]
fn the_function_that_sizes_shared_memory_may_call_the_driver() {
    extern "C" fn synchronise(_threads: i32) -> usize {
        // SAFETY: the call has no arguments.
        assert_eq!(unsafe { sys::cuCtxSynchronize() }, CUresult::CUDA_SUCCESS);
        0
    }
    let session = session();
    let function = session.function("saxpy");
    assert_eq!(
        function.occupancy_max_potential_block_size(synchronise, 0, 0, None).unwrap(),
        (264, 1024)
    );
}

#[test]
fn destructors_of_thread_locals_may_call_the_driver() {
    struct Last(std::sync::mpsc::Sender<CUresult>, Arc<CudaContext>);
    impl Drop for Last {
        fn drop(&mut self) {
            let bound =
                self.1.bind_to_thread().map_or_else(|error| error.0, |()| CUresult::CUDA_SUCCESS);
            let _ = self.0.send(bound);
        }
    }
    thread_local! {
        static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) };
    }
    let session = session();
    let (send, receive) = std::sync::mpsc::channel();
    let context = Arc::clone(&session.context);
    std::thread::spawn(move || {
        // Registered first, so destroyed after the driver's own thread-locals.
        LAST.set(Some(Last(send, Arc::clone(&context))));
        context.bind_to_thread().unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(receive.recv().unwrap(), CUresult::CUDA_SUCCESS);
}

#[test]
fn unversioned_names_exist_if_parameters_never_changed() {
    let session = session();
    type WithHandle = extern "C" fn(usize) -> CUresult;
    let find = |name: &[u8]| -> libloading::Symbol<'_, WithHandle> {
        // SAFETY: the functions have one argument, a handle or the place of one.
        unsafe { LIBRARY.get(name) }.expect("the driver exports it")
    };
    let mut context = 0_usize;
    let place = (&raw mut context) as usize;
    session.context.bind_to_thread().unwrap();
    assert_eq!(find(b"cuCtxPopCurrent")(place), CUresult::CUDA_SUCCESS);
    assert_eq!(find(b"cuCtxPushCurrent")(context), CUresult::CUDA_SUCCESS);
    assert_eq!(context, session.context.cu_ctx() as usize);
    assert_eq!(find(b"cuCtxDestroy")(7), CUresult::CUDA_ERROR_INVALID_CONTEXT);
    for unknown in [&b"cuEventDestroy"[..], b"cuStreamDestroy"] {
        assert_eq!(find(unknown)(7), CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
}

#[test]
fn unsupported_functions_exist_and_return_not_supported() {
    let _session = session();
    for name in ["cuGraphDebugDotPrint", "cuTensorMapEncodeTiled", "cuMemMap"] {
        // SAFETY: it looks at none of its arguments.
        let code = unsafe {
            let call: libloading::Symbol<'_, extern "C" fn() -> u32> = LIBRARY.get(name).unwrap();
            call()
        };
        assert_eq!(code, CUresult::CUDA_ERROR_NOT_SUPPORTED as u32, "{name}");
    }
}
