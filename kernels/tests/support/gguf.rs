//! Reads `gguf_vectors.bin`, whose layout the head of `gguf_vectors.py` states.

/// Blocks of one format and what the format's own library made of them.
pub struct Section {
    pub format: String,
    /// The library encoded the values to the bytes; else it decoded the bytes to the values.
    pub encoded: bool,
    pub block_bytes: usize,
    pub block_elements: usize,
    pub bytes: Vec<u8>,
    pub values: Vec<f32>,
}

impl Section {
    /// Each block's bytes and values.
    pub fn blocks(&self) -> impl Iterator<Item = (&[u8], &[f32])> {
        let values = self.values.chunks_exact(self.block_elements);
        self.bytes.chunks_exact(self.block_bytes).zip(values)
    }
}

/// All sections of the table.
pub fn sections() -> Vec<Section> {
    let mut rest = include_bytes!("../gguf_vectors.bin").as_slice();
    let mut take = |n: usize| {
        let (head, tail) = rest.split_at(n);
        rest = tail;
        head
    };
    assert_eq!(take(8), b"GGUFVEC1");
    let word = |b: &[u8]| u32::from_le_bytes(b.try_into().unwrap()) as usize;
    let count = word(take(4));
    let out = (0..count)
        .map(|_| {
            let length = take(1)[0] as usize;
            let format = String::from_utf8(take(length).to_vec()).unwrap();
            let encoded = take(1)[0] == 1;
            let [blocks, block_bytes, block_elements] = [(); 3].map(|()| word(take(4)));
            let bytes = take(blocks * block_bytes).to_vec();
            let values = take(blocks * block_elements * 4)
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
                .collect();
            Section {
                format,
                encoded,
                block_bytes,
                block_elements,
                bytes,
                values,
            }
        })
        .collect();
    assert!(rest.is_empty(), "{} bytes behind the table", rest.len());
    out
}

/// Whether two numbers have the same bits, or are both NaN.
pub fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}
