//! Files that are handed in to a session, in pieces.

use std::time::Duration;

use http_body_util::Full;
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use serde_json::Value;
use tokio::time::timeout;

use super::{Client, ClientError, read};

/// The time in which a piece must arrive.
const ARRIVES_WITHIN: Duration = Duration::from_mins(2);

impl Client {
    /// Sends a piece of a file, from this position on.
    pub(crate) async fn send_piece(
        &self,
        path: &str,
        offset: u64,
        piece: Vec<u8>,
    ) -> Result<Value, ClientError> {
        let mut request = self.request(Method::PATCH, path, String::new())?;
        let headers = request.headers_mut();
        headers.insert("upload-offset", offset.into());
        let media = HeaderValue::from_static("application/octet-stream");
        headers.insert(header::CONTENT_TYPE, media);
        let request = request.map(|_| Full::new(Bytes::from(piece)));
        let late = |_| ClientError::Broken("the server does not answer".to_owned());
        let sent = timeout(ARRIVES_WITHIN, async { read(self.send(request).await?).await });
        sent.await.map_err(late)?
    }
}
