//! Shapes of cooperative matrices.

use crate::loader::{Instance, failed};
use ash::vk;
use overt_sdk::Result;

/// Component types that a later extension has added.
const NAMES: [(i32, &str); 15] = [
    (vk::ComponentTypeKHR::FLOAT16.as_raw(), "f16"),
    (vk::ComponentTypeKHR::FLOAT32.as_raw(), "f32"),
    (vk::ComponentTypeKHR::FLOAT64.as_raw(), "f64"),
    (vk::ComponentTypeKHR::SINT8.as_raw(), "i8"),
    (vk::ComponentTypeKHR::SINT16.as_raw(), "i16"),
    (vk::ComponentTypeKHR::SINT32.as_raw(), "i32"),
    (vk::ComponentTypeKHR::SINT64.as_raw(), "i64"),
    (vk::ComponentTypeKHR::UINT8.as_raw(), "u8"),
    (vk::ComponentTypeKHR::UINT16.as_raw(), "u16"),
    (vk::ComponentTypeKHR::UINT32.as_raw(), "u32"),
    (vk::ComponentTypeKHR::UINT64.as_raw(), "u64"),
    // VK_KHR_shader_bfloat16 and VK_EXT_shader_float8, newer than the bindings.
    (1_000_141_000, "bf16"),
    (1_000_491_002, "fp8_e4m3fn"),
    (1_000_491_003, "fp8_e5m2"),
    (-1, ""),
];

fn name(component: vk::ComponentTypeKHR) -> Option<&'static str> {
    let known = NAMES.iter().find(|(raw, _)| *raw == component.as_raw())?;
    Some(known.1)
}

/// Each shape of a subgroup as `a_b_c_result.MxNxK`, e.g. `f16_f16_f32_f32.16x16x16`; types that are not known are left out.
pub fn shapes(instance: &Instance, raw: vk::PhysicalDevice) -> Result<Vec<String>> {
    let matrices = ash::khr::cooperative_matrix::Instance::new(instance.entry(), &instance.raw);
    // SAFETY: the device has the extension.
    let found = unsafe { matrices.get_physical_device_cooperative_matrix_properties(raw) }
        .map_err(|e| failed("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", e))?;
    let mut shapes: Vec<String> = found
        .iter()
        .filter(|shape| shape.scope == vk::ScopeKHR::SUBGROUP)
        .filter_map(|shape| {
            Some(format!(
                "{}_{}_{}_{}.{}x{}x{}",
                name(shape.a_type)?,
                name(shape.b_type)?,
                name(shape.c_type)?,
                name(shape.result_type)?,
                shape.m_size,
                shape.n_size,
                shape.k_size
            ))
        })
        .collect();
    shapes.sort();
    shapes.dedup();
    Ok(shapes)
}
