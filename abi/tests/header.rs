//! The header compiles alone, as C11 and as C++17, and C sees every struct where Rust sees it. That the header in the tree is
//! the one generated from `src` is held by `xtask` (`src/header.rs`, and `cargo xtask docs --header --check`).

mod cc;
mod layouts;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

/// Nothing before it: what it needs it includes. Twice: the include guard holds.
const TWICE: &str = "#include \"overt.h\"\n#include \"overt.h\"\n";

#[test]
fn compiles_alone_as_c11() {
    let source = cc::scratch("alone.c");
    fs::write(&source, TWICE).expect("scratch file");
    cc::compile("gcc", "c11", &source, &["-c"], &cc::scratch("alone_c.o"));
}

#[test]
fn compiles_alone_as_cpp17() {
    let source = cc::scratch("alone.cpp");
    fs::write(&source, TWICE).expect("scratch file");
    cc::compile(
        "g++",
        "c++17",
        &source,
        &["-c"],
        &cc::scratch("alone_cpp.o"),
    );
}

#[test]
fn the_query_has_c_linkage_in_cpp() {
    let text = format!(
        "{TWICE}static OvertProviderQuery pointer = overt_provider_query;\n\
         OvertStatus overt_provider_query(const OvertQueryRequest *, OvertQueryResponse *) {{ return pointer ? OVERT_OK : OVERT_E_ABI; }}\n"
    );
    let source = cc::scratch("linkage.cpp");
    fs::write(&source, text).expect("scratch file");
    let object = cc::scratch("linkage.o");
    cc::compile("g++", "c++17", &source, &["-c"], &object);
    // The name in the symbol table stands between two zero bytes: a mangled one would have letters around it.
    let bytes = fs::read(object).expect("object");
    let name = b"\0overt_provider_query\0";
    assert!(
        bytes.windows(name.len()).any(|window| window == name),
        "the symbol is not named overt_provider_query"
    );
}

#[test]
fn c_and_rust_agree_on_every_layout() {
    for (compiler, standard, extension) in [("gcc", "c11", "c"), ("g++", "c++17", "cpp")] {
        let mut text = String::from("#include \"overt.h\"\n#include <stdio.h>\nint main(void) {\n");
        for layout in layouts::overt() {
            let name = layout.name;
            // `alignof` is spelled differently in C11 and C++17; the offset behind one char is the same in both.
            let _ = writeln!(text, "{{ struct probe {{ char before; {name} value; }};");
            let _ = writeln!(
                text,
                "printf(\"{name} size %zu align %zu\\n\", sizeof({name}), offsetof(struct probe, value)); }}"
            );
            for field in &layout.fields {
                let field = field.name;
                let _ = writeln!(
                    text,
                    "printf(\"  {field} offset %zu size %zu\\n\", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));"
                );
            }
        }
        text.push_str("return 0;\n}\n");
        let source = cc::scratch(&format!("layouts.{extension}"));
        fs::write(&source, text).expect("scratch file");
        let program = cc::scratch(&format!("layouts_{extension}"));
        cc::compile(compiler, standard, &source, &[], &program);
        let run = Command::new(&program).output().expect("the program starts");
        assert!(run.status.success());
        let have = String::from_utf8(run.stdout).expect("text");
        let want = fs::read_to_string(cc::root().join("golden/0.1.txt")).expect("golden/0.1.txt");
        for (number, (have, want)) in have.lines().zip(want.lines()).enumerate() {
            assert_eq!(
                have,
                want,
                "{compiler} against golden/0.1.txt, line {}",
                number + 1
            );
        }
        assert_eq!(
            have.lines().count(),
            want.lines().count(),
            "{compiler}: another number of lines"
        );
    }
}

/// Names and bodies of the header's structs and unions.
fn defined(header: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = header;
    while let Some(start) = ["typedef struct ", "typedef union "]
        .iter()
        .filter_map(|s| rest.find(s))
        .min()
    {
        rest = &rest[start..];
        let line = &rest[..rest.find('\n').expect("a line ends")];
        if let Some(open) = line.find('{') {
            let end = rest.find("\n} ").expect("a body ends");
            let name = line[..open].split_whitespace().next_back().expect("a name");
            found.push((name, &rest[open + 1..end]));
            rest = &rest[end..];
        } else {
            rest = &rest[line.len()..];
        }
    }
    found
}

/// Members of a body: what ends with a semicolon outside comments.
fn members(body: &str) -> usize {
    let mut count = 0;
    let mut rest = body;
    while let Some((code, comment)) = rest.split_once("/*") {
        count += code.matches(';').count();
        rest = comment.split_once("*/").expect("a comment ends").1;
    }
    count + rest.matches(';').count()
}

#[test]
fn the_list_of_layouts_is_complete() {
    let header = fs::read_to_string(cc::root().join("include/overt.h")).expect("include/overt.h");
    let defined = defined(&header);
    let layouts = layouts::overt();
    let have: BTreeSet<_> = layouts.iter().map(|layout| layout.name).collect();
    let want: BTreeSet<_> = defined.iter().map(|(name, _)| *name).collect();
    assert_eq!(have, want, "tests/layouts/mod.rs against the header");
    for (name, body) in defined {
        let layout = layouts
            .iter()
            .find(|layout| layout.name == name)
            .expect("just compared");
        assert_eq!(layout.fields.len(), members(body), "members of {name}");
    }
}

#[test]
fn dlpack_stays_out_of_the_header() {
    let header = fs::read_to_string(cc::root().join("include/overt.h")).expect("include/overt.h");
    for name in ["DLTensor", "DLDevice", "DLPackVersion", "DLManagedTensor"] {
        assert!(!header.contains(name), "{name} would clash with dlpack.h");
    }
}
