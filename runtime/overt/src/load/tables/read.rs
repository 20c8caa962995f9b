//! The size rule and the string rule of the ABI, as a reader.

use crate::load::fault::NegotiateError;
use crate::load::memory::Memory;
use overt_abi::*;
use std::fmt;

/// No struct of this ABI will ever be larger; a larger size is garbage.
const MOST_SIZE: u32 = 1 << 16;
/// No table is longer; a longer one is garbage.
const MOST_COUNT: u32 = 1 << 20;
/// No text is longer.
const MOST_TEXT: u64 = 1 << 20;

/// A struct that begins with its size.
///
/// # Safety
///
/// The type is `repr(C)`, begins with a `u32` size, and every pattern of bits is a valid value of it.
pub(in crate::load) unsafe trait AbiStruct: Copy {
    /// Its name, for messages.
    const NAME: &'static str;
    /// Its size in version 0.1. A literal and not `size_of`, because the type grows and this never does.
    const FIRST: u32;
}

/// An atom: no size field, never grows.
///
/// # Safety
///
/// The type is `repr(C)` and every pattern of bits is a valid value of it.
pub(in crate::load) unsafe trait AbiAtom: Copy {
    /// Its name, for messages.
    const NAME: &'static str;
}

macro_rules! abi_structs {
    ($($name:ident $first:literal;)*) => {
        $(
            // SAFETY: the type is repr(C), begins with `size: u32`, and holds integers, raw pointers, floats and optional
            // function pointers only, for which every pattern of bits is valid.
            unsafe impl AbiStruct for $name {
                const NAME: &'static str = stringify!($name);
                const FIRST: u32 = $first;
            }
        )*
        #[cfg(test)]
        const FIRST_SIZES: &[(&str, usize, u32)] = &[$((stringify!($name), size_of::<$name>(), $first)),*];
    };
}

abi_structs! {
    OvertBuildInfo 104;
    OvertProvider 96;
    OvertProviderApi 352;
    OvertOpDecl 56;
    OvertKernelDecl 208;
    OvertClause 56;
    OvertImageDecl 112;
    OvertResources 48;
    OvertKnobDecl 120;
    OvertKnobDefault 56;
    OvertKnobFormer 24;
    OvertArch 64;
    OvertArchFeature 24;
    OvertArchPattern 16;
    OvertDeviceInfo 104;
}

// SAFETY: a pointer and an integer.
unsafe impl AbiAtom for OvertStr {
    const NAME: &'static str = "OvertStr";
}
// SAFETY: two integers and a union of integers, floats and pointers.
unsafe impl AbiAtom for OvertValue {
    const NAME: &'static str = "OvertValue";
}
// SAFETY: two atoms.
unsafe impl AbiAtom for OvertFact {
    const NAME: &'static str = "OvertFact";
}

/// Where in the declarations something stands: `kernels[3].clauses[0].fact`.
#[derive(Clone, Copy)]
pub(in crate::load) struct At<'a> {
    above: Option<&'a At<'a>>,
    name: &'a str,
    index: Option<usize>,
}

impl<'a> At<'a> {
    pub(in crate::load) fn root(name: &'a str) -> At<'a> {
        At {
            above: None,
            name,
            index: None,
        }
    }

    pub(in crate::load) fn field(&'a self, name: &'a str) -> At<'a> {
        At {
            above: Some(self),
            name,
            index: None,
        }
    }

    pub(in crate::load) fn element(&self, index: usize) -> At<'a> {
        At {
            index: Some(index),
            ..*self
        }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(above) = self.above {
            write!(f, "{above}.")?;
        }
        f.write_str(self.name)?;
        if let Some(index) = self.index {
            write!(f, "[{index}]")?;
        }
        Ok(())
    }
}

/// Reads tables out of a provider's memory.
pub(in crate::load) struct Reader<'m> {
    pub(in crate::load) memory: &'m Memory,
}

type Result<T> = std::result::Result<T, NegotiateError>;

