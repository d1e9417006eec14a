//! The audit chain, inside a transaction of the writer.

use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params};

use crate::audit::{CHECKPOINT_EVERY, Content, Draft, Head, Mark, Record, Subject};
use crate::clock::Timestamp;
use crate::keyring::{Keyring, Purpose};
use crate::store::sqlite::{signed, unsigned};
use crate::store::{Erase, StoreError};

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

    const fn purpose(self) -> Purpose {
        match self {
            Self::Head => Purpose::Head,
            Self::Anchor => Purpose::Anchor,
        }
    }
}

/// A signed end of the chain, if there is one.
pub(super) fn end(connection: &Connection, end: End) -> rusqlite::Result<Option<Mark>> {
    connection
        .prepare_cached("SELECT number, hash, at, signature FROM ends WHERE name = ?1")?
        .query_row([end.as_str()], mark)
        .optional()
}

/// The signed checkpoints, oldest first.
pub(super) fn checkpoints(connection: &Connection) -> rusqlite::Result<Vec<Mark>> {
    connection
        .prepare_cached("SELECT number, hash, at, signature FROM checkpoints ORDER BY number")?
        .query_map([], mark)?
        .collect()
}

/// The end that the next record is linked to, which must be as this server signed it.
///
/// Whoever drops the last records from the file must not have the shorter chain signed for them
/// with the next commit. What this process itself wrote (`known`) needs no second look.
pub(super) fn trusted_head(
    connection: &Connection,
    keyring: &Keyring,
    known: Option<&Mark>,
) -> Result<Option<Mark>, StoreError> {
    let head = end(connection, End::Head)?;
    if head.is_some() && head.as_ref() == known {
        return Ok(head);
    }
    let last = last(connection)?;
    let holds = match &head {
        Some(mark) => last == Some(mark.head()) && mark.is_signed(Purpose::Head, &keyring.public()),
        None => last.is_none() && known.is_none() && end(connection, End::Anchor)?.is_none(),
    };
    if holds {
        Ok(head)
    } else {
        Err(StoreError(
            "the audit chain does not end where this server's key signed its end: \
             the database was changed, or belongs to another key"
                .to_owned(),
        ))
    }
}

/// Signs an end and puts it in place of the one before.
pub(super) fn sign(
    connection: &Connection,
    keyring: &Keyring,
    end: End,
    head: Head,
) -> rusqlite::Result<Mark> {
    let mark = head.sign(end.purpose(), keyring);
    let Mark { number, hash, at, signature } = &mark;
    connection
        .prepare_cached(
            "INSERT INTO ends (name, number, hash, at, signature) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (name) DO UPDATE SET number = excluded.number, hash = excluded.hash,
                 at = excluded.at, signature = excluded.signature",
        )?
        .execute(params![end.as_str(), signed(*number), hash, at.0, signature])?;
    Ok(mark)
}

/// What [`append`] is done with.
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
    let Content { subject: Subject { owner, workspace, session }, payload, salt } = &draft.content;
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
        let Mark { number, hash, at, signature } = head.sign(Purpose::Checkpoint, keyring);
        connection
            .prepare_cached(
                "INSERT INTO checkpoints (number, hash, at, signature) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![signed(number), hash, at.0, signature])?;
    }
    Ok(head)
}

/// Takes the payload and all names from records, and says from how many.
pub(super) fn erase(connection: &Connection, erase: &Erase) -> rusqlite::Result<u64> {
    const NOTHING: &str = "UPDATE records SET owner = NULL, workspace = NULL, session = NULL,
                                              payload = NULL, salt = NULL
                           WHERE (?1 IS NULL OR at < ?1)";
    let before = erase.before.map(|before| before.0);
    let erased = match &erase.owner {
        Some(owner) => connection
            .prepare_cached(&format!("{NOTHING} AND owner = ?2"))?
            .execute(params![before, owner])?,
        None => connection
            .prepare_cached(&format!("{NOTHING} AND salt IS NOT NULL"))?
            .execute(params![before])?,
    };
    Ok(erased as u64)
}

/// Cuts off the oldest records, up to the first that is not from before the moment or is the last,
/// and says how many.
pub(super) fn cut(
    connection: &Connection,
    keyring: &Keyring,
    moment: Timestamp,
) -> rusqlite::Result<u64> {
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
    sign(connection, keyring, End::Anchor, anchor)?;
    let delete = |sql| connection.prepare_cached(sql)?.execute([first_kept]);
    delete("DELETE FROM checkpoints WHERE number < ?1")?;
    delete("DELETE FROM records WHERE number < ?1").map(|cut| cut as u64)
}

/// Reads a record from a row of [`RECORD`].
pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let content = match row.get::<_, Option<[u8; 16]>>("salt")? {
        Some(salt) => {
            let (owner, workspace) = (row.get("owner")?, row.get("workspace")?);
            let subject = Subject { owner, workspace, session: row.get("session")? };
            Some(Content { subject, payload: row.get("payload")?, salt })
        }
        None => None,
    };
    Ok(Record {
        number: unsigned(row.get("number")?),
        at: Timestamp(row.get("at")?),
        event: row.get("event")?,
        digest: row.get("digest")?,
        previous: row.get("previous")?,
        hash: row.get("hash")?,
        content,
    })
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
        hash: row.get("hash")?,
        at: Timestamp(row.get("at")?),
    })
}

fn mark(row: &Row<'_>) -> rusqlite::Result<Mark> {
    let Head { number, hash, at } = head(row)?;
    Ok(Mark { number, hash, at, signature: row.get("signature")? })
}
