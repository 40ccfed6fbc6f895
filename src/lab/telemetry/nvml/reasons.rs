//! Why NVML does not give a figure, or does not start, in plain words.

use std::ffi::OsStr;

use nvml_wrapper::error::NvmlError;

use crate::domain::device::{self, Reading};

pub fn connect_reason(library: &OsStr, error: &NvmlError) -> String {
    let library = library.display();
    match error {
        NvmlError::LibloadingError(_) => format!("no NVIDIA driver on this machine ({library} is not there)"),
        NvmlError::DriverNotLoaded => "the NVIDIA kernel driver is not loaded: install it, or restart the machine".into(),
        NvmlError::LibRmVersionMismatch => {
            "the NVIDIA driver was updated under the running kernel module: restart the machine".into()
        }
        NvmlError::NoPermission => "no permission to talk to the NVIDIA driver: check the access rights of /dev/nvidia*".into(),
        other => format!("NVML ({library}) does not start: {}", reason(other)),
    }
}

/// NVML's errors in plain words.
pub fn reason(error: &NvmlError) -> String {
    match error {
        NvmlError::NotSupported => "not supported by this device".into(),
        NvmlError::NoPermission => "no permission: an administrator can allow it".into(),
        NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => "unknown to this driver's NVML".into(),
        NvmlError::GpuLost => device::FALLEN.into(),
        NvmlError::ResetRequired => device::NEEDS_RESET.into(),
        NvmlError::InUse => "another program has the GPU for itself".into(),
        NvmlError::Unknown | NvmlError::OperatingSystem | NvmlError::IrqIssue => {
            "the driver reports an error that it does not explain: see `dmesg`".into()
        }
        NvmlError::NotFound | NvmlError::NoData => "no data at the moment".into(),
        other => other.to_string(),
    }
}

pub fn read<T>(result: Result<T, NvmlError>) -> Reading<T> {
    read_or(result, || None)
}

/// A better reason than "not supported", where there is one.
pub fn read_or<T>(result: Result<T, NvmlError>, why_not_supported: impl FnOnce() -> Option<String>) -> Reading<T> {
    match result {
        Ok(value) => Reading::Value(value),
        Err(NvmlError::NotSupported) => Reading::missing(why_not_supported().unwrap_or_else(|| reason(&NvmlError::NotSupported))),
        Err(error) => Reading::missing(reason(&error)),
    }
}
