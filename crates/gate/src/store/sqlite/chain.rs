//! The audit chain, inside a transaction of the writer.

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params};

use crate::clock::Timestamp;
use crate::keyring::{Keyring, Purpose};
use crate::record::{
    CHECKPOINT_EVERY, Checkpoint, Content, Draft, Event, Head, Numbers, Record, RecordOwner,
    Verifier,
};
use crate::store::sqlite::{lossy, signed, unsigned};
use crate::store::{Chain, Erase, StoreError};

/// The columns of a record, as [`record`] reads them.
pub(super) const RECORD: &str =
    "number, at, event, digest, previous, hash, owner, workspace, session, payload, salt";

/// The name of a signed end.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Head,
    Anchor,
}

impl End {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Anchor => "anchor",
        }
    }

    pub(super) const fn purpose(self) -> Purpose {
        match self {
            Self::Head => Purpose::Head,
            Self::Anchor => Purpose::Anchor,
        }
    }
}

/// A signed end of the chain, if there is one.
pub(super) fn end(connection: &Connection, end: End) -> rusqlite::Result<Option<Checkpoint>> {
    connection
        .prepare_cached("SELECT number, hash, at, signature FROM ends WHERE name = ?1")?
        .query_row([end.as_str()], checkpoint)
        .optional()
}

/// The signed checkpoints, oldest first.
pub(super) fn checkpoints(connection: &Connection) -> rusqlite::Result<Vec<Checkpoint>> {
    connection
        .prepare_cached("SELECT number, hash, at, signature FROM checkpoints ORDER BY number")?
        .query_map([], checkpoint)?
        .collect()
}

/// The number of records with a number that no record can have.
pub(super) fn stray(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM records WHERE number < 1")?
        .query_row([], |row| row.get(0))
        .map(unsigned)
}

/// The end to which the next record is linked, which must be signed by this server, and not before
/// `least`.
///
/// An attacker who deletes the last records from the file must not get the shorter chain signed
/// with the next commit. The end that this process itself wrote (`known`) needs no second check.
pub(super) fn trusted_head(
    connection: &Connection,
    keyring: &Keyring,
    known: Option<&Checkpoint>,
    least: u64,
) -> Result<Option<Checkpoint>, StoreError> {
    let head = end(connection, End::Head)?;
    if head.is_some() && head.as_ref() == known {
        return Ok(head);
    }
    let least = known.map_or(least, |known| known.number.max(least));
    let newest = last(connection)?;
    let holds = match &head {
        Some(checkpoint) => {
            newest == Some(checkpoint.head())
                && checkpoint.number >= least
                && checkpoint.is_signed(Purpose::Head, &keyring.public())
        }
        None => newest.is_none() && least == 0 && end(connection, End::Anchor)?.is_none(),
    };
    if holds {
        Ok(head)
    } else {
        Err(StoreError(
            "the record is damaged: the audit chain does not end where this server's key signed \
             its end; the database was changed, or belongs to another key"
                .to_owned(),
        ))
    }
}

/// Signs an end and replaces the previous one.
pub(super) fn sign(
    connection: &Connection,
    keyring: &Keyring,
    end: End,
    head: Head,
) -> rusqlite::Result<Checkpoint> {
    let checkpoint = head.sign(end.purpose(), keyring);
    let Checkpoint { number, hash, at, signature } = &checkpoint;
    connection
        .prepare_cached(
            "INSERT INTO ends (name, number, hash, at, signature) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (name) DO UPDATE SET number = excluded.number, hash = excluded.hash,
                 at = excluded.at, signature = excluded.signature",
        )?
        .execute(params![end.as_str(), signed(*number), hash, at.0, signature])?;
    Ok(checkpoint)
}

/// The statement for [`append`].
pub(super) fn appending(connection: &Connection) -> rusqlite::Result<CachedStatement<'_>> {
    connection.prepare_cached(
        "INSERT INTO records (number, at, event, digest, previous, hash,
                              owner, workspace, session, payload, salt)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )
}

