//! The compiled shaders: one static each, made by the build script from the folder `spirv`.

use crate::kernel::{Code, Shader, image};
use overt_sdk::declare::Image;

include!(concat!(env!("OUT_DIR"), "/shaders.rs"));
