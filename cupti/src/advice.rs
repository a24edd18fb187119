//! The meaning of a CUPTI code for people: the cause, a check, a remedy.

use crate::Code;

/// Cause, check and remedy of a [`Code`], each one sentence or command for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Why CUPTI answered so.
    pub cause: &'static str,
    /// How to see that this is the cause.
    pub check: &'static str,
    /// The remedy.
    pub remedy: &'static str,
}

const fn advice(cause: &'static str, check: &'static str, remedy: &'static str) -> Advice {
    Advice { cause, check, remedy }
}

/// The advice for the codes that users meet.
const ADVICE: &[(&[Code], Advice)] = &[
    (&[Code::Success], advice("nothing failed", "-", "-")),
    (
        &[Code::InsufficientPrivileges],
        advice(
            "the driver lets only administrators read GPU performance counters",
            "grep RmProfilingAdminOnly /proc/driver/nvidia/params (1 means locked)",
            "run as root or with CAP_SYS_ADMIN (CAP_PERFMON from driver 565 on); in a container, start it with \
                 --cap-add=SYS_ADMIN; or, for everybody, put `options nvidia NVreg_RestrictProfilingToAdminUsers=0` \
                 into /etc/modprobe.d/ and reboot (https://developer.nvidia.com/ERR_NVGPUCTRPERM)",
        ),
    ),
    (
        &[Code::HardwareBusy],
        advice(
            "another tool holds the GPU's performance counters (DCGM, Nsight, another gpuprof)",
            "nvidia-smi (processes); systemctl status nvidia-dcgm; pgrep -a 'ncu|nsys|dcgm'",
            "stop it, or pause DCGM's profiling with `dcgmi profile --pause` and resume it afterwards with \
                 `dcgmi profile --resume`",
        ),
    ),
    (
        &[Code::VirtualizedDeviceInsufficientPrivileges],
        advice(
            "this is a virtual GPU whose host does not let the guest read counters",
            "nvidia-smi -q | grep -A2 -i virtualization",
            "have the host's administrator enable profiling for this VM (vGPU parameter \
                 enable_profiling=1), then restart the VM",
        ),
    ),
    (
        &[Code::VirtualizedDeviceNotSupported],
        advice(
            "CUPTI does not support this kind of virtual GPU",
            "nvidia-smi -q | grep -A2 -i virtualization",
            "profile on bare metal or with a passed-through GPU",
        ),
    ),
    (
        &[Code::MigDeviceNotSupported],
        advice(
            "this MIG slice does not let CUPTI read its counters",
            "nvidia-smi -L (MIG lines)",
            "use a compute instance that owns its whole GPU instance, or turn MIG off with `nvidia-smi -mig 0`",
        ),
    ),
    (
        &[Code::ConfidentialComputingNotSupported],
        advice(
            "the GPU runs in confidential-computing mode, which hides the counters",
            "nvidia-smi conf-compute -f",
            "profile on a GPU without confidential computing, or in its devtools mode",
        ),
    ),
    (
        &[Code::CmpDeviceNotSupported],
        advice(
            "this is a CMP mining card; its counters are fused off",
            "nvidia-smi -L",
            "profile on another GPU",
        ),
    ),
    (
        &[Code::SliDeviceNotSupported],
        advice(
            "the GPU is part of an SLI group",
            "nvidia-smi -q | grep -i sli",
            "turn SLI off in the X configuration and restart the display server",
        ),
    ),
    (
        &[Code::WslDeviceNotSupported],
        advice(
            "this Windows Subsystem for Linux set-up does not expose the counters",
            "nvidia-smi (driver version on the Windows side)",
            "update the Windows driver and allow counters in the NVIDIA Control Panel (Developer → Manage GPU \
                 Performance Counters), or profile on Linux",
        ),
    ),
    (
        &[Code::InvalidChipName],
        advice(
            "this CUPTI does not support the GPU's chip, which is newer than the library or too old for it",
            "nvidia-smi --query-gpu=name,compute_cap --format=csv; cargo gpuprof metrics --list-chips",
            "for a new GPU install a newer CUPTI (`pip install --upgrade nvidia-cuda-cupti`); for compute capability \
                 7.0 and 7.2, which 13.1 dropped, an older one (`pip install nvidia-cuda-cupti==13.0.85`); a GPU below \
                 7.0 has no counters that CUPTI's Range Profiler reads",
        ),
    ),
    (
        &[Code::OldProfilerApiInitialized, Code::LegacyProfilerNotSupported],
        advice(
            "something in this process uses CUPTI's older event or profiler API, which excludes this one",
            "env | grep -E 'CUDA_INJECTION|COMPUTE_PROFILE|NVTX_INJECTION'",
            "run without that tool or library (TAU, Score-P, an old framework profiler)",
        ),
    ),
    (
        &[Code::MultipleSubscribersNotSupported],
        advice(
            "another CUPTI client is attached to this process (ncu, nsys, cuda-gdb, a framework's profiler)",
            "env | grep -E 'CUDA_INJECTION|LD_PRELOAD|NSYS|NV_NSIGHT'",
            "run without that tool",
        ),
    ),
    (
        &[Code::NotSupported],
        advice(
            "the device does not support what was asked for, or the metrics cannot be collected together",
            "build a config image of each metric alone",
            "collect them in separate groups (pcie__ metrics cannot join SM or DRAM ones)",
        ),
    ),
    (
        &[Code::InvalidMetricName, Code::InvalidMetricId],
        advice(
            "the chip has no metric of this name, or the name lacks its roll-up",
            "cargo gpuprof metrics --chip CHIP NAME",
            "take a name from the catalogue and append a roll-up such as .sum or .avg",
        ),
    ),
    (
        &[Code::InvalidParameter],
        advice(
            "an argument was refused: an unknown metric name, a damaged image or one of another kind, or a \
                 struct larger than this CUPTI knows",
            "validate the metric names; compare the CUPTI version with the driver's CUDA version",
            "correct the names, delete image files from earlier runs, or install the CUPTI of the driver's CUDA \
                 major version",
        ),
    ),
    (
        &[Code::NotInitialized],
        advice(
            "CUPTI could not initialise: libnvperf_host.so is not loadable, or a call that needs a GPU came \
                 without one",
            "ls the folder of libcupti for libnvperf_host.so; nvidia-smi",
            "reinstall CUPTI with its nvperf libraries; run collection on a machine with a GPU",
        ),
    ),
    (
        &[Code::Unknown],
        advice(
            "CUPTI failed internally, as it does without a CUDA driver or with one of another \
             major version",
            "nvidia-smi (driver and CUDA version); cuptiGetVersion",
            "install the CUPTI of the driver's CUDA major version; 13.2 and newer do nothing without a driver",
        ),
    ),
    (
        &[Code::InvalidContext, Code::InvalidDevice],
        advice(
            "the CUDA context or device handed to CUPTI is not one of the driver's",
            "CUDA_VISIBLE_DEVICES; whether an emulated driver is loaded",
            "profile with the context of a GPU of the system's driver",
        ),
    ),
    (
        &[Code::InvalidOperation],
        advice(
            "the call came out of order, or another profiling session is open on this context",
            "whether a session is already open in this process",
            "close it first; otherwise this is a mistake in gpuprof: please report it",
        ),
    ),
    (
        &[Code::OutOfMemory],
        advice(
            "there was not enough memory for the counter buffers",
            "nvidia-smi (free memory); free -m",
            "collect fewer ranges or metrics at once, or free device memory",
        ),
    ),
    (
        &[Code::MaxLimitReached, Code::ParameterSizeNotSufficient],
        advice(
            "more ranges or counters were asked for than the counter data image holds",
            "the number of ranges pushed in one pass",
            "raise the maximum number of ranges of the session",
        ),
    ),
    (
        &[Code::Hardware],
        advice(
            "the GPU reported a hardware error while its counters were read",
            "dmesg | grep -i xid; nvidia-smi -q -d ECC",
            "reset or replace the GPU; run again",
        ),
    ),
    (
        &[Code::ApiNotImplemented, Code::NotCompatible, Code::CudaCompilerNotCompatible],
        advice(
            "this CUPTI and this driver do not fit together",
            "nvidia-smi (CUDA version); cuptiGetVersion",
            "install the CUPTI of the driver's CUDA major version",
        ),
    ),
];

/// The advice for every other code.
const GENERAL: Advice = advice(
    "CUPTI returned a code that range profiling does not normally return",
    "nvidia-smi; cuptiGetVersion",
    "report it with the output of `cargo gpuprof doctor`",
);

impl Code {
    /// The advice for this code. Total: a code without its own gets the general one.
    #[must_use]
    pub fn advice(self) -> Advice {
        let own = ADVICE.iter().find(|(codes, _)| codes.contains(&self));
        own.map_or(GENERAL, |(_, advice)| *advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_cause_a_check_and_a_remedy() {
        for code in Code::NAMED.iter().copied().chain([Code::Other(77)]) {
            let Advice { cause, check, remedy } = code.advice();
            assert!(!cause.is_empty() && !check.is_empty() && !remedy.is_empty(), "{code}");
        }
    }

    #[test]
    fn common_codes_have_specific_advice() {
        let general = Code::Other(77).advice();
        for number in [1, 15, 17, 26, 27, 33, 35, 36, 38, 39, 40, 41, 42, 43, 44, 45, 46, 999] {
            let code = Code::from_number(number);
            assert_ne!(code.advice(), general, "{code}");
        }
    }
}
