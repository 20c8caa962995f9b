//! What an instruction set offers for integers: 32-bit words, as many as there are lanes of f32, and the bytes and pairs in
//! them.

mod avx2;
mod avx512;
#[cfg(test)]
mod wide;

/// Integer operations of a token. A supertrait of [`super::super::lanes::Simd`], so every body over that has them.
///
/// As there, methods are to be inlined into a task. Shifts by a constant take it as a parameter because the instructions do.
pub trait Ints: Copy {
    /// Lanes of 32-bit words: as many as `F` has.
    type I: Copy;
    /// Lanes of f32: `Simd::V`.
    type F: Copy;
    /// Whether [`Ints::quads`] is one instruction, which cannot overflow in between.
    const QUADS: bool;

    /// All words `x`.
    fn words(self, x: u32) -> Self::I;
    /// a & b
    fn and(self, a: Self::I, b: Self::I) -> Self::I;
    /// a | b
    fn or(self, a: Self::I, b: Self::I) -> Self::I;
    /// a ^ b
    fn xor(self, a: Self::I, b: Self::I) -> Self::I;
    /// Words shifted left.
    fn shl<const N: u32>(self, a: Self::I) -> Self::I;
    /// Words shifted right, zeros coming in.
    fn shr<const N: u32>(self, a: Self::I) -> Self::I;
    /// Words shifted right, the sign coming in.
    fn sar<const N: u32>(self, a: Self::I) -> Self::I;
    /// Word *i* shifted right by *i*, zeros coming in.
    fn shr_by_lane(self, a: Self::I) -> Self::I;
    /// a + b by words, wrapping.
    fn add_words(self, a: Self::I, b: Self::I) -> Self::I;
    /// a − b by words, wrapping.
    fn sub_words(self, a: Self::I, b: Self::I) -> Self::I;
    /// a · b by words, the lower half.
    fn mul_words(self, a: Self::I, b: Self::I) -> Self::I;
    /// a + b by 16-bit halves, wrapping.
    fn add_halves(self, a: Self::I, b: Self::I) -> Self::I;
    /// Signed words as floats, to nearest.
    fn floats(self, a: Self::I) -> Self::F;
    /// Floats as signed words, to nearest, ties to even. Defined for magnitudes below 2³¹.
    fn rounded(self, v: Self::F) -> Self::I;
    /// Words taken as the bits of floats.
    fn as_floats(self, a: Self::I) -> Self::F;
    /// Floats taken as words.
    fn as_words(self, v: Self::F) -> Self::I;

    /// Byte *j* replaced by `table[byte j]`, for bytes below 16.
    fn look_up(self, table: &[u8; 16], a: Self::I) -> Self::I;
    /// In each 16-bit half: the two products of unsigned bytes of `u` with signed bytes of `s`, added. The sum must fit in 16 bits.
    fn byte_pairs(self, u: Self::I, s: Self::I) -> Self::I;
    /// In each word: the two products of signed 16-bit halves, added.
    fn half_pairs(self, a: Self::I, b: Self::I) -> Self::I;
    /// In each word: `acc` plus the four products of unsigned bytes of `u` with signed bytes of `s`. Without [`Ints::QUADS`]
    /// every two neighbouring products must fit in 16 bits together.
    fn quads(self, acc: Self::I, u: Self::I, s: Self::I) -> Self::I;
    /// Magnitudes of signed bytes, as unsigned ones.
    fn magnitudes(self, a: Self::I) -> Self::I;
    /// Bytes of `a` with the sign of those of `b`: negated where b is negative, zero where it is zero. No byte of `a` is −128.
    fn signed_by(self, a: Self::I, b: Self::I) -> Self::I;
    /// The first two bytes of each word, with their signs, as the halves of a word.
    fn first_halves(self, a: Self::I) -> Self::I;
    /// The last two bytes of each word, with their signs, as the halves of a word.
    fn last_halves(self, a: Self::I) -> Self::I;

    /// The same words, of which the compiler does not know that they are: it can neither reorder the additions that made them
    /// nor move what follows before them. No instruction.
    fn opaque(self, a: Self::I) -> Self::I;

    /// Loads words.
    ///
    /// # Safety
    /// They are readable, at any alignment.
    unsafe fn load_words(self, p: *const u8) -> Self::I;
    /// Stores words.
    ///
    /// # Safety
    /// They are writable, at any alignment.
    unsafe fn store_words(self, p: *mut u8, a: Self::I);
    /// Loads one unsigned byte for each lane.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn load_u8(self, p: *const u8) -> Self::I;
    /// Loads one signed byte for each lane.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn load_i8(self, p: *const u8) -> Self::I;
    /// Loads and decodes one fp8 e5m2 for each lane, exactly.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn load_e5m2(self, p: *const u8) -> Self::F;
    /// Loads one fp8 e4m3fn for each lane as its value times 2⁻⁸, exactly; NaN stays NaN.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn load_e4m3fn(self, p: *const u8) -> Self::F;
}
