//! Large bodies as files in a folder: for `oncehook dev` and tests. What S3's lifecycle does there, [`Folder::expire`] does
//! here.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::large::{Answer, Bodies, BodyError};

/// Released files are there for so long: somebody may have read their name just before.
const LEFT: SignedDuration = SignedDuration::from_hours(24);

/// A folder of bodies.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// This folder; it is made when something is written.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Deletes what is under `bodies/` and older than `age`, and what was released a day ago. Returns how many files.
    ///
    /// # Errors
    /// When a file cannot be read or deleted.
    pub fn expire(&self, age: SignedDuration, now: Timestamp) -> io::Result<usize> {
        let mut gone = 0;
        for file in files(&self.0.join("bodies"))? {
            if is_older(&file, age, now)? {
                fs::remove_file(&file)?;
                gone += 1;
            }
        }
        for mark in files(&self.0.join("kept"))? {
            let Some(file) = mark.to_str().and_then(|mark| mark.strip_suffix(".released")) else {
                continue;
            };
            if is_older(&mark, LEFT, now)? {
                let _gone_before = fs::remove_file(file);
                fs::remove_file(&mark)?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    fn path(&self, name: &str) -> Result<PathBuf, BodyError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '/';
        if name.chars().all(fits) && !name.starts_with('/') {
            return Ok(self.0.join(name));
        }
        Err(BodyError::Broken(format!("`{name}` is no name of a body")))
    }

    /// Writes beside, then renames: a reader sees all of it or nothing.
    fn write(path: &Path, body: &[u8]) -> io::Result<()> {
        let beside = path.with_extension(Uuid::new_v4().simple().to_string());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&beside, body)?;
        fs::File::open(&beside)?.sync_all()?;
        fs::rename(&beside, path)
    }
}

/// All files below a folder, which need not be there.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(found);
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

fn is_older(file: &Path, than: SignedDuration, now: Timestamp) -> io::Result<bool> {
    let written = Timestamp::try_from(fs::metadata(file)?.modified()?).map_err(io::Error::other)?;
    Ok(now.duration_since(written) >= than)
}

fn read(path: &Path, most: usize) -> io::Result<Option<Bytes>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > most as u64 => {
            Err(io::Error::other(format!("it has {} bytes", metadata.len())))
        }
        Ok(_) => fs::read(path).map(Bytes::from).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> BodyError {
    move |error| BodyError::Busy(format!("{}: {error}", path.display()))
}

impl Bodies for Folder {
    fn put<'a>(&'a self, name: &'a str, body: Bytes) -> Answer<'a, ()> {
        Box::pin(async move {
            let path = self.path(name)?;
            Self::write(&path, &body).map_err(failed(&path))
        })
    }

    fn get<'a>(&'a self, name: &'a str, most: usize) -> Answer<'a, Option<Bytes>> {
        Box::pin(async move {
            let path = self.path(name)?;
            read(&path, most).map_err(failed(&path))
        })
    }

    fn copy<'a>(&'a self, from: &'a str, to: &'a str) -> Answer<'a, bool> {
        Box::pin(async move {
            let (from, to) = (self.path(from)?, self.path(to)?);
            match read(&from, usize::MAX).map_err(failed(&from))? {
                Some(body) => Self::write(&to, &body).map_err(failed(&to)).map(|()| true),
                None => Ok(false),
            }
        })
    }

    fn release<'a>(&'a self, name: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            let path = self.path(name)?;
            let mark = PathBuf::from(format!("{}.released", path.display()));
            fs::write(&mark, b"").map_err(failed(&mark))
        })
    }
}
