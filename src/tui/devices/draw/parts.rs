//! What the parts of the pane have in common.

use crate::domain::device::{DeviceKind, DeviceSample};
use crate::tui::devices::state::Devices;
use crate::tui::widgets::frame::Focus;
use crate::tui::widgets::theme::Theme;

/// What is drawn, and how.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub devices: &'a Devices,
    pub theme: Theme,
    pub focus: Focus,
}

/// Title, two lines of braille and the time axis.
pub const LEAST_GRAPH: u16 = 4;

/// A line, and the place of the device that it is of.
pub type Placed<T> = (Option<usize>, T);

pub fn is_gpu(device: &DeviceSample) -> bool {
    device.kind == DeviceKind::Gpu
}