impl Reader<'_> {
    /// One struct by pointer.
    pub(in crate::load) fn one<T: AbiStruct>(&self, pointer: *const T, at: &At<'_>) -> Result<T> {
        if pointer.is_null() {
            return Err(NegotiateError::Null {
                at: at.to_string(),
                wanted: format!("one `{}`", T::NAME),
            });
        }
        let size = self.size::<T>(pointer.addr(), at)?;
        self.value(pointer.addr(), size, at)
    }

    /// A table of structs; the first one's size is the stride.
    pub(in crate::load) fn array<T: AbiStruct>(
        &self,
        pointer: *const T,
        count: u32,
        at: &At<'_>,
    ) -> Result<Vec<T>> {
        if !self.has_table(pointer.addr(), count, T::NAME, at)? {
            return Ok(Vec::new());
        }
        let stride = self.size::<T>(pointer.addr(), &at.element(0))?;
        if !(stride as usize).is_multiple_of(align_of::<T>()) {
            return Err(NegotiateError::Misaligned {
                at: at.to_string(),
                what: T::NAME,
                found: stride as usize,
                wanted: align_of::<T>(),
            });
        }
        let mut items = Vec::new();
        for index in 0..count as usize {
            let at = at.element(index);
            let address = pointer.addr().wrapping_add(index * stride as usize);
            let size = self.size::<T>(address, &at)?;
            if size != stride {
                return Err(NegotiateError::Stride {
                    at: at.to_string(),
                    found: size,
                    first: stride,
                });
            }
            items.push(self.value(address, stride, &at)?);
        }
        Ok(items)
    }

    /// A table of atoms.
    pub(in crate::load) fn atoms<T: AbiAtom>(
        &self,
        pointer: *const T,
        count: u32,
        at: &At<'_>,
    ) -> Result<Vec<T>> {
        if !self.has_table(pointer.addr(), count, T::NAME, at)? {
            return Ok(Vec::new());
        }
        aligned::<T>(pointer.addr(), T::NAME, at)?;
        let mut bytes = vec![0; count as usize * size_of::<T>()];
        self.bytes(pointer.addr(), &mut bytes, at)?;
        // SAFETY: each chunk has the size of T, of which every pattern of bits is valid.
        Ok(bytes
            .chunks_exact(size_of::<T>())
            .map(|chunk| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() })
            .collect())
    }

    /// One text.
    pub(in crate::load) fn text(&self, text: OvertStr, at: &At<'_>) -> Result<String> {
        if text.len == 0 {
            return Ok(String::new());
        }
        if text.len > MOST_TEXT {
            return Err(NegotiateError::Count {
                at: at.to_string(),
                count: text.len,
                most: MOST_TEXT,
            });
        }
        if text.data.is_null() {
            return Err(NegotiateError::Null {
                at: at.to_string(),
                wanted: format!("{} bytes of text", text.len),
            });
        }
        let mut bytes = vec![0; text.len as usize];
        self.bytes(text.data.addr(), &mut bytes, at)?;
        String::from_utf8(bytes).map_err(|e| NegotiateError::Utf8 {
            at: at.to_string(),
            valid: e.utf8_error().valid_up_to(),
            shown: String::from_utf8_lossy(e.as_bytes())
                .chars()
                .take(40)
                .collect(),
        })
    }

    /// A text of which empty means that it is not stated.
    pub(in crate::load) fn optional_text(
        &self,
        text: OvertStr,
        at: &At<'_>,
    ) -> Result<Option<String>> {
        let text = self.text(text, at)?;
        Ok((!text.is_empty()).then_some(text))
    }

    /// A table of texts.
    pub(in crate::load) fn texts(
        &self,
        pointer: *const OvertStr,
        count: u32,
        at: &At<'_>,
    ) -> Result<Vec<String>> {
        let atoms = self.atoms(pointer, count, at)?;
        atoms
            .into_iter()
            .enumerate()
            .map(|(index, text)| self.text(text, &at.element(index)))
            .collect()
    }

    fn has_table(&self, address: usize, count: u32, what: &str, at: &At<'_>) -> Result<bool> {
        if count == 0 {
            return Ok(false);
        }
        if count > MOST_COUNT {
            return Err(NegotiateError::Count {
                at: at.to_string(),
                count: count.into(),
                most: MOST_COUNT.into(),
            });
        }
        if address == 0 {
            return Err(NegotiateError::Null {
                at: at.to_string(),
                wanted: format!("a table of {count} `{what}`"),
            });
        }
        Ok(true)
    }

    fn size<T: AbiStruct>(&self, address: usize, at: &At<'_>) -> Result<u32> {
        aligned::<T>(address, T::NAME, at)?;
        let mut size = [0; 4];
        self.bytes(address, &mut size, at)?;
        let found = u32::from_ne_bytes(size);
        if found < T::FIRST {
            return Err(NegotiateError::Size {
                at: at.to_string(),
                what: T::NAME,
                found,
                first: T::FIRST,
            });
        }
        if found > MOST_SIZE {
            return Err(NegotiateError::SizeImplausible {
                at: at.to_string(),
                what: T::NAME,
                found,
                known: size_of::<T>() as u32,
                most: MOST_SIZE,
            });
        }
        Ok(found)
    }

    fn value<T: AbiStruct>(&self, address: usize, size: u32, at: &At<'_>) -> Result<T> {
        let mut value = std::mem::MaybeUninit::<T>::zeroed();
        let known = (size as usize).min(size_of::<T>());
        // SAFETY: the local is zeroed, so its first `known` bytes are initialised and inside it.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), known) };
        self.bytes(address, bytes, at)?;
        // SAFETY: all bytes are initialised, a missing tail as zero, and every pattern of bits is valid for T.
        Ok(unsafe { value.assume_init() })
    }

    fn bytes(&self, address: usize, into: &mut [u8], at: &At<'_>) -> Result<()> {
        if self.memory.read(address, into) {
            Ok(())
        } else {
            Err(NegotiateError::Unreadable {
                at: at.to_string(),
                address,
                bytes: into.len(),
            })
        }
    }
}

