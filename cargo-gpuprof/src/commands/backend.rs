//! Chooses the driver that runs the kernels.

use gpuprof_model::ExitCode;
use gpuprof_model::protocol::DriverProbe;

use crate::options::BackendChoice;
use gpuprof_system::error::{Failure, Result};

/// Whether the emulated driver is used.
///
/// # Errors
/// The requested GPU does not exist, or the driver is broken (exit code 107).
pub(super) fn is_emulated(
    backend: BackendChoice,
    probe: impl FnOnce() -> Result<DriverProbe>,
) -> Result<bool> {
    if backend == BackendChoice::Emulator {
        return Ok(true);
    }
    let not_possible = |message: String| Failure::new(ExitCode::NotPossible, message);
    match (probe()?, backend) {
        (DriverProbe::Devices(_), _) => Ok(false),
        (DriverProbe::Absent, BackendChoice::Auto) => Ok(true),
        (DriverProbe::Absent, _) => Err(not_possible(
            "no NVIDIA driver is installed here (libcuda.so cannot be loaded). Install one, or run \
             without a GPU: --backend emulator"
                .to_owned(),
        )),
        (DriverProbe::NoDevice, _) => Err(not_possible(
            "the NVIDIA driver is installed but reports no device (CUDA_ERROR_NO_DEVICE, 100). \
             Check `nvidia-smi` and CUDA_VISIBLE_DEVICES; a GPU in MIG mode needs an instance \
             before it counts as one (`nvidia-smi mig -lgi`). Or run without a GPU: --backend \
             emulator"
                .to_owned(),
        )),
        (DriverProbe::Broken { call, code, name }, _) => Err(not_possible(format!(
            "the NVIDIA driver is installed but does not work: {call} returned {name} ({code}). {} \
             Or run without a GPU: --backend emulator",
            remedy(code)
        ))),
    }
}

fn remedy(code: u32) -> &'static str {
    match code {
        3 => "Its kernel module is not loaded: check `nvidia-smi` and `lsmod | grep nvidia`.",
        46 => "The device is busy or unavailable: look for another process with `nvidia-smi`.",
        802 => "The system is not ready for CUDA: check that nvidia-fabricmanager runs.",
        803 => {
            "The library and the kernel module are of different versions: reboot after a driver update."
        }
        804 => {
            "The compatibility libraries do not fit this device: remove cuda-compat from LD_LIBRARY_PATH."
        }
        _ => "Check that `nvidia-smi` works.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(backend: BackendChoice, probe: DriverProbe) -> Result<bool> {
        is_emulated(backend, || Ok(probe))
    }

    #[test]
    fn auto_falls_back_only_if_no_driver_is_installed() {
        assert_eq!(decide(BackendChoice::Auto, DriverProbe::Absent), Ok(true));
        assert_eq!(decide(BackendChoice::Auto, DriverProbe::Devices(Vec::new())), Ok(false));
        assert!(decide(BackendChoice::Auto, DriverProbe::NoDevice).is_err());
        assert!(decide(BackendChoice::Cuda, DriverProbe::Absent).is_err());
        assert_eq!(
            is_emulated(BackendChoice::Emulator, || unreachable!("the driver is not asked")),
            Ok(true)
        );
    }

    #[test]
    fn a_broken_driver_is_reported_with_its_code_and_remedies() {
        let probe = DriverProbe::Broken {
            call: "cuInit".into(),
            code: 803,
            name: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH".into(),
        };
        let failure = decide(BackendChoice::Auto, probe).unwrap_err();
        assert_eq!(failure.code, ExitCode::NotPossible);
        assert_eq!(
            failure.message,
            "the NVIDIA driver is installed but does not work: cuInit returned \
             CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803). The library and the kernel module are of \
             different versions: reboot after a driver update. Or run without a GPU: --backend \
             emulator"
        );
    }
}
