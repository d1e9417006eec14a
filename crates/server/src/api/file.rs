//! Files that agents have uploaded: listed, read (also in parts), packed as a ZIP archive.

use std::io::{Read, Seek as _, SeekFrom};

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use countersign_gate::id::{FileId, SessionId};
use countersign_gate::transfer::{FileMeta, FileState, Reader};
use countersign_wire::path;
use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::Identity;
use crate::body::{Path, Query};
use crate::error::Problem;
use crate::hex::hex;
use crate::page::Listed;
use crate::route::{Route, Who, get};

/// The number of bytes that are read from the disk at once.
const BLOCK: usize = 256 * 1024;

/// The files to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    cursor: Option<FileId>,
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

/// A file.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FileView {
    file_id: String,
    session_id: String,
    /// Its name: made safe, and with a number if there was one of its name.
    name: String,
    bytes: u64,
    /// SHA-256 of what is in it, in hexadecimal digits.
    sha256: String,
    created_at: String,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(path::SESSION_FILES, "list_files")
            .by(Who::Either)
            .says("The files of a session, oldest first.")
            .query::<ListQuery>()
            .gives::<Listed<FileView>>(200)
            .to(list),
        get(path::SESSION_FILES_ZIP, "zip_files")
            .by(Who::Either)
            .says("All files of a session as one ZIP archive, packed as it is sent.")
            .gives_media(200, "application/zip")
            .to(zip),
        get(path::SESSION_FILE, "get_file")
            .by(Who::Either)
            .says("The content of a file, or the part that `Range` asks for.")
            .gives_media(200, "application/octet-stream")
            .gives_media(206, "application/octet-stream")
            .to(read),
    ]
}

impl FileView {
    /// A file that is complete.
    pub(super) fn of(meta: &FileMeta) -> Option<Self> {
        let FileState::Complete { bytes, sha256, .. } = meta.state else { return None };
        Some(Self {
            file_id: meta.id.to_string(),
            session_id: meta.session.to_string(),
            name: meta.name.as_str().to_owned(),
            bytes,
            sha256: hex(&sha256.0),
            created_at: meta.created_at.to_string(),
        })
    }
}

fn reader(identity: &Identity) -> Reader<'_> {
    match identity {
        Identity::Person(person) => person.into(),
        Identity::Caller(caller) => caller.into(),
    }
}

async fn list(
    State(app): State<App>,
    identity: Identity,
    Path(session): Path<SessionId>,
    Query(which): Query<ListQuery>,
) -> Result<Json<Listed<FileView>>, Problem> {
    let limit = usize::from(which.limit.unwrap_or(50).clamp(1, 200));
    let files = app.gate.files(reader(&identity), &session, which.cursor.as_ref(), limit).await?;
    let more = files.len() == limit;
    let next = files.last().filter(|_| more).map(|file| file.id.to_string());
    let items = files.iter().filter_map(FileView::of).collect();
    Ok(Json(Listed { items, next, damaged: Vec::new() }))
}

async fn zip(
    State(app): State<App>,
    identity: Identity,
    Path(session): Path<SessionId>,
) -> Result<Response, Problem> {
    let zip = app.gate.zip(reader(&identity), &session).await?;
    let length = zip.length();
    let mut response = Response::new(streamed(zip));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/zip"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    attach(headers, &format!("{session}.zip"));
    Ok(response)
}

