//! What can be wrong with a provider's answer as a whole. Any of these refuses the provider; the host has then called nothing
//! but its query function.

use super::decl::abi_version_text;

/// Why negotiation with a library failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NegotiateError {
    /// The library is no provider.
    #[error("it does not export `{symbol}`, so it is no Overt provider: {words}")]
    NoSymbol {
        /// The wanted symbol.
        symbol: &'static str,
        /// The loader's words.
        words: String,
    },
    /// The provider refused by itself.
    #[error(
        "the provider refuses: {} (status {status}); it speaks ABI {}, this host speaks {}",
        if words.is_empty() { "it gives no reason" } else { words },
        abi_version_text(*speaks),
        host_range(*abi_min, *abi_max)
    )]
    Refused {
        /// The status it returned.
        status: i32,
        /// Its words.
        words: String,
        /// The newest version it says it speaks; 0.0 if it does not say.
        speaks: u32,
        /// The oldest version of the host.
        abi_min: u32,
        /// The newest version of the host.
        abi_max: u32,
    },
    /// It chose a version that the host did not offer.
    #[error(
        "the provider answers with ABI {} ({found:#010x}), this host speaks {}; build both against one version",
        abi_version_text(*found),
        host_range(*abi_min, *abi_max)
    )]
    Version {
        /// What it chose.
        found: u32,
        /// The oldest version of the host.
        abi_min: u32,
        /// The newest version of the host.
        abi_max: u32,
    },
    /// It wrote past the struct that it was given.
    #[error("the provider wrote beyond the {size} bytes of `OvertQueryResponse` that it was given")]
    WroteBeyond {
        /// The stated size.
        size: u32,
    },
    /// A struct smaller than it ever was.
    #[error("`{at}` states a size of {found} bytes; the first version of `{what}` has {first}")]
    Size {
        /// Which struct.
        at: String,
        /// Its type.
        what: &'static str,
        /// The size it states.
        found: u32,
        /// The first version's size.
        first: u32,
    },
    /// A struct larger than any version can be.
    #[error(
        "`{at}` states a size of {found} bytes, which no version of `{what}` has (this host's has {known}, and at most {most} are believed)"
    )]
    SizeImplausible {
        /// Which struct.
        at: String,
        /// Its type.
        what: &'static str,
        /// The size it states.
        found: u32,
        /// The size this host knows.
        known: u32,
        /// The limit.
        most: u32,
    },
    /// Array elements that do not agree on their size.
    #[error(
        "`{at}` states a size of {found} bytes; the first element states {first}, which is the stride of all"
    )]
    Stride {
        /// Which element.
        at: String,
        /// The size it states.
        found: u32,
        /// The first element's size.
        first: u32,
    },
    /// A pointer or stride that does not keep the type's alignment.
    #[error(
        "`{at}` is at or steps by {found:#x}, which is not a multiple of {wanted}, the alignment of `{what}`"
    )]
    Misaligned {
        /// Which pointer.
        at: String,
        /// Its type.
        what: &'static str,
        /// The address or stride.
        found: usize,
        /// The alignment.
        wanted: usize,
    },
    /// A pointer to nothing readable.
    #[error("`{at}` points to {address:#x}, where {bytes} bytes cannot be read")]
    Unreadable {
        /// Which pointer.
        at: String,
        /// The address.
        address: usize,
        /// How many bytes were wanted.
        bytes: usize,
    },
    /// A null pointer where something must be.
    #[error("`{at}` is null; wanted {wanted}")]
    Null {
        /// Which pointer.
        at: String,
        /// What it should point to.
        wanted: String,
    },
    /// A count that cannot be true.
    #[error("`{at}` has {count} elements; at most {most} are believed")]
    Count {
        /// Which table.
        at: String,
        /// The count it states.
        count: u64,
        /// The limit.
        most: u64,
    },
    /// Required entries that are null.
    #[error("required entries are null: {}", entries.join(", "))]
    NullEntries {
        /// Their names.
        entries: Vec<&'static str>,
    },
    /// Text that is not UTF-8.
    #[error("`{at}` is not UTF-8 from byte {valid} on; it begins `{shown}`")]
    Utf8 {
        /// Which text.
        at: String,
        /// How many bytes are valid.
        valid: usize,
        /// The text with replacement characters, shortened.
        shown: String,
    },
    /// A name outside its grammar.
    #[error("`{at}` is `{found}`; wanted {wanted}")]
    Name {
        /// Which name.
        at: String,
        /// What it is.
        found: String,
        /// What it should be.
        wanted: String,
    },
    /// Two things with one name.
    #[error(
        "two {what} are named `{name}`: numbers {first} and {second}; each name may stand once"
    )]
    Duplicate {
        /// What they are.
        what: &'static str,
        /// The name.
        name: String,
        /// The first one's index.
        first: usize,
        /// The second one's index.
        second: usize,
    },
    /// Required flags that the host does not know.
    #[error(
        "the provider requires flags {found:#x}, which this host does not know; a newer host may"
    )]
    Required {
        /// The unknown bits.
        found: u32,
    },
    /// A value that breaks the rule of its place.
    #[error("`{at}`: {what}")]
    Value {
        /// Which value.
        at: String,
        /// What is wrong and what is wanted.
        what: String,
    },
}

fn host_range(min: u32, max: u32) -> String {
    if min == max {
        abi_version_text(min)
    } else {
        format!("{} to {}", abi_version_text(min), abi_version_text(max))
    }
}
