//! Copies of this tree, for faults to be put into.

use crate::hostile::root;
use std::path::Path;
use std::process::Command;

/// Copies what git knows of, so that no build output comes along.
pub fn copy(to: &Path) {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    for name in listed
        .stdout
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let name = std::str::from_utf8(name).unwrap();
        let target = to.join(name);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        // A file that was removed and not yet committed is not part of the tree.
        if root().join(name).is_file() {
            std::fs::copy(root().join(name), &target)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