async fn read(
    State(app): State<App>,
    identity: Identity,
    Path((session, file)): Path<(SessionId, FileId)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let open = app.gate.open_file(reader(&identity), &file).await?;
    if open.meta.session != session {
        return Err(Problem::not_found());
    }
    let FileState::Complete { sha256, .. } = open.meta.state else {
        return Err(Problem::not_found());
    };
    let tag = format!("\"{}\"", hex(&sha256.0));
    let total = open.bytes;
    let part = if still(&headers, &tag) { range(&headers, total)? } else { None };
    let (from, length) = part.unwrap_or((0, total));
    let mut file = open.file;
    file.seek(SeekFrom::Start(from)).map_err(countersign_gate::transfer::TransferError::from)?;
    let mut response = Response::new(streamed(file.take(length)));
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    answer.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    answer.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.insert(header::ETAG, tag);
    }
    attach(answer, open.meta.name.as_str());
    if part.is_some() {
        let last = from.saturating_add(length).saturating_sub(1);
        if let Ok(value) = HeaderValue::from_str(&format!("bytes {from}-{last}/{total}")) {
            answer.insert(header::CONTENT_RANGE, value);
        }
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Reports whether the file is still the one of which the caller has a part.
fn still(headers: &HeaderMap, tag: &str) -> bool {
    headers.get(header::IF_RANGE).is_none_or(|wanted| wanted == tag)
}

/// Returns the offset and length of the requested part, or `None` for the whole file.
fn range(headers: &HeaderMap, total: u64) -> Result<Option<(u64, u64)>, Problem> {
    let Some(text) = headers.get(header::RANGE).and_then(|value| value.to_str().ok()) else {
        return Ok(None);
    };
    // For several parts at once, or another unit, the whole file is a correct answer too.
    let Some(text) = text.strip_prefix("bytes=").filter(|text| !text.contains(',')) else {
        return Ok(None);
    };
    let none = || {
        let detail = format!("that range is not in the file, which has {total} bytes");
        Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", detail)
    };
    let (first, last) = text.trim().split_once('-').ok_or_else(none)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| none());
    let (from, to) = match (first.trim(), last.trim()) {
        ("", last) => (total.saturating_sub(number(last)?), total),
        (first, "") => (number(first)?, total),
        (first, last) => (number(first)?, number(last)?.saturating_add(1).min(total)),
    };
    if from < to { Ok(Some((from, to - from))) } else { Err(none()) }
}

/// Sets the file name for a download: in ASCII for old programs, and in UTF-8.
fn attach(headers: &mut HeaderMap, name: &str) {
    use std::fmt::Write as _;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_. ()".contains(letter);
    let ascii: String = name.chars().map(|it| if plain(it) { it } else { '_' }).collect();
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    let value = format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}");
    if let Ok(value) = HeaderValue::from_str(&value) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
}

/// Reads block by block, on threads that may block on a disk.
fn streamed(source: impl Read + Send + 'static) -> Body {
    let blocks = stream::try_unfold(source, |source| async {
        let read = tokio::task::spawn_blocking(move || {
            let mut source = source;
            let mut block = Vec::with_capacity(BLOCK);
            let most = u64::try_from(BLOCK).unwrap_or(u64::MAX);
            Read::by_ref(&mut source).take(most).read_to_end(&mut block)?;
            Ok::<_, std::io::Error>((block, source))
        });
        let (block, source) = read.await.map_err(std::io::Error::other)??;
        Ok::<_, std::io::Error>((!block.is_empty()).then(|| (Bytes::from(block), source)))
    });
    Body::from_stream(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &'static str, total: u64) -> Result<Option<(u64, u64)>, Problem> {
        let headers = HeaderMap::from_iter([(header::RANGE, HeaderValue::from_static(text))]);
        range(&headers, total)
    }

    #[test]
    fn a_part_is_what_was_asked_for_and_never_more_than_there_is() {
        for (text, part) in [
            ("bytes=0-0", Some((0, 1))),
            ("bytes=5-", Some((5, 5))),
            ("bytes=-3", Some((7, 3))),
            ("bytes=-30", Some((0, 10))),
            ("bytes=2-99", Some((2, 8))),
            ("bytes=0-1,3-4", None),
            ("lines=0-1", None),
        ] {
            assert_eq!(asked(text, 10), Ok(part), "{text}");
        }
        for text in ["bytes=10-", "bytes=5-4", "bytes=x-", "bytes=-", "bytes=-0"] {
            assert!(asked(text, 10).is_err(), "{text}");
        }
        assert!(asked("bytes=0-", 0).is_err());
    }

    #[test]
    fn a_name_cannot_break_out_of_its_header() {
        let mut headers = HeaderMap::new();
        attach(&mut headers, "a\"; x=\r\nSet-Cookie: 한.pdf");
        let value = headers.get(header::CONTENT_DISPOSITION).unwrap().to_str().unwrap();
        assert_eq!(value.matches('"').count(), 2, "{value}");
        assert!(value.ends_with("%ED%95%9C.pdf"), "{value}");
    }
}
