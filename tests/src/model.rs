//! Small language models with seeded weights, written as files: what the model runner is tested on where no real model is needed.

use overt::kernels::dtype::F16;
use overt::kernels::host::Element;
use overt_engine::gguf::{GgmlType, GgufWriter, WriteError};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::path::{Path, PathBuf};

/// Sizes of a model of the architecture `llama`, with a tied head.
#[derive(Clone, Copy, Debug)]
pub struct Llama {
    /// Number of layers.
    pub layers: u32,
    /// Width of the residual.
    pub width: u32,
    /// Query heads.
    pub heads: u32,
    /// Heads of keys and values.
    pub kv_heads: u32,
    /// Width of the feed-forward part.
    pub feed_forward: u32,
    /// Number of tokens.
    pub vocabulary: u32,
    /// Tokens of a sequence.
    pub context: u32,
    /// What the weights follow from.
    pub seed: u64,
    /// Whether matrices are of `q8_0`, whose blocks have 32 elements along a row; else they are of f32, as norms always are.
    pub q8_0: bool,
}

impl Default for Llama {
    fn default() -> Llama {
        Llama {
            layers: 4,
            width: 64,
            heads: 4,
            kv_heads: 2,
            feed_forward: 96,
            vocabulary: 96,
            context: 256,
            seed: 1,
            q8_0: false,
        }
    }
}

impl Llama {
    /// Writes the file into a folder.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("model.gguf");
        let written = self.build().unwrap_or_else(|error| panic!("{error}"));
        written
            .save(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// One token for each printable character of ASCII, and one for the end; others, where there are more, are not used.
    fn text(&self, file: &mut GgufWriter) -> Result<(), WriteError> {
        let mut tokens: Vec<String> = vec!["\u{120}".into()];
        tokens.extend(('!'..='~').map(String::from));
        tokens.push("<end>".into());
        let mut types = vec![1_i32; tokens.len()];
        types[tokens.len() - 1] = 3;
        let end = tokens.len() as u32 - 1;
        for number in tokens.len()..self.vocabulary as usize {
            tokens.push(format!("<unused{number}>"));
            types.push(5);
        }
        tokens.truncate(self.vocabulary as usize);
        types.truncate(self.vocabulary as usize);
        file.set("tokenizer.ggml.model", "gpt2")?;
        file.set("tokenizer.ggml.pre", "smollm")?;
        file.set("tokenizer.ggml.tokens", tokens)?;
        file.set("tokenizer.ggml.token_type", types)?;
        file.set("tokenizer.ggml.merges", Vec::<String>::new())?;
        if end < self.vocabulary {
            file.set("tokenizer.ggml.eos_token_id", end)?;
        }
        Ok(())
    }

    fn build(&self) -> Result<GgufWriter, WriteError> {
        let mut file = GgufWriter::new();
        file.set("general.architecture", "llama")?;
        for (key, value) in [
            ("block_count", self.layers),
            ("context_length", self.context),
            ("embedding_length", self.width),
            ("feed_forward_length", self.feed_forward),
            ("attention.head_count", self.heads),
            ("attention.head_count_kv", self.kv_heads),
        ] {
            file.set(&format!("llama.{key}"), value)?;
        }
        file.set("llama.attention.layer_norm_rms_epsilon", 1e-5_f32)?;
        self.text(&mut file)?;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut add = |name: &str, shape: &[u64], around: f32, spread: f32| {
            let count = shape.iter().product::<u64>() as usize;
            let values: Vec<f32> = (0..count)
                .map(|_| around + spread * (rng.next_u32() as f32 / u32::MAX as f32 * 2.0 - 1.0))
                .collect();
            if self.q8_0 && shape.len() == 2 {
                let data = q8_0(&values);
                return file.tensor(name, GgmlType::Q8_0, shape, &data).map(|_| ());
            }
            file.tensor_f32(name, shape, &values).map(|_| ())
        };
        let [wide, up, vocabulary] =
            [self.width, self.feed_forward, self.vocabulary].map(u64::from);
        let kv = wide / u64::from(self.heads) * u64::from(self.kv_heads);
        // Weights of about one over the root of the depth keep the residual's size from layer to layer.
        let spread = |depth: u64| 1.7 / (depth as f32).sqrt();
        add("token_embd.weight", &[vocabulary, wide], 0.0, 1.0)?;
        add("output_norm.weight", &[wide], 1.0, 0.2)?;
        for layer in 0..self.layers {
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            add(&name("attn_norm"), &[wide], 1.0, 0.2)?;
            add(&name("attn_q"), &[wide, wide], 0.0, spread(wide))?;
            add(&name("attn_k"), &[kv, wide], 0.0, spread(wide))?;
            add(&name("attn_v"), &[kv, wide], 0.0, spread(wide))?;
            add(&name("attn_output"), &[wide, wide], 0.0, spread(wide))?;
            add(&name("ffn_norm"), &[wide], 1.0, 0.2)?;
            add(&name("ffn_gate"), &[up, wide], 0.0, spread(wide))?;
            add(&name("ffn_up"), &[up, wide], 0.0, spread(wide))?;
            add(&name("ffn_down"), &[wide, up], 0.0, spread(up))?;
        }
        Ok(file)
    }
}

/// Blocks of 32 values as `q8_0` has them: a scale in f16, and whole numbers from -127 to 127.
fn q8_0(values: &[f32]) -> Vec<u8> {
    let half = Element::of(F16).expect("a type of numbers");
    let mut data = Vec::with_capacity(values.len() / 32 * 34);
    for block in values.chunks_exact(32) {
        let scale = block.iter().fold(0f32, |most, v| most.max(v.abs())) / 127.0;
        let mut bytes = [0; 2];
        half.write_f64(&mut bytes, f64::from(scale));
        data.extend(bytes);
        let whole = |v: &f32| (v / scale.max(f32::MIN_POSITIVE)).round() as i8;
        data.extend(block.iter().map(|v| whole(v) as u8));
    }
    data
}
