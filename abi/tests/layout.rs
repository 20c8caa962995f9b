//! The ABI's layouts are what `golden/` says. A difference is an incompatible change, or an appended field: before 1.0 both
//! raise 0.N, and `examples/golden.rs` says how to accept them.

mod layouts;

use std::fs;
use std::path::Path;

fn hold(file: &str, have: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(file);
    let want = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut owner = "";
    for (number, (have, want)) in have.lines().zip(want.lines()).enumerate() {
        if !want.starts_with(' ') {
            owner = want;
        }
        assert_eq!(have, want, "golden/{file} line {}, in {owner}", number + 1);
    }
    assert_eq!(
        have.lines().count(),
        want.lines().count(),
        "golden/{file} has another number of lines"
    );
}

#[test]
#[cfg(target_pointer_width = "64")]
fn layouts_are_golden() {
    hold("0.1.txt", &layouts::text(&layouts::overt()));
}

#[test]
#[cfg(target_pointer_width = "64")]
fn dlpack_is_laid_out_as_its_header_states() {
    hold("dlpack.txt", &layouts::text(&layouts::dlpack()));
}

#[test]
fn every_struct_but_the_atoms_begins_with_its_size() {
    let exempt = [
        "OvertStr",
        "OvertDType",
        "OvertValue",
        "OvertValueData",
        "OvertFact",
    ];
    for layout in layouts::overt() {
        let first = &layout.fields[0];
        let sized = (first.name, first.offset, first.size) == ("size", 0, 4);
        assert_eq!(
            sized,
            !exempt.contains(&layout.name),
            "{} begins with {}",
            layout.name,
            first.name
        );
    }
}

#[test]
fn no_padding_hides_between_or_after_fields() {
    // Padding is bytes that nobody writes: a later version could not use them, and a reader could not trust them as zero.
    for layout in layouts::overt()
        .iter()
        .filter(|layout| layout.name != "OvertValueData")
    {
        let mut end = 0;
        for field in &layout.fields {
            assert_eq!(
                field.offset, end,
                "padding before {}.{}",
                layout.name, field.name
            );
            end = field.offset + field.size;
        }
        assert_eq!(end, layout.size, "padding at the end of {}", layout.name);
    }
}
