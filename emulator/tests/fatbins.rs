//! Fatbins and libraries, through the driver as programs call it.

use crate::driver::{config, fault, session};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};

pub const PTX: u8 = 1;
pub const CUBIN: u8 = 2;

/// A fatbin of these members: kind, architecture and content.
pub fn fatbin(members: &[(u8, u8, &[u8])]) -> Vec<u8> {
    let mut all = Vec::new();
    for (kind, architecture, content) in members {
        let mut header = [0; 64];
        header[0] = *kind;
        header[4] = 64;
        header[8..10].copy_from_slice(&(content.len() as u16).to_le_bytes());
        header[28] = *architecture;
        all.extend([&header[..], content].concat());
    }
    let mut file = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    file.extend((all.len() as u64).to_le_bytes());
    file.extend(all);
    file
}

/// PTX with a variable and a kernel that adds to it; both have this name in theirs.
fn ptx(name: &str, target: &str) -> Vec<u8> {
    format!(
        ".version 8.0\n.target {target}\n.address_size 64\n.visible .global .align 4 .u32 v{name};\n\
         .visible .entry {name}() {{\n.reg .b32 %r<2>;\nld.global.u32 %r0, [v{name}];\n\
         add.u32 %r1, %r0, 7;\nst.global.u32 [v{name}], %r1;\nret;\n}}\n"
    )
    .into_bytes()
}

/// The structure that nvcc puts in front of fatbins.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    linked: *const *const u8,
}

/// Loads a library; it, or why not.
fn load(image: *const c_void) -> Result<sys::CUlibrary, CUresult> {
    let mut library = null_mut();
    // SAFETY: the image is one of this file's, and there are no options.
    let code = unsafe {
        let none = null_mut();
        sys::cuLibraryLoadData(
            &raw mut library,
            image,
            none,
            null_mut(),
            0,
            null_mut(),
            none.cast(),
            0,
        )
    };
    if code == CUresult::CUDA_SUCCESS { Ok(library) } else { Err(code) }
}

fn kernel(library: sys::CUlibrary, name: &str) -> Result<sys::CUkernel, CUresult> {
    let (mut kernel, name) = (null_mut(), CString::new(name).unwrap());
    // SAFETY: the library was loaded, and the name ends with a NUL.
    match unsafe { sys::cuLibraryGetKernel(&raw mut kernel, library, name.as_ptr()) } {
        CUresult::CUDA_SUCCESS => Ok(kernel),
        code => Err(code),
    }
}

#[test]
fn the_newest_ptx_of_a_fatbin_that_the_device_runs_is_loaded() {
    let _session = session();
    let [old, new, future] = [("old", "sm_70"), ("new", "sm_80"), ("future", "sm_100")]
        .map(|(name, target)| ptx(name, target));
    let file = fatbin(&[
        (PTX, 70, &old),
        (CUBIN, 90, b"machine code"),
        (PTX, 80, &new),
        (PTX, 100, &future),
    ]);
    let library = load(file.as_ptr().cast()).unwrap();
    assert!(kernel(library, "new").is_ok());
    for other in ["old", "future"] {
        assert_eq!(kernel(library, other).unwrap_err(), CUresult::CUDA_ERROR_NOT_FOUND);
    }
}

