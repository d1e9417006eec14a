//! The paths of the API. A segment in braces stands for an id, which [`of`] fills in.

use std::fmt::Write as _;

/// The beginning of every path of the API.
pub const ROOT: &str = "/api/";

macro_rules! paths {
    ($($name:ident $path:literal)*) => {
        $(
            #[doc = concat!("`", $path, "`")]
            pub const $name: &str = $path;
        )*

        /// Every path.
        pub const ALL: &[&str] = &[$($name,)*];
    };
}

paths! {
    ACTIONS "/api/actions"
    ACTIONS_BATCH "/api/actions/batch"
    ACTION "/api/actions/{id}"
    ACTION_REPORT "/api/actions/{id}/report"
    APPROVALS "/api/approvals"
    APPROVALS_RESPOND "/api/approvals/respond"
    APPROVAL "/api/approvals/{id}"
    APPROVAL_CONFIRMATION "/api/approvals/{id}/confirmation"
    APPROVAL_RECEIPT "/api/approvals/{id}/receipt"
    APPROVAL_RESPOND "/api/approvals/{id}/respond"
    APPROVAL_SPEND "/api/approvals/{id}/spend"
    APPROVAL_WITHDRAW "/api/approvals/{id}/withdraw"
    APPS "/api/apps"
    APP "/api/apps/{id}"
    AUDIT "/api/audit"
    AUDIT_EXPORT "/api/audit/export"
    AUDIT_VERIFY "/api/audit/verify"
    CHECK "/api/check"
    CONFIRMATIONS "/api/confirmations"
    DEVICES "/api/devices"
    DEVICES_INVITE "/api/devices/invite"
    DEVICE "/api/devices/{id}"
    DEVICE_APPROVE "/api/devices/{id}/approve"
    DOCS "/api/docs"
    EVENTS "/api/events"
    HALT "/api/halt"
    HALT_RESUME "/api/halt/resume"
    HEALTH "/api/health"
    HISTORY "/api/history"
    HISTORY_EXPORT "/api/history/export"
    KEYS "/api/keys"
    KEY "/api/keys/{id}"
    KEY_ROTATE "/api/keys/{id}/rotate"
    MACHINES "/api/machines"
    ME "/api/me"
    METRICS "/api/metrics"
    OFFLINE "/api/offline"
    OPENAPI "/api/openapi.json"
    POLICY "/api/policy"
    QUORUM "/api/quorum"
    READY "/api/ready"
    SESSIONS "/api/sessions"
    SESSIONS_STOP "/api/sessions/stop"
    SESSION "/api/sessions/{id}"
    SESSION_ACTIONS "/api/sessions/{id}/actions"
    SESSION_ACTION "/api/sessions/{id}/actions/{action}"
    SESSION_COMPLETE "/api/sessions/{id}/complete"
    SESSION_FILES "/api/sessions/{id}/files"
    SESSION_FILES_ZIP "/api/sessions/{id}/files/zip"
    SESSION_FILE "/api/sessions/{id}/files/{file}"
    SESSION_RESUME "/api/sessions/{id}/resume"
    SESSION_STOP "/api/sessions/{id}/stop"
    SESSION_UPLOADS "/api/sessions/{id}/uploads"
    SESSION_UPLOAD "/api/sessions/{id}/uploads/{file}"
    SESSION_UPLOAD_FINISH "/api/sessions/{id}/uploads/{file}/finish"
    SETTINGS "/api/settings"
    SETTINGS_REMEMBERED "/api/settings/remembered"
    SETTINGS_REMEMBERED_ANSWER "/api/settings/remembered/{id}"
    SIGN_IN "/api/sign-in"
    SIGN_OUT "/api/sign-out"
    SKILL "/api/skills/{id}"
    USAGE "/api/usage"
    USERS "/api/users"
    USER "/api/users/{id}"
    USER_DISABLE "/api/users/{id}/disable"
    USER_ENABLE "/api/users/{id}/enable"
    USER_ERASE "/api/users/{id}/erase"
    USER_INVITE "/api/users/{id}/invite"
    USER_SUPER_ADMIN "/api/users/{id}/super-admin"
    MEMBERSHIP "/api/users/{user}/workspaces/{workspace}"
    WORKERS "/api/workers"
    WORKSPACES "/api/workspaces"
    WORKSPACE_DECLINE "/api/workspaces/{id}/decline"
    WORKSPACE_JOIN "/api/workspaces/{id}/join"
    WS "/api/ws"
}

/// The path with its ids filled in, in order.
#[must_use]
pub fn of(path: &str, ids: &[&str]) -> String {
    let mut ids = ids.iter();
    let filled = path.split('/').map(|segment| match segment.strip_prefix('{') {
        Some(_) => ids.next().map_or_else(|| segment.to_owned(), |id| part(id)),
        None => segment.to_owned(),
    });
    filled.collect::<Vec<_>>().join("/")
}

/// The path with a query.
#[must_use]
pub fn with_query(path: &str, query: &[(&str, String)]) -> String {
    let mut text = path.to_owned();
    let mut before = '?';
    for (name, value) in query {
        let _ = write!(text, "{before}{name}={}", part(value));
        before = '&';
    }
    text
}

/// Percent-encodes a text as one segment of a URL.
#[must_use]
pub fn part(text: &str) -> String {
    let mut part = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            part.push(char::from(byte));
        } else {
            let _ = write!(part, "%{byte:02X}");
        }
    }
    // A segment of dots would be a relative path.
    if part.chars().all(|char| char == '.') { part.replace('.', "%2E") } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_typed_stays_one_part_of_an_address() {
        assert_eq!(part("apr_1-x"), "apr_1-x");
        assert_eq!(part("../x?a=b&c#d"), "..%2Fx%3Fa%3Db%26c%23d");
        assert_eq!(part(".."), "%2E%2E");
        let query = [("state", "pending".to_owned()), ("cursor", "a b".to_owned())];
        assert_eq!(with_query("/x", &query), "/x?state=pending&cursor=a%20b");
    }

    #[test]
    fn ids_are_filled_in_in_order() {
        assert_eq!(of(APPROVAL_RESPOND, &["../x"]), "/api/approvals/..%2Fx/respond");
        assert_eq!(of(MEMBERSHIP, &["usr_1", "wsp_2"]), "/api/users/usr_1/workspaces/wsp_2");
        assert!(ALL.iter().all(|path| path.starts_with(ROOT)));
    }
}
