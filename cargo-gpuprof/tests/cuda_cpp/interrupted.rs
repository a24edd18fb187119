//! A signal ends a compile, and several programs are compiled at once.

use std::path::Path;

use gpuprof_build::cuda_cpp::{Compilers, Error, compile_all, nvcc};
use gpuprof_system::interrupt::Interrupt;
use rustix::process::{Pid, Signal, kill_process};

use super::{BINARY, COMPILER, Package};
use crate::common::{Talking, as_process};

/// Takes more than a minute.
const SLOW: &str = "#include <cub/block/block_radix_sort.cuh>\n\
    template <int ITEMS> __global__ void sort(int* x) {\n\
    using Sort = cub::BlockRadixSort<int, 256, ITEMS>;\n\
    __shared__ typename Sort::TempStorage storage;\n\
    int mine[ITEMS];\n\
    for (int i = 0; i < ITEMS; i++) mine[i] = x[threadIdx.x * ITEMS + i];\n\
    Sort(storage).Sort(mine);\n\
    for (int i = 0; i < ITEMS; i++) x[threadIdx.x * ITEMS + i] = mine[i];\n}\n";

#[test]
fn a_signal_ends_a_compile() {
    let mut process =
        Talking::start(as_process("cuda_cpp::interrupted::compiles_until_a_signal_comes"));
    process.says("begins");
    kill_process(Pid::from_child(&process.child), Signal::INT).unwrap();
    assert_eq!(process.says("ended by "), "2");
    assert!(process.child.wait().unwrap().success());
}

/// The other process of the test above.
#[test]
#[ignore = "run by another test"]
fn compiles_until_a_signal_comes() {
    let interrupt = Interrupt::listen().unwrap();
    let compiler = COMPILER.with_executable(Path::new(BINARY)).with_interrupt(&interrupt);
    let mut package = Package::new(&[("sort.cu", SLOW)]);
    for items in 1..=64 {
        package = package.kernel(&format!("sort<{items}>"), &[("int*", "*mut i32")]);
    }
    let cache = package.cache();
    let compilers = Compilers::new(Ok(compiler), nvcc::Search::default(), &interrupt, true);
    println!("begins");
    let outcomes = compile_all(&[package.program.clone(), package.program], &compilers, &cache);
    for outcome in outcomes {
        let Err(Error::Interrupted(signal)) = outcome else { panic!("{outcome:?}") };
        println!("ended by {signal}");
    }
}

#[test]
fn programs_compiled_together_keep_their_order() {
    let package = |factor: i32, name: &str| {
        let source = format!("extern \"C\" __global__ void {name}(int* x) {{ x[0] *= {factor}; }}");
        Package::new(&[("k.cu", &source)]).kernel(name, &[("int*", "*mut i32")])
    };
    let packages = [package(3, "first"), package(5, "broken name"), package(7, "third")];
    let programs: Vec<_> = packages.iter().map(|it| it.program.clone()).collect();
    let (nvrtc, interrupt) = (Ok(COMPILER.clone()), Interrupt::default());
    let compilers = Compilers::new(nvrtc, nvcc::Search::default(), &interrupt, true);
    let outcomes = compile_all(&programs, &compilers, &packages[0].cache());
    let [Ok(first), Err(Error::Source(_)), Ok(third)] = outcomes.as_slice() else {
        panic!("{outcomes:?}")
    };
    assert_eq!(first.entries["first"], Ok("first".into()));
    assert_eq!(third.entries["third"], Ok("third".into()));
}