#[test]
fn a_kernel_of_a_library_launches_and_its_variables_are_found() {
    let _session = session();
    let file = fatbin(&[(PTX, 80, &ptx("k", "sm_80"))]);
    let wrapper = Wrapper { magic: 0x4662_43b1, version: 1, data: file.as_ptr(), linked: null() };
    let library = load((&raw const wrapper).cast()).unwrap();
    let kernel = kernel(library, "k").unwrap();
    let (mut function, mut module, mut name) = (null_mut(), null_mut(), null());
    let (mut address, mut bytes, mut value) = (0, 0, 0_u32);
    // SAFETY: handles and names are the driver's and this test's, and the kernel has no parameters.
    unsafe {
        let is = |code| assert_eq!(code, CUresult::CUDA_SUCCESS);
        is(sys::cuKernelGetFunction(&raw mut function, kernel));
        is(sys::cuKernelGetName(&raw mut name, kernel));
        assert_eq!(CStr::from_ptr(name), c"k");
        let launch = |function| {
            sys::cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut())
        };
        is(launch(function));
        // CUDA takes a kernel wherever it takes a function.
        is(launch(kernel.cast()));
        is(sys::cuLibraryGetGlobal(&raw mut address, &raw mut bytes, library, c"vk".as_ptr()));
        assert_eq!(bytes, 4);
        is(sys::cuMemcpyDtoH_v2((&raw mut value).cast(), address, 4));
        assert_eq!(value, 14);
        is(sys::cuLibraryGetModule(&raw mut module, library));
        is(sys::cuModuleGetFunction(&raw mut function, module, c"k".as_ptr()));
        is(sys::cuLibraryUnload(library));
        assert_eq!(launch(function), CUresult::CUDA_ERROR_INVALID_HANDLE);
        assert_eq!(sys::cuLibraryUnload(library), CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
}

#[test]
fn linked_files_are_joined() {
    let session = session();
    let (own, runtime) =
        (fatbin(&[(PTX, 80, &ptx("k", "sm_80"))]), fatbin(&[(CUBIN, 90, b"code")]));
    let empty = fatbin(&[]);
    let wrapped = |linked: &[*const u8]| {
        let wrapper = Wrapper {
            magic: 0x4662_43b1,
            version: 2,
            data: empty.as_ptr(),
            linked: linked.as_ptr(),
        };
        load((&raw const wrapper).cast())
    };
    let library = wrapped(&[own.as_ptr(), runtime.as_ptr(), null()]).unwrap();
    assert!(kernel(library, "k").is_ok());
    let other = fatbin(&[(PTX, 80, &ptx("l", "sm_80"))]);
    let library = wrapped(&[own.as_ptr(), other.as_ptr(), null()]).unwrap();
    assert!(kernel(library, "k").is_ok() && kernel(library, "l").is_ok());
    let twice = wrapped(&[own.as_ptr(), own.as_ptr(), null()]);
    assert_eq!(twice.unwrap_err(), CUresult::CUDA_ERROR_INVALID_PTX);
    let told = fault();
    assert!(told.contains("second definition of 'vk'"), "{told}");
    // The file form, by the older function.
    let file = tempfile("linked.fatbin", &own);
    let module = session.context.load_module(cudarc::nvrtc::Ptx::from_file(&file)).unwrap();
    let stream = session.context.default_stream();
    let function = module.load_function("k").unwrap();
    // SAFETY: the kernel has no parameters.
    unsafe { stream.launch_builder(&function).launch(config(1, 1)) }.unwrap();
}

#[test]
fn a_fatbin_without_ptx_for_the_device_is_refused_with_its_content() {
    let session = session();
    let refused = |members: &[(u8, u8, &[u8])]| {
        let code = load(fatbin(members).as_ptr().cast()).unwrap_err();
        assert_eq!(code, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
        fault()
    };
    let told = refused(&[(CUBIN, 90, b"code"), (CUBIN, 80, b"code")]);
    let said = "the module is a fatbin with machine code for sm_80, sm_90 alone: the emulator runs \
                PTX alone, up to that of the device. nvcc embeds it with -gencode \
                arch=compute_80,code=compute_80, also in NVCC_APPEND_FLAGS";
    assert!(told.contains(said), "{told}");
    let told = refused(&[(CUBIN, 90, b"code"), (PTX, 100, &ptx("k", "sm_100"))]);
    let said = "a fatbin with machine code for sm_90 and PTX for compute_100: ";
    assert!(told.contains(said), "{told}");
    assert!(refused(&[]).contains("a fatbin without code"));
    let cut_off = tempfile("cut-off.fatbin", &fatbin(&[(PTX, 80, &ptx("k", "sm_80"))])[..90]);
    let error = session.context.load_module(cudarc::nvrtc::Ptx::from_file(&cut_off)).unwrap_err();
    assert_eq!(error.0, CUresult::CUDA_ERROR_INVALID_IMAGE);
    assert!(fault().contains("the fatbin is cut off or damaged"));
}

fn tempfile(name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
