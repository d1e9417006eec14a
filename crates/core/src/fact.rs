//! Facts: what an analyzer established about an action, in words that rules can name.
//!
//! A fact is a [`FactKind`] (what happens), a set of [`Tag`]s (to what, where, how), the thing it
//! is about, and where in the text it was seen. Facts carry no opinion: rules turn them into
//! findings.

use crate::verdict::Span;

/// Declares an enum whose variants have a kebab-case name in rule files.
macro_rules! named {
    ($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $type { $($(#[$doc])* $variant,)+ }

        impl $type {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name used in rule files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The one with this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

named! {
    /// What happens.
    FactKind {
        /// A file or folder would be gone.
        Delete = "delete",
        /// A file's content would be replaced.
        Write = "write",
        /// Something would be added to a file, or a part of it changed.
        Append = "append",
        /// A folder would be made.
        Create = "create",
        /// A file would be gone from where it was.
        Move = "move",
        /// Permissions would change.
        Chmod = "chmod",
        /// The owner would change.
        Chown = "chown",
        /// A file's content would be read.
        Read = "read",
        /// Names would be listed, contents not read.
        List = "list",
        /// Local data would leave the machine.
        Send = "send",
        /// Something would be fetched from the network.
        Fetch = "fetch",
        /// A remote system would be told to delete something.
        RemoteDelete = "remote-delete",
        /// A shell or interpreter would be driven from the network.
        ReverseShell = "reverse-shell",
        /// Code from the network would run unseen.
        RemoteCode = "remote-code",
        /// Code would be decoded and run.
        DecodedCode = "decoded-code",
        /// Code that could not be worked out would run.
        UnknownCode = "unknown-code",
        /// The program to run could not be worked out.
        UnknownCommand = "unknown-command",
        /// A program named by a variable whose name tells which one it is.
        AssumedCommand = "assumed-command",
        /// A program in a temporary folder would run.
        TempProgram = "temp-program",
        /// A variable that makes other programs run code would be set.
        EnvExecutes = "env-executes",
        /// A program's option runs a command nobody expects there.
        ShellEscape = "shell-escape",
        /// A process that multiplies without end.
        ForkBomb = "fork-bomb",
        /// The text is not valid in its language.
        Unparsed = "unparsed",
        /// Larger, deeper or longer than can be judged.
        Bound = "bound",
        /// Not well-formed: NUL or the like.
        Malformed = "malformed",
        /// The name leaves its folder by `..` or an encoding of it.
        Traversal = "traversal",
        /// A program is told, by a verb, to destroy something.
        DestructiveVerb = "destructive-verb",
        /// Shell history or logging would be switched off or wiped.
        HistoryOff = "history-off",
        /// A job would be scheduled or a service installed.
        Schedule = "schedule",
        /// An account, group or password would change.
        Account = "account",
        /// Secrets would be searched for or listed.
        SecretSearch = "secret-search",
        /// Keystrokes, screen or passwords would be captured.
        Capture = "capture",
        /// Processes would be killed.
        Kill = "kill",
        /// A database object would be dropped.
        SqlDrop = "sql-drop",
        /// A table would be emptied.
        SqlTruncate = "sql-truncate",
        /// Rows would be deleted or changed without a condition.
        SqlEveryRow = "sql-every-row",
        /// Rows would be deleted under a condition.
        SqlDelete = "sql-delete",
        /// The database would be changed.
        SqlWrite = "sql-write",
        /// The database would reach files, programs or other servers.
        SqlEscape = "sql-escape",
        /// Countersign itself would be told to answer, halt or change.
        GuardCommand = "guard-command",
        /// A secret would be printed or passed on the command line.
        SecretPrint = "secret-print",
        /// Memory, disk or network would be used up, for ever and without a pause.
        Exhaust = "exhaust",

        /// Not a URL that a browser would open.
        UrlInvalid = "url-invalid",
        /// A scheme that reaches around the web: files, code, the browser itself.
        UrlScheme = "url-scheme",
        /// A name or password stands before the domain.
        UrlUserinfo = "url-userinfo",
        /// A domain that looks like another one.
        UrlLookalike = "url-lookalike",
        /// An address that is not on the public internet.
        UrlInternal = "url-internal",
        /// The service that hands out a cloud machine's credentials.
        UrlMetadata = "url-metadata",
        /// A domain that answers with whatever address its name spells.
        UrlRebinding = "url-rebinding",
        /// Not one of the origins the agent was given.
        UrlForeign = "url-foreign",
        /// A request to a server of the agent's choosing.
        ExternalCall = "external-call",

        /// Card, account or payment data would be entered.
        UiFinancial = "ui-financial",
        /// A passport, licence or national id would be entered.
        UiIdentity = "ui-identity",
        /// A password, one-time code or security answer would be entered.
        UiPassword = "ui-password",
        /// The step that orders, pays, signs or publishes.
        UiFinal = "ui-final",
        /// A change that cannot be taken back: an owner, an address to sign in with.
        UiIrreversible = "ui-irreversible",
        /// A control that deletes, erases or resets.
        UiDestructive = "ui-destructive",
        /// A control that closes or quits.
        UiClose = "ui-close",
        /// A form would be sent.
        FormSubmit = "form-submit",

        /// More files, or more bytes, than one would fetch by hand.
        DownloadBatch = "download-batch",
        /// More pages than one would print by hand.
        ExportBatch = "export-batch",

        /// A name that stands for something no agent may do.
        NamedForbidden = "named-forbidden",
        /// A name nobody has declared.
        NamedUnknown = "named-unknown",

        /// A skill nobody has declared.
        SkillUndeclared = "skill-undeclared",
        /// A skill that changes something.
        SkillWrite = "skill-write",
        /// A skill that pays, sends, deletes or shows what is private.
        SkillSensitive = "skill-sensitive",

        /// A tool whose words do not say what it does.
        ToolUnknown = "tool-unknown",
        /// A tool that changes something.
        ToolWrite = "tool-write",
        /// A tool that destroys something.
        ToolDestructive = "tool-destructive",
        /// A tool that runs what it is given.
        ToolExecutes = "tool-executes",
        /// A tool whose definition is not the one that was agreed to.
        ToolChanged = "tool-changed",
        /// A tool whose description talks to the model instead of describing.
        ToolInjection = "tool-injection",
        /// Shell syntax in an argument that a program will be given.
        ToolMetacharacters = "tool-metacharacters",

        /// A script would run a shell command that does more than read.
        ScriptShell = "script-shell",
        /// A script would run a shell command that only reads.
        ScriptShellRead = "script-shell-read",
        /// A script would run a shell command that destroys or acts as root.
        ScriptShellDestructive = "script-shell-destructive",
        /// A part of a script's shell command could not be worked out.
        ScriptShellUnknown = "script-shell-unknown",
        /// A script would run a shell command as root.
        ScriptElevated = "script-elevated",
        /// A script holds a password in clear.
        ScriptPassword = "script-password",
        /// A script would start programs through Cocoa.
        ScriptProcess = "script-process",
        /// A script would load another one, whose handlers it can call.
        ScriptLoad = "script-load",
        /// A script would delete many files.
        ScriptBulkDelete = "script-bulk-delete",
        /// A script would delete many events, reminders or calendars.
        ScriptBulkDeleteCalendar = "script-bulk-delete-calendar",
        /// A script would delete many notes or contacts.
        ScriptBulkDeletePeople = "script-bulk-delete-people",
        /// A script would delete many messages, songs or other records.
        ScriptBulkDeleteData = "script-bulk-delete-data",
        /// A script would delete a file or folder.
        ScriptDelete = "script-delete",
        /// A script would delete an app's record.
        ScriptDeleteRecord = "script-delete-record",
        /// A script would delete a part of an open document.
        ScriptDeletePart = "script-delete-part",
        /// A script would empty the trash.
        ScriptEmptyTrash = "script-empty-trash",
        /// A script would erase a disk.
        ScriptErase = "script-erase",
        /// A script would eject a disk.
        ScriptEject = "script-eject",
        /// A script would mount a volume.
        ScriptMount = "script-mount",
        /// A script would move many files.
        ScriptBulkMove = "script-bulk-move",
        /// A script would move a file.
        ScriptMove = "script-move",
        /// A script would copy many files.
        ScriptBulkDuplicate = "script-bulk-duplicate",
        /// A script would rename a file.
        ScriptRename = "script-rename",
        /// A script would write a file.
        ScriptWrite = "script-write",
        /// A script would shut down, restart, put to sleep or sign out.
        ScriptPower = "script-power",
        /// A script would quit every app.
        ScriptQuitAll = "script-quit-all",
        /// A script would type.
        ScriptKeystroke = "script-keystroke",
        /// A script would press keys by their number.
        ScriptKeyCode = "script-key-code",
        /// A script would click or fill in a control of another app.
        ScriptClick = "script-click",
        /// A script would send many messages.
        ScriptBulkSend = "script-bulk-send",
        /// A script would send a message of its own to somebody.
        ScriptSend = "script-send",
        /// A script would send a mail.
        ScriptSendMail = "script-send-mail",
        /// A script would add or change an app's record.
        ScriptRecord = "script-record",
        /// A script would change what starts after signing in.
        ScriptLoginItem = "script-login-item",
        /// A script would show a dialog that hides what is typed.
        ScriptPasswordDialog = "script-password-dialog",
        /// A script would read stored passwords.
        ScriptKeychain = "script-keychain",
        /// A script would run code in a web page that looks at it.
        ScriptPage = "script-page",
        /// A script would run code in a web page that acts.
        ScriptPageActs = "script-page-acts",
        /// A script would read the clipboard.
        ScriptClipboard = "script-clipboard",
        /// A script would record the screen, a camera or a microphone.
        ScriptRecording = "script-recording",
        /// A script would talk to a server.
        ScriptDownload = "script-download",
        /// A script would change a setting.
        ScriptSetting = "script-setting",
        /// A script would change a setting that protects the machine.
        ScriptSecuritySetting = "script-security-setting",
    }
}

named! {
    /// Where, what and how, as one bit each.
    Tag {
        /// `/` or everything in it.
        Root = "root",
        /// A top-level system folder, or everything in one.
        Top = "top",
        /// Inside a system folder.
        System = "system",
        /// A device that holds data.
        Device = "device",
        /// Under `/proc` or `/sys`.
        Kernel = "kernel",
        /// The home folder itself, or everything in it.
        HomeRoot = "home-root",
        /// Inside the home folder.
        Home = "home",
        /// Somebody else's home folder.
        OtherHome = "other-home",
        /// The workspace itself, or everything in it.
        WorkspaceRoot = "workspace-root",
        /// Inside the workspace.
        Workspace = "workspace",
        /// In a temporary folder.
        Temp = "temp",
        /// Elsewhere on this machine.
        Outside = "outside",
        /// On another machine or in a cloud.
        Remote = "remote",
        /// Not known.
        Unknown = "unknown",
        /// `/dev/null`, standard streams, terminals.
        Stream = "stream",
        /// Holds keys, tokens or passwords.
        Secret = "secret",
        /// A user database or a file that says who may become root.
        Accounts = "accounts",
        /// Hard-blocked by name.
        Blocked = "blocked",
        /// Runs by itself later: cron, services, shell start-up files.
        Startup = "startup",
        /// Says how people sign in: PAM, sshd, sudo.
        SignIn = "sign-in",
        /// Shell history.
        History = "history",
        /// A log.
        Log = "log",
        /// Countersign's own files, or a host's hook entries.
        Guard = "guard",
        /// A `.git` folder or something in it.
        GitDir = "git-dir",
        /// Made by a build; can be made again.
        BuildOutput = "build-output",
        /// Made by this very script.
        Created = "created",
        /// Fetched from the network by this very script.
        Fetched = "fetched",
        /// In git without changes, or left out by git's own ignore list.
        Tracked = "tracked",
        /// Named by the user's configuration as sensitive.
        Sensitive = "sensitive",
        /// Whole folders.
        Recursive = "recursive",
        /// Without asking.
        Forced = "forced",
        /// A pattern, or a list from elsewhere, not one name.
        Many = "many",
        /// As another user, by sudo or the like.
        Elevated = "elevated",
        /// Bits that let anyone write.
        WorldWritable = "world-writable",
        /// Bits that run a file as its owner.
        SetId = "set-id",
        /// On another machine, container or pod.
        Elsewhere = "elsewhere",
        /// Where it leads cannot be seen from the text.
        Symlink = "symlink",
        /// Outside the folder it started from.
        Escapes = "escapes",
        /// Came out of base64, hex or the like.
        Decoded = "decoded",
        /// Came out of a file or the environment of this machine.
        Local = "local",
        /// Losing it costs nothing: build output, scratch, or made by this very script.
        Regenerable = "regenerable",
        /// Losing it can be undone: git has it.
        Recoverable = "recoverable",
        /// Nothing of it was looked at.
        Unseen = "unseen",
        /// A printer, a camera, a serial line: hardware that holds no files.
        Peripheral = "peripheral",
        /// A file action, as opposed to a command that touches a file.
        File = "file",
        /// In a desktop app, as opposed to a web page.
        App = "app",
        /// This machine itself.
        Loopback = "loopback",
        /// Told by a name, not by an address.
        Named = "named",
        /// Told by the address a name leads to.
        Resolved = "resolved",
        /// Only looks, as far as its name says.
        ReadOnly = "read-only",
        /// In an argument that somebody else's program will act on.
        Argument = "argument",
    }
}

/// A set of [`Tag`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Tags(u64);

impl Tags {
    /// No tags.
    pub const NONE: Self = Self(0);

    /// Just these.
    #[must_use]
    pub const fn of(tags: &[Tag]) -> Self {
        let mut bits = 0;
        let mut rest = tags;
        while let [first, tail @ ..] = rest {
            bits |= 1 << *first as u8;
            rest = tail;
        }
        Self(bits)
    }

    /// From the bits of a compiled rule.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, tag: Tag) -> Self {
        Self(self.0 | 1 << tag as u8)
    }

    /// These without one.
    #[must_use]
    pub const fn without(self, tag: Tag) -> Self {
        Self(self.0 & !(1 << tag as u8))
    }

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether this one is in.
    #[must_use]
    pub const fn has(self, tag: Tag) -> bool {
        self.0 & (1 << tag as u8) != 0
    }

    /// Whether any of these is in.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all of these are in.
    #[must_use]
    pub const fn all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// With what follows from the tags together.
    #[must_use]
    pub const fn derived(self) -> Self {
        const SCRATCH_DOUBTS: Tags = Tags::of(&[Tag::Unknown, Tag::Many, Tag::Top, Tag::Symlink]);
        const BUILD_DOUBTS: Tags =
            Tags::of(&[Tag::Unknown, Tag::WorkspaceRoot, Tag::Symlink, Tag::Elsewhere]);
        let scratch = self.has(Tag::Temp) && !self.any(SCRATCH_DOUBTS);
        let build =
            self.has(Tag::BuildOutput) && self.has(Tag::Workspace) && !self.any(BUILD_DOUBTS);
        let mut tags = self;
        if scratch || build || self.has(Tag::Created) {
            tags = tags.with(Tag::Regenerable);
        }
        if self.has(Tag::Tracked) && self.has(Tag::Workspace) && !self.any(BUILD_DOUBTS) {
            tags = tags.with(Tag::Recoverable);
        }
        tags
    }

    /// Every tag in the set, in order.
    pub fn iter(self) -> impl Iterator<Item = Tag> {
        Tag::ALL.iter().copied().filter(move |tag| self.has(*tag))
    }
}

/// Something an analyzer established about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What happens.
    pub kind: FactKind,
    /// To what, where, how.
    pub tags: Tags,
    /// The path, program or address, as shown to a person.
    pub subject: String,
    /// Where in the action's text.
    pub span: Option<Span>,
}

impl Fact {
    /// A fact without tags or place in the text.
    #[must_use]
    pub fn new(kind: FactKind, subject: impl Into<String>) -> Self {
        Self { kind, tags: Tags::NONE, subject: subject.into(), span: None }
    }

    /// The same fact with more tags.
    #[must_use]
    pub fn tagged(mut self, tags: Tags) -> Self {
        self.tags = self.tags.and(tags);
        self
    }

    /// The same fact, seen at this place in the text.
    #[must_use]
    pub fn at(mut self, span: Option<Span>) -> Self {
        self.span = span;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_has_its_own_bit() {
        let all = Tags::of(Tag::ALL);
        assert_eq!(all.iter().count(), Tag::ALL.len());
        assert!(Tag::ALL.len() <= 64);
    }

    #[test]
    fn names_lead_back_to_their_variant() {
        assert!(FactKind::ALL.iter().all(|kind| FactKind::named(kind.name()) == Some(*kind)));
        assert!(Tag::ALL.iter().all(|tag| Tag::named(tag.name()) == Some(*tag)));
    }
}
