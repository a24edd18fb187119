//! Links at run time, through the driver as programs call it.

use crate::driver::{fault, session};
use crate::fatbins::{CUBIN, PTX, fatbin};
use cudarc::driver::sys::{self, CUjit_option, CUjitInputType, CUresult};
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Two modules with a function and a variable that the other needs, and a helper of the same name.
fn parts() -> [String; 2] {
    let kernel = ".extern .func (.param .b32 r) twice (.param .b32 a);\n\
        .visible .global .u32 offset = 5;\n\
        .func (.param .b32 r) helper (.param .b32 a) { .reg .b32 %x; ld.param.u32 %x, [a];\n\
        add.u32 %x, %x, 1; st.param.b32 [r], %x; ret; }\n\
        .visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %o;\n\
        ld.param.u64 %o, [out]; mov.u32 %r0, %tid.x;\n\
        { .param .b32 a; .param .b32 r; st.param.b32 [a], %r0; call (r), helper, (a);\n\
        ld.param.b32 %r1, [r]; }\n\
        { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), twice, (a);\n\
        ld.param.b32 %r1, [r]; }\n\
        mad.wide.u32 %o, %r0, 4, %o; st.global.u32 [%o], %r1; ret; }\n";
    let function = ".extern .global .u32 offset;\n\
        .func (.param .b32 r) helper (.param .b32 a) { .reg .b32 %x; ld.param.u32 %x, [a];\n\
        shl.b32 %x, %x, 1; st.param.b32 [r], %x; ret; }\n\
        .visible .func (.param .b32 r) twice (.param .b32 a) { .reg .b32 %x<3>;\n\
        ld.param.u32 %x0, [a];\n\
        { .param .b32 b; .param .b32 s; st.param.b32 [b], %x0; call (s), helper, (b);\n\
        ld.param.b32 %x1, [s]; }\n\
        ld.global.u32 %x2, [offset]; add.u32 %x1, %x1, %x2; st.param.b32 [r], %x1; ret; }\n";
    [kernel, function].map(|text| format!("{HEAD}{text}"))
}

/// A link with an error log of 300 bytes.
struct Link {
    state: sys::CUlinkState,
    log: Box<[u8; 300]>,
    values: Box<[*mut c_void; 2]>,
}

impl Link {
    fn new() -> Self {
        let mut log = Box::new([0; 300]);
        let mut values = Box::new([log.as_mut_ptr().cast(), 300 as *mut c_void]);
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut state = null_mut();
        // SAFETY: two options with their values, which live as long as the link.
        let code = unsafe {
            sys::cuLinkCreate_v2(2, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut state)
        };
        assert_eq!(code, CUresult::CUDA_SUCCESS);
        Self { state, log, values }
    }

    fn add(&self, kind: CUjitInputType, bytes: &[u8], name: &CStr) -> CUresult {
        let (data, none) = (bytes.as_ptr().cast_mut().cast(), null_mut());
        // SAFETY: the data is as long as the call says, and there are no options.
        unsafe {
            let name = name.as_ptr();
            sys::cuLinkAddData_v2(self.state, kind, data, bytes.len(), name, 0, none, null_mut())
        }
    }

    fn add_ptx(&self, text: &str) -> CUresult {
        let text = CString::new(text).unwrap();
        self.add(CUjitInputType::CU_JIT_INPUT_PTX, text.as_bytes_with_nul(), c"part.ptx")
    }

    fn add_file(&self, kind: CUjitInputType, path: &str) -> CUresult {
        let path = CString::new(path).unwrap();
        // SAFETY: the path ends with a NUL, and there are no options.
        unsafe { sys::cuLinkAddFile_v2(self.state, kind, path.as_ptr(), 0, null_mut(), null_mut()) }
    }

    /// The module, which lives as long as the link.
    fn complete(&self) -> Result<(*const c_void, usize), CUresult> {
        let (mut module, mut bytes) = (null_mut(), 0);
        // SAFETY: both are places for results.
        match unsafe { sys::cuLinkComplete(self.state, &raw mut module, &raw mut bytes) } {
            CUresult::CUDA_SUCCESS => Ok((module.cast_const(), bytes)),
            code => Err(code),
        }
    }