fn aligned<T>(address: usize, what: &'static str, at: &At<'_>) -> Result<()> {
    if address.is_multiple_of(align_of::<T>()) {
        Ok(())
    } else {
        Err(NegotiateError::Misaligned {
            at: at.to_string(),
            what,
            found: address,
            wanted: align_of::<T>(),
        })
    }
}

/// Refuses a name that stands twice.
pub(super) fn unique<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for (second, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, second) {
            return Err(NegotiateError::Duplicate {
                what,
                name: name.to_owned(),
                first,
                second,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sizes_are_those_of_version_0_1() {
        for (name, now, first) in FIRST_SIZES {
            if OVERT_ABI_VERSION == 1 {
                assert_eq!(*now, *first as usize, "{name}");
            } else {
                assert!(*now >= *first as usize, "{name} shrank");
            }
        }
    }

    fn feature(size: u32) -> OvertArchFeature {
        OvertArchFeature {
            size,
            state: OVERT_FEATURE_ON,
            name: OvertStr {
                data: "avx2".as_ptr(),
                len: 4,
            },
        }
    }

    fn read(table: &[OvertArchFeature]) -> Result<Vec<OvertArchFeature>> {
        let memory = Memory::open();
        Reader { memory: &memory }.array(table.as_ptr(), table.len() as u32, &At::root("features"))
    }

    #[test]
    fn sizes_below_the_first_and_beyond_belief_are_refused_with_both_numbers() {
        assert_eq!(read(&[feature(24), feature(24)]).unwrap().len(), 2);
        let error = read(&[feature(16)]).unwrap_err();
        assert!(
            matches!(
                error,
                NegotiateError::Size {
                    found: 16,
                    first: 24,
                    ..
                }
            ),
            "{error}"
        );
        let error = read(&[feature(u32::MAX)]).unwrap_err();
        assert!(
            matches!(error, NegotiateError::SizeImplausible { .. }),
            "{error}"
        );
        let error = read(&[feature(25)]).unwrap_err();
        assert!(
            matches!(error, NegotiateError::Misaligned { found: 25, .. }),
            "{error}"
        );
        let error = read(&[feature(24), feature(32)]).unwrap_err();
        assert!(
            matches!(
                error,
                NegotiateError::Stride {
                    found: 32,
                    first: 24,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(error.to_string().split('`').nth(1), Some("features[1]"));
    }

    #[test]
    fn a_newer_writers_elements_are_read_with_their_own_stride() {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Newer {
            old: OvertArchFeature,
            later: u64,
        }
        let table = [
            Newer {
                old: feature(32),
                later: 7,
            },
            Newer {
                old: feature(32),
                later: 8,
            },
        ];
        let memory = Memory::open();
        let reader = Reader { memory: &memory };
        let got = reader
            .array(
                table.as_ptr().cast::<OvertArchFeature>(),
                2,
                &At::root("features"),
            )
            .unwrap();
        for element in got {
            assert_eq!(element.state, OVERT_FEATURE_ON);
            assert_eq!(
                reader.text(element.name, &At::root("name")).unwrap(),
                "avx2"
            );
        }
        assert_eq!((table[0].later, table[1].later), (7, 8));
    }

    #[test]
    fn wild_pointers_counts_and_text_are_refused() {
        let memory = Memory::open();
        let reader = Reader { memory: &memory };
        let at = At::root("kernels");
        let null = std::ptr::null::<OvertKernelDecl>();
        assert!(reader.array(null, 0, &at).unwrap().is_empty());
        assert!(matches!(
            reader.array(null, 3, &at),
            Err(NegotiateError::Null { .. })
        ));
        let table = feature(24);
        assert!(matches!(
            reader.array(&raw const table, u32::MAX, &at),
            Err(NegotiateError::Count { .. })
        ));
        let odd = std::ptr::without_provenance::<OvertKernelDecl>(0x1001);
        assert!(matches!(
            reader.one(odd, &at),
            Err(NegotiateError::Misaligned { .. })
        ));
        if cfg!(target_os = "linux") {
            let wild = std::ptr::without_provenance::<OvertKernelDecl>(0x1000);
            assert!(matches!(
                reader.one(wild, &at),
                Err(NegotiateError::Unreadable { .. })
            ));
        }
        let text = |data: *const u8, len| reader.text(OvertStr { data, len }, &at);
        assert_eq!(text(std::ptr::null(), 0).unwrap(), "");
        assert!(matches!(
            text(std::ptr::null(), 1),
            Err(NegotiateError::Null { .. })
        ));
        assert!(matches!(
            text(b"x".as_ptr(), u64::MAX),
            Err(NegotiateError::Count { .. })
        ));
        assert!(matches!(
            text(b"a\xffb".as_ptr(), 3),
            Err(NegotiateError::Utf8 { valid: 1, .. })
        ));
    }
}