/// Links a record to the end, and returns the new end.
pub(super) fn append(
    connection: &Connection,
    appending: &mut CachedStatement<'_>,
    keyring: &Keyring,
    end: Head,
    draft: &Draft,
) -> rusqlite::Result<Head> {
    let head = end.then(draft);
    let Content { record_owner: RecordOwner { owner, workspace, session }, payload, salt } =
        &draft.content;
    appending.execute(params![
        signed(head.number),
        head.at.0,
        draft.event.as_str(),
        draft.digest,
        end.hash,
        head.hash,
        owner,
        workspace,
        session,
        payload,
        salt
    ])?;
    if head.number.is_multiple_of(CHECKPOINT_EVERY) {
        let Checkpoint { number, hash, at, signature } = head.sign(Purpose::Checkpoint, keyring);
        connection
            .prepare_cached(
                "INSERT INTO checkpoints (number, hash, at, signature) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![signed(number), hash, at.0, signature])?;
    }
    Ok(head)
}

/// Removes the payload and all names from records, and returns their numbers. Records about
/// erasures keep theirs, and a record that fails verification is not erased: that would hide it.
pub(super) fn erase(connection: &Connection, erase: &Erase) -> Result<Numbers, StoreError> {
    let (condition, owner) = match &erase.owner {
        Some(owner) => ("owner = ?2", owner.as_str()),
        None => ("?2 = ''", ""),
    };
    let wanted = format!(
        "WHERE (?1 IS NULL OR at < ?1) AND {condition} AND salt IS NOT NULL AND event <> '{}'",
        Event::Erased.as_str()
    );
    let before = erase.before.map(|before| before.0);
    let mut erased = Numbers::default();
    let mut statement =
        connection.prepare_cached(&format!("SELECT {RECORD} FROM records {wanted}"))?;
    let mut rows = statement.query(params![before, owner])?;
    while let Some(row) = rows.next()? {
        let record = record(row)?;
        if !record.content_holds() {
            return Err(damaged(record.number, "nothing was erased"));
        }
        erased.add(record.number);
    }
    let update = "UPDATE records SET owner = NULL, workspace = NULL, session = NULL,
                                     payload = NULL, salt = NULL";
    connection.prepare_cached(&format!("{update} {wanted}"))?.execute(params![before, owner])?;
    Ok(erased)
}

fn damaged(number: u64, so: &str) -> StoreError {
    StoreError(format!("the record is damaged at number {number}, and {so}"))
}

/// Cuts off the oldest records, up to the first that is not from before the time or is the last,
/// and returns the count of them. `erased` are the records that the same batch has erased, which no
/// record names yet.
pub(super) fn cut(
    connection: &Connection,
    keyring: &Keyring,
    moment: Timestamp,
    erased: &Numbers,
) -> Result<u64, StoreError> {
    let Some(last) = last(connection)? else { return Ok(0) };
    let first_kept = connection
        .prepare_cached("SELECT number FROM records WHERE at >= ?1 ORDER BY number LIMIT 1")?
        .query_row([moment.0], |row| row.get::<_, i64>(0))
        .optional()?
        .unwrap_or(i64::MAX)
        .min(signed(last.number));
    let anchor = connection
        .prepare_cached("SELECT number, hash, at FROM records WHERE number = ?1 - 1")?
        .query_row([first_kept], head)
        .optional()?;
    let Some(anchor) = anchor else { return Ok(0) };
    check_before(connection, keyring, first_kept, erased)?;
    sign(connection, keyring, End::Anchor, anchor)?;
    let delete = |sql| connection.prepare_cached(sql)?.execute([first_kept]);
    delete("DELETE FROM checkpoints WHERE number < ?1")?;
    Ok(delete("DELETE FROM records WHERE number < ?1")? as u64)
}

/// Verifies the records that are to be cut off: once they are gone, damage to them cannot be seen.
fn check_before(
    connection: &Connection,
    keyring: &Keyring,
    first_kept: i64,
    erased: &Numbers,
) -> Result<(), StoreError> {
    let anchor = end(connection, End::Anchor)?;
    let verifier = Verifier::new(Chain { anchor, ..Chain::default() }, keyring.public());
    let mut verifier = verifier.for_beginning(erased);
    let mut read = |condition: &str, look: &mut dyn FnMut(&mut Verifier, &Record)| {
        let sql = format!("SELECT {RECORD} FROM records WHERE {condition} ORDER BY number");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([first_kept])?;
        while let Some(row) = rows.next()? {
            look(&mut verifier, &record(row)?);
        }
        Ok::<_, rusqlite::Error>(())
    };
    read("number < ?1", &mut Verifier::next)?;
    // Their erasures may be named in a record that stays.
    let named = format!("number >= ?1 AND event = '{}'", Event::Erased.as_str());
    read(&named, &mut Verifier::heed)?;
    match verifier.so_far().first() {
        Some(damage) => Err(StoreError(format!(
            "the record is damaged, and retention takes nothing away: {damage}"
        ))),
        None => Ok(()),
    }
}

/// Reads a record from a row of [`RECORD`]. Somebody else may have written the row: a malformed
/// value is read as one that does not verify.
pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let text = |name| lossy(row, name);
    let record_owner = RecordOwner {
        owner: text("owner")?,
        workspace: text("workspace")?,
        session: text("session")?,
    };
    let (payload, salt) = (text("payload")?, row.get::<_, Option<Vec<u8>>>("salt")?);
    let erased = payload.is_none() && salt.is_none() && record_owner == RecordOwner::default();
    let content = (!erased).then(|| Content {
        record_owner,
        payload: payload.unwrap_or_default(),
        salt: fixed(&salt.unwrap_or_default()),
    });
    Ok(Record {
        number: unsigned(row.get("number")?),
        at: Timestamp(row.get("at")?),
        event: text("event")?.unwrap_or_default(),
        digest: fixed(&row.get::<_, Vec<u8>>("digest")?),
        previous: fixed(&row.get::<_, Vec<u8>>("previous")?),
        hash: fixed(&row.get::<_, Vec<u8>>("hash")?),
        content,
    })
}

/// Bytes of a fixed number; a value that nothing hashes to if the length differs.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0xff; N])
}

fn last(connection: &Connection) -> rusqlite::Result<Option<Head>> {
    connection
        .prepare_cached("SELECT number, hash, at FROM records ORDER BY number DESC LIMIT 1")?
        .query_row([], head)
        .optional()
}

fn head(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head {
        number: unsigned(row.get("number")?),
        hash: fixed(&row.get::<_, Vec<u8>>("hash")?),
        at: Timestamp(row.get("at")?),
    })
}

fn checkpoint(row: &Row<'_>) -> rusqlite::Result<Checkpoint> {
    let Head { number, hash, at } = head(row)?;
    Ok(Checkpoint { number, hash, at, signature: fixed(&row.get::<_, Vec<u8>>("signature")?) })
}
