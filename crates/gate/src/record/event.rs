//! The kinds of events on record.

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is the event of its name")]
pub enum Event {
    SessionStart,
    ActionPlanned,
    ActionExecuted,
    CriticalPoint,
    Approval,
    Violation,
    Error,
    SessionEnd,
    SessionMode,
    AnswerRefused,
    SpendRefused,
    FileReceived,
    SettingsChanged,
    UserChanged,
    DeviceChanged,
    KeyChanged,
    RememberedChanged,
    Halted,
    Resumed,
    Erased,
    Cut,
    BegunAnew,
    ClockStepped,
    DecidedOffline,
}

impl Event {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::SessionStart,
        Self::ActionPlanned,
        Self::ActionExecuted,
        Self::CriticalPoint,
        Self::Approval,
        Self::Violation,
        Self::Error,
        Self::SessionEnd,
        Self::SessionMode,
        Self::AnswerRefused,
        Self::SpendRefused,
        Self::FileReceived,
        Self::SettingsChanged,
        Self::UserChanged,
        Self::DeviceChanged,
        Self::KeyChanged,
        Self::RememberedChanged,
        Self::Halted,
        Self::Resumed,
        Self::Erased,
        Self::Cut,
        Self::BegunAnew,
        Self::ClockStepped,
        Self::DecidedOffline,
    ];

    /// The name on record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::ActionPlanned => "action_planned",
            Self::ActionExecuted => "action_executed",
            Self::CriticalPoint => "critical_point",
            Self::Approval => "approval",
            Self::Violation => "violation",
            Self::Error => "error",
            Self::SessionEnd => "session_end",
            Self::SessionMode => "session_mode",
            Self::AnswerRefused => "answer_refused",
            Self::SpendRefused => "spend_refused",
            Self::FileReceived => "file_received",
            Self::SettingsChanged => "settings_changed",
            Self::UserChanged => "user_changed",
            Self::DeviceChanged => "device_changed",
            Self::KeyChanged => "key_changed",
            Self::RememberedChanged => "remembered_changed",
            Self::Halted => "halted",
            Self::Resumed => "resumed",
            Self::Erased => "erased",
            Self::Cut => "cut",
            Self::BegunAnew => "begun_anew",
            Self::ClockStepped => "clock_stepped",
            Self::DecidedOffline => "decided_offline",
        }
    }
}