    fn logged(&self) -> &str {
        let bytes = self.values[1] as usize;
        std::str::from_utf8(&self.log[..bytes - 1]).unwrap()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // SAFETY: the link exists until here.
        unsafe {
            assert_eq!(sys::cuLinkDestroy(self.state), CUresult::CUDA_SUCCESS);
            assert_eq!(sys::cuLinkDestroy(self.state), CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
    }
}

/// The results of the kernel of a module.
fn results(image: *const c_void) -> Vec<u32> {
    let (mut module, mut function, mut out) = (null_mut(), null_mut(), 0_u64);
    let mut values = [0; 32];
    // SAFETY: the image is a module with a kernel that takes the address of 32 words.
    unsafe {
        let is = |code| assert_eq!(code, CUresult::CUDA_SUCCESS, "{}", fault());
        is(sys::cuModuleLoadData(&raw mut module, image));
        is(sys::cuModuleGetFunction(&raw mut function, module, c"k".as_ptr()));
        is(sys::cuMemAlloc_v2(&raw mut out, 128));
        let mut arguments = [(&raw mut out).cast()];
        let (arguments, none) = (arguments.as_mut_ptr(), null_mut());
        is(sys::cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, null_mut(), arguments, none));
        is(sys::cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), out, 128));
        is(sys::cuModuleUnload(module));
    }
    values.to_vec()
}

fn tempfile(name: &str, bytes: &[u8]) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path.into_os_string().into_string().unwrap()
}

#[test]
fn ptx_of_memory_and_of_a_file_becomes_one_module() {
    let _session = session();
    let [kernel, function] = parts();
    let link = Link::new();
    assert_eq!(link.complete().unwrap_err(), CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(link.add_ptx(&kernel), CUresult::CUDA_SUCCESS);
    let file = tempfile("function.ptx", function.as_bytes());
    let ptx = CUjitInputType::CU_JIT_INPUT_PTX;
    assert_eq!(link.add_file(ptx, &file), CUresult::CUDA_SUCCESS);
    assert_eq!(link.add_file(ptx, "absent.ptx"), CUresult::CUDA_ERROR_FILE_NOT_FOUND);
    let (module, bytes) = link.complete().unwrap();
    let expected: Vec<u32> = (0..32).map(|i| 2 * (i + 1) + 5).collect();
    assert_eq!(results(module), expected);
    // Nothing can be added to it, and it stays the same.
    assert_eq!(link.add_ptx(&function), CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(link.complete().unwrap(), (module, bytes));
    // A program may keep it in a file.
    // SAFETY: the module has so many bytes, and lives as long as the link.
    let kept = unsafe { std::slice::from_raw_parts(module.cast::<u8>(), bytes) };
    assert_eq!(results([kept, &[0]].concat().as_ptr().cast()), expected);
}

#[test]
fn the_ptx_of_a_fatbin_is_linked_and_one_input_is_a_module() {
    let _session = session();
    let own = format!(
        "{HEAD}.visible .entry k(.param .u64 out) {{ .reg .b64 %o; ld.param.u64 %o, [out];\n\
         st.global.u32 [%o+8], 7; ret; }}\n"
    );
    let file = fatbin(&[(CUBIN, 90, b"code"), (PTX, 80, own.as_bytes())]);
    let link = Link::new();
    let kind = CUjitInputType::CU_JIT_INPUT_FATBINARY;
    assert_eq!(link.add(kind, &file, c"own"), CUresult::CUDA_SUCCESS);
    assert_eq!(results(link.complete().unwrap().0)[2], 7);
    let link = Link::new();
    let code = link.add(kind, &fatbin(&[(CUBIN, 90, b"code")]), c"own");
    assert_eq!(code, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    let said = "the module is 'own', a fatbin with machine code for sm_90 alone: ";
    assert!(link.logged().starts_with(said), "{}", link.logged());
}

#[test]
fn duplicate_names_and_invalid_text_are_refused_in_the_log() {
    let _session = session();
    let [kernel, _] = parts();
    let link = Link::new();
    for _ in 0..2 {
        assert_eq!(link.add_ptx(&kernel), CUresult::CUDA_SUCCESS);
    }
    assert_eq!(link.complete().unwrap_err(), CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(link.logged().contains("cannot be linked: second definition of"), "{}", link.logged());
    assert!(fault().contains("cannot be linked: second definition of"));
    let link = Link::new();
    assert_eq!(link.add_ptx("int main() {}"), CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(link.logged().starts_with("the PTX of 'part.ptx' cannot be linked: "));
}

#[test]
fn machine_code_is_refused_by_its_kind_and_name() {
    let _session = session();
    use CUjitInputType::*;
    for (kind, what) in [
        (CU_JIT_INPUT_CUBIN, "a cubin (GPU machine code)"),
        (CU_JIT_INPUT_OBJECT, "an object with GPU machine code"),
        (CU_JIT_INPUT_LIBRARY, "a library with GPU machine code"),
    ] {
        let link = Link::new();
        let code = link.add(kind, b"\x7fELF\0", c"scale.o");
        assert_eq!(code, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
        let said = format!("the module is 'scale.o', {what}: the emulator runs PTX alone");
        assert!(link.logged().starts_with(&said), "{}", link.logged());
        assert!(fault().contains(&said));
    }
}
