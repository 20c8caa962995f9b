//! The pipeline cache on disk: a file for each device, driver and build of this provider.
//!
//! Its name holds a digest of all three, and so does its head, which is compared when it is read: a file that was renamed, cut or written by
//! another build is not used. The driver checks its own head inside; ours comes first because not every driver survives bytes that are not
//! its own.

use crate::physical::Physical;
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 16] = b"overt pipelines\n";
/// Magic, key, digest of what follows, its length.
const HEAD: usize = 16 + 32 + 32 + 8;
/// A file beyond this is not read: it cannot be one of these kernels'.
const MOST: u64 = 1 << 30;

/// A place for one device's pipelines.
pub struct Disk {
    path: PathBuf,
    key: [u8; 32],
}

impl Disk {
    pub fn of(folder: &Path, physical: &Physical) -> Disk {
        let properties = &physical.properties;
        let mut digest = Sha256::new();
        for part in [
            &physical.device_uuid[..],
            &physical.driver_uuid,
            &properties.pipeline_cache_uuid,
            &properties.driver_version.to_le_bytes(),
            &properties.vendor_id.to_le_bytes(),
            &properties.device_id.to_le_bytes(),
            physical.driver.as_bytes(),
            env!("CARGO_PKG_VERSION").as_bytes(),
            option_env!("OVERT_BUILD_REVISION").unwrap_or("").as_bytes(),
        ] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        for shader in crate::kernel::Shader::all() {
            digest.update(shader.image.digest);
        }
        let key: [u8; 32] = digest.finalize().into();
        let name: String = key[..8].iter().map(|b| format!("{b:02x}")).collect();
        Disk {
            path: folder.join(format!("vulkan-{name}.pipelines")),
            key,
        }
    }

    /// What was kept; `Ok(None)` where nothing was. An error says why a file is not used.
    pub fn read(&self) -> Result<Option<Vec<u8>>, String> {
        let words = |what: &str| {
            format!(
                "{}: {what}; pipelines are compiled anew",
                self.path.display()
            )
        };
        let file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(words(&e.to_string())),
        };
        let mut bytes = Vec::new();
        file.take(MOST)
            .read_to_end(&mut bytes)
            .map_err(|e| words(&e.to_string()))?;
        let Some((head, data)) = bytes.split_at_checked(HEAD) else {
            return Err(words("the file is shorter than its head"));
        };
        if &head[..16] != MAGIC {
            return Err(words("the file is no pipeline cache of this program"));
        }
        if head[16..48] != self.key {
            return Err(words(
                "the file was written for another device, driver or build",
            ));
        }
        if head[80..88] != (data.len() as u64).to_le_bytes() {
            return Err(words("the file was cut"));
        }
        if head[48..80] != Sha256::digest(data)[..] {
            return Err(words("the file is damaged"));
        }
        Ok(Some(data.to_vec()))
    }

    /// Keeps pipelines. Two writers at once each write a whole file, and the last one stays.
    pub fn write(&self, data: &[u8]) -> Result<(), String> {
        let words =
            |e: std::io::Error| format!("{}: {e}; pipelines are not kept", self.path.display());
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(words)?;
        let staged = self
            .path
            .with_extension(format!("{}-{:p}", std::process::id(), data));
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::File::create(&staged)?;
            file.write_all(MAGIC)?;
            file.write_all(&self.key)?;
            file.write_all(&Sha256::digest(data))?;
            file.write_all(&(data.len() as u64).to_le_bytes())?;
            file.write_all(data)?;
            file.sync_all()?;
            std::fs::rename(&staged, &self.path)
        };
        write().map_err(|e| {
            // The rename did not happen, so the staged file is ours to remove; that it cannot be changes nothing.
            let _ = std::fs::remove_file(&staged);
            words(e)
        })
    }
}
