//! Documents in the store: each type names the columns by which it is found.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bytes::Hash;
use crate::clock::Timestamp;
use crate::store::{Doc, Kind, Query, Store, StoreError, Stored, Unchanged, Write};

/// A value that is stored under an id.
pub(crate) trait Document: Serialize + DeserializeOwned {
    /// The kind of document.
    const KIND: Kind;

    /// The id, unique within its kind.
    fn id(&self) -> &str;

    /// The values by which it can be found.
    fn index_keys(&self) -> IndexKeys<'_>;
}

/// The values by which a document can be found.
#[derive(Debug, Default)]
pub(crate) struct IndexKeys<'a> {
    pub(crate) owner: Option<&'a str>,
    pub(crate) workspace: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
    pub(crate) fingerprint: Option<Hash>,
    pub(crate) state: &'static str,
    pub(crate) due: Option<Timestamp>,
}

/// A document that is shared by all readers through the cache.
pub(crate) type Shared<T> = Versioned<Arc<T>>;

/// A document as it was read, to be replaced only if it has not changed since.
#[derive(Debug, Clone)]
pub(crate) struct Versioned<T> {
    pub(crate) value: T,
    pub(crate) version: u64,
}

impl<T: Document> Versioned<T> {
    /// The write that replaces it with another value.
    pub(crate) fn replace(&self, with: &T) -> Result<Write, StoreError> {
        Ok(Write::Replace(doc(with)?, self.version))
    }

    /// The write that deletes it.
    pub(crate) fn delete(&self) -> Write {
        Write::Delete(self.unchanged())
    }

    /// The condition that it has not changed since it was read.
    pub(crate) fn unchanged(&self) -> Unchanged {
        unchanged(&self.value, self.version)
    }

    pub(crate) fn share(self) -> Shared<T> {
        Versioned { value: Arc::new(self.value), version: self.version }
    }
}

impl<T: Document> Shared<T> {
    /// The condition that it has not changed since it was read.
    pub(crate) fn unchanged(&self) -> Unchanged {
        unchanged(&*self.value, self.version)
    }
}

fn unchanged<T: Document>(value: &T, version: u64) -> Unchanged {
    Unchanged { kind: T::KIND, id: value.id().to_owned(), version }
}

/// The write that inserts a new document.
pub(crate) fn insert<T: Document>(value: &T) -> Result<Write, StoreError> {
    doc(value).map(Write::Insert)
}

/// The write that deletes a document, whatever its content.
pub(crate) fn delete(stored: &Stored) -> Write {
    let (kind, id) = (stored.doc.kind, stored.doc.id.clone());
    Write::Delete(Unchanged { kind, id, version: stored.version })
}

/// Reads a document.
pub(crate) async fn get<T: Document>(
    store: &dyn Store,
    id: &str,
) -> Result<Option<Versioned<T>>, StoreError> {
    store.get(T::KIND, id).await?.map(|stored| versioned(&stored)).transpose()
}

/// Reads a document if its columns pass a test.
pub(crate) async fn get_if<T: Document>(
    store: &dyn Store,
    id: &str,
    wanted: impl FnOnce(&Doc) -> bool + Send,
) -> Result<Option<Versioned<T>>, StoreError> {
    let stored = store.get(T::KIND, id).await?;
    stored.filter(|stored| wanted(&stored.doc)).as_ref().map(versioned).transpose()
}

/// Reads a document, perhaps from the cache, for a batch that names the epoch read before.
pub(crate) async fn get_cached<T: Document + Send + Sync + 'static>(
    store: &dyn Store,
    id: &str,
) -> Result<Option<Shared<T>>, StoreError> {
    let kept = match store.cached(T::KIND, id) {
        Some(known) => known,
        None => store.get_cached(T::KIND, id).await?,
    };
    let Some(kept) = kept else { return Ok(None) };
    let version = kept.stored().version;
    match kept.read(value)? {
        Some(value) => Ok(Some(Versioned { value, version })),
        // It was cached as another type of the same kind, which does not occur.
        None => Ok(Some(versioned(kept.stored())?.share())),
    }
}

/// The value of a counter, perhaps from the cache, for a batch that names the epoch read before.
pub(crate) async fn get_cached_counter(store: &dyn Store, key: &str) -> Result<u64, StoreError> {
    match store.cached_counter(key) {
        Some(value) => Ok(value),
        None => store.get_cached_counter(key).await,
    }
}

/// The result of a query.
#[derive(Debug)]
pub(crate) struct Found<T> {
    pub(crate) versioned: Vec<Versioned<T>>,
    /// The ids of documents that were written by somebody else and cannot be parsed.
    pub(crate) damaged: Vec<String>,
    /// The id of the last one, parsed or not, after which the next search begins.
    pub(crate) last: Option<String>,
}

/// Reads all documents that a query finds. One that cannot be parsed does not hide the others.
pub(crate) async fn find_all<T: Document>(
    store: &dyn Store,
    query: &Query,
) -> Result<Found<T>, StoreError> {
    let stored = store.find(query).await?;
    let last = stored.last().map(|stored| stored.doc.id.clone());
    let mut found =
        Found { versioned: Vec::with_capacity(stored.len()), damaged: Vec::new(), last };
    for stored in &stored {
        match versioned::<T>(stored) {
            // A document stored under another's id is refused.
            Ok(versioned) if versioned.value.id() == stored.doc.id => {
                found.versioned.push(versioned);
            }
            Ok(_) | Err(_) => found.damaged.push(stored.doc.id.clone()),
        }
    }
    Ok(found)
}

/// Reads the documents that a query finds and that can be parsed; an empty result means that
/// none are left.
pub(crate) async fn find<T: Document>(
    store: &dyn Store,
    query: &Query,
) -> Result<Vec<Versioned<T>>, StoreError> {
    let mut found = find_all(store, query).await?;
    while found.versioned.is_empty() && found.last.is_some() {
        let query = Query { after: found.last, ..query.clone() };
        found = find_all(store, &query).await?;
    }
    Ok(found.versioned)
}

fn doc<T: Document>(value: &T) -> Result<Doc, StoreError> {
    let body = serde_json::to_string(value).map_err(|error| StoreError(error.to_string()))?;
    let index_keys = value.index_keys();
    Ok(Doc {
        kind: T::KIND,
        id: value.id().to_owned(),
        owner: index_keys.owner.map(str::to_owned),
        workspace: index_keys.workspace.map(str::to_owned),
        session: index_keys.session.map(str::to_owned),
        fingerprint: index_keys.fingerprint.map(|print| print.to_string()),
        state: index_keys.state.to_owned(),
        due: index_keys.due,
        body,
    })
}

fn versioned<T: Document>(stored: &Stored) -> Result<Versioned<T>, StoreError> {
    Ok(Versioned { value: value(stored)?, version: stored.version })
}

fn value<T: Document>(stored: &Stored) -> Result<T, StoreError> {
    serde_json::from_str(&stored.doc.body).map_err(|error| {
        StoreError(format!("{} `{}` cannot be read: {error}", T::KIND.as_str(), stored.doc.id))
    })
}
