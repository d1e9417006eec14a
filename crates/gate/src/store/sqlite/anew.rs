//! Replacement of a damaged chain, so that the operator can go on.
//!
//! Nothing is repaired: a copy of the database stays beside it, and the new chain begins with a
//! record of the damage. Its numbers go on from the last one that the server had signed.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::bytes::Hash;
use crate::clock::{Clock, random};
use crate::keyring::{Keyring, Purpose};
use crate::record::{Checkpoint, Damage, Draft, Event, Head, RecordOwner};
use crate::store::sqlite::chain::{self, End};
use crate::store::sqlite::noted::{self, Note};
use crate::store::sqlite::{Sqlite, make_private, schema, unusable};
use crate::store::{Noted, StoreError};

/// The most findings of damage that are recorded.
const DAMAGE: usize = 20;

impl Sqlite {
    /// Begins a new chain in a database whose chain is damaged, and returns the path of a copy of
    /// the old one; there is none if the database was missing. No other process may use the
    /// database.
    ///
    /// # Errors
    /// The database or its folder cannot be used.
    pub(crate) fn danger_begin_anew(
        path: &Path,
        keyring: &Keyring,
        clock: &dyn Clock,
        damage: &[Damage],
    ) -> Result<Option<PathBuf>, StoreError> {
        let failed = |cause: &dyn std::fmt::Display| unusable(path, cause);
        let existed = path.try_exists().map_err(|cause| failed(&cause))?;
        make_private(path).map_err(|cause| failed(&cause))?;
        let mut connection = schema::writer(path).map_err(|error| failed(&error.0))?;
        let copy = if existed { Some(keep_copy(&connection, path)?) } else { None };
        let last = last_signed(&connection, path, keyring)?;
        let salt = random(clock).map_err(|error| failed(&error))?;
        let copied = copy.as_ref().map(|(path, hash)| json!({"file": name(path), "sha256": hash}));
        let damage: Vec<_> = damage.iter().take(DAMAGE).map(ToString::to_string).collect();
        let payload = json!({"damage": damage, "copy": copied}).to_string();
        let at = clock.now().max(last.at);
        let draft = Draft::new(at, Event::BegunAnew, RecordOwner::default(), payload, salt);
        let hash = copy.as_ref().map_or([0; 32], |(_, hash)| hash.0);
        let head = begin(&mut connection, keyring, Head { number: last.number, hash, at }, &draft)?;
        let mut note = Note::begin(noted::path(path), keyring)?;
        note.note(&head, keyring)?;
        Ok(copy.map(|(path, _)| path))
    }
}

/// Replaces all records by a signed anchor and one record.
fn begin(
    connection: &mut Connection,
    keyring: &Keyring,
    anchor: Head,
    draft: &Draft,
) -> Result<Head, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch("DELETE FROM records; DELETE FROM checkpoints; DELETE FROM ends;")?;
    chain::sign(&transaction, keyring, End::Anchor, anchor)?;
    let mut appending = chain::appending(&transaction)?;
    let head = chain::append(&transaction, &mut appending, keyring, anchor, draft)?;
    drop(appending);
    chain::sign(&transaction, keyring, End::Head, head)?;
    transaction.commit()?;
    Ok(head)
}

/// The furthest position in the chain that this server has signed, wherever it is still found.
fn last_signed(
    connection: &Connection,
    path: &Path,
    keyring: &Keyring,
) -> Result<Head, StoreError> {
    let mut candidates: Vec<(Purpose, Checkpoint)> = Vec::new();
    for end in [End::Head, End::Anchor] {
        candidates
            .extend(chain::end(connection, end)?.map(|checkpoint| (end.purpose(), checkpoint)));
    }
    let checkpoints = chain::checkpoints(connection)?;
    candidates.extend(checkpoints.into_iter().map(|checkpoint| (Purpose::Checkpoint, checkpoint)));
    if let Noted::At(checkpoint) = noted::read(path) {
        candidates.push((Purpose::Noted, checkpoint));
    }
    let key = keyring.public();
    let signed =
        candidates.iter().filter(|(purpose, checkpoint)| checkpoint.is_signed(*purpose, &key));
    let last = signed.map(|(_, checkpoint)| checkpoint.head()).max_by_key(|head| head.number);
    Ok(last.unwrap_or_else(Head::genesis))
}

/// Copies the database as it is, and returns the path and the hash of the copy.
fn keep_copy(connection: &Connection, path: &Path) -> Result<(PathBuf, Hash), StoreError> {
    let failed = |cause: &std::io::Error| unusable(path, cause);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let named = |number: u32| path.with_extension(format!("damaged-{number}.db"));
    let mut copy = named(1);
    for number in 1_u32.. {
        copy = named(number);
        match options.open(&copy) {
            Ok(_) => break,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    connection.execute("VACUUM INTO ?1", [copy.display().to_string()])?;
    let bytes = fs::read(&copy).map_err(|error| failed(&error))?;
    Ok((copy, Hash(Sha256::digest(bytes).into())))
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
