//! Connections to a server by WebSocket.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderValue};
use serde_json::Value;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, http};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::wire::{Connected, connected};
use super::{Client, ClientError, refused};

/// The longest message.
const MOST_BYTES: usize = 8 << 20;
const OPENS_WITHIN: Duration = Duration::from_secs(15);

/// A WebSocket of a server.
pub(crate) type Socket = WebSocketStream<Connected>;

impl Client {
    /// Opens a WebSocket.
    ///
    /// # Errors
    /// Nobody answers, or the server refuses.
    pub(crate) async fn socket(&self, path: &str) -> Result<Socket, ClientError> {
        let late = |_| ClientError::Broken("the server does not answer".to_owned());
        timeout(OPENS_WITHIN, self.open_socket(path)).await.map_err(late)?
    }

    async fn open_socket(&self, path: &str) -> Result<Socket, ClientError> {
        let stream = connected(&self.address, self.tls.as_ref()).await?;
        let wrong = || ClientError::Broken(format!("cannot ask for `{path}`"));
        let address = format!("ws://{}{path}", self.address.authority());
        let mut request = address.into_client_request().map_err(|_| wrong())?;
        let mut show = |name: http::HeaderName, text: &str| {
            if let Ok(mut value) = HeaderValue::from_str(text) {
                value.set_sensitive(true);
                request.headers_mut().insert(name, value);
            }
        };
        if let Some(secret) = &self.secret {
            show(AUTHORIZATION, &format!("Bearer {}", secret.expose()));
        }
        if let Some(machine) = &self.machine {
            show(http::HeaderName::from_static("countersign-device"), machine.expose());
        }
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MOST_BYTES))
            .max_frame_size(Some(MOST_BYTES));
        match client_async_with_config(request, stream, Some(limits)).await {
            Ok((socket, _)) => Ok(socket),
            Err(Error::Http(response)) => {
                let status = StatusCode::from_u16(response.status().as_u16());
                let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
                let body: Value = response
                    .body()
                    .as_deref()
                    .and_then(|body| serde_json::from_slice(body).ok())
                    .unwrap_or_default();
                Err(self.as_asked(refused(status, &body, None)))
            }
            Err(error) => Err(ClientError::Broken(format!("the connection broke: {error}"))),
        }
    }
}
