//! Everything that follows from the list of kinds of channel in `channel.rs`.

/// Declares the kinds of channel, for `channel.rs`: the settings of one, and the row of the
/// configuration in which exactly one of them is written.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ident,)+) => {
        /// One channel, as it is configured.
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Settings {
            $($(#[doc = $doc])+ $kind($name::Settings),)+
        }

        impl Settings {
            /// The kind of channel.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => stringify!($name),)+
                }
            }

            fn check(&self) -> Result<(), &'static str> {
                match self {
                    $(Self::$kind(settings) => settings.check(),)+
                }
            }

            const fn audience(&self) -> Audience {
                match self {
                    $(Self::$kind(_) => <$name::Settings as ChannelKind>::AUDIENCE,)+
                }
            }
        }

        /// Opens a channel.
        ///
        /// # Errors
        /// Its settings cannot work.
        pub fn open(
            settings: Settings,
            clock: Arc<dyn Clock>,
            answers: Arc<dyn AnswerSink>,
        ) -> Result<Opened, ChannelError> {
            match settings {
                $(Settings::$kind(settings) => settings.open(clock, answers),)+
            }
        }

        /// One channel as written: exactly one of them, and whom it tells.
        // One field per channel, so that an error in one is reported with its own line and column.
        #[derive(Debug, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(rename = "Channel"))]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Row {
            /// The user who is notified; everybody who is asked, if left out.
            #[serde(default)]
            user: Option<UserId>,
            $($(#[doc = $doc])+ #[serde(default)] $name: Option<$name::Settings>,)+
        }

        impl Row {
            /// The settings that are written, in the order of the kinds.
            fn settings(self) -> impl Iterator<Item = Settings> {
                [$(self.$name.map(Settings::$kind),)+].into_iter().flatten()
            }
        }

        /// The names of all kinds, for an error.
        const NAMES: &[&str] = &[$(stringify!($name),)+];
    };
}

pub(super) use kinds;
