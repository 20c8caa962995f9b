//! States how the provider is built and digests its sources, one digest for each image.

fn main() {
    overt_sdk::build::emit(&["PORTABLE", "AVX2", "AVX512", "AVX512_BF16", "AVX512_VNNI"]);
}
