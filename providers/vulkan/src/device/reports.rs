//! What the driver says of a compiled kernel: registers, spills, subgroup size.

use crate::loader::Instance;
use ash::vk;
use std::ffi::CStr;

/// The extension's functions of one device.
pub struct Reports(ash::khr::pipeline_executable_properties::Device);

impl Reports {
    pub fn new(instance: &Instance, raw: &ash::Device) -> Reports {
        Reports(ash::khr::pipeline_executable_properties::Device::new(
            &instance.raw,
            raw,
        ))
    }

    /// The driver's own words for each figure, since no two drivers have the same.
    pub fn of(&self, pipeline: vk::Pipeline) -> String {
        let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
        // SAFETY: the pipeline is the device's, made with statistics.
        let executables = unsafe { self.0.get_pipeline_executable_properties(&info) };
        let mut parts = Vec::new();
        for (number, executable) in executables.unwrap_or_default().iter().enumerate() {
            parts.push(format!("subgroup size {}", executable.subgroup_size));
            let info = vk::PipelineExecutableInfoKHR::default()
                .pipeline(pipeline)
                .executable_index(number as u32);
            // SAFETY: as above, and the number is one of those just listed.
            let figures = unsafe { self.0.get_pipeline_executable_statistics(&info) };
            for figure in figures.unwrap_or_default() {
                // SAFETY: the driver ends its text with a zero, and the format says which member is live.
                let (name, value) = unsafe {
                    let name = CStr::from_ptr(figure.name.as_ptr()).to_string_lossy();
                    let value = match figure.format {
                        vk::PipelineExecutableStatisticFormatKHR::BOOL32 => {
                            (figure.value.b32 != 0).to_string()
                        }
                        vk::PipelineExecutableStatisticFormatKHR::INT64 => {
                            figure.value.i64.to_string()
                        }
                        vk::PipelineExecutableStatisticFormatKHR::UINT64 => {
                            figure.value.u64.to_string()
                        }
                        _ => figure.value.f64.to_string(),
                    };
                    (name.into_owned(), value)
                };
                parts.push(format!("{name} {value}"));
            }
        }
        match parts.is_empty() {
            true => "the driver reports nothing".into(),
            false => parts.join(", "),
        }
    }
}
