//! The tags of a fact (where, what and how), and sets of them.

named! {
    /// A property of a fact: a location, a kind of target or a manner. One bit each.
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
        /// A user database, or a file that lists the users who may become root.
        Accounts = "accounts",
        /// Hard-blocked by name.
        Blocked = "blocked",
        /// Runs by itself later: cron, services, shell start-up files.
        Startup = "startup",
        /// Configures how people sign in: PAM, sshd, sudo.
        SignIn = "sign-in",
        /// Shell history.
        History = "history",
        /// A log.
        Log = "log",
        /// Countersign's own files, or a host's hook entries.
        Guard = "guard",
        /// A folder that holds such files.
        AboveGuard = "above-guard",
        /// Such a file or folder where a host or this machine uses it for every project.
        Installed = "installed",
        /// Countersign's program.
        OwnProgram = "own-program",
        /// Countersign's data: its keys, its database, its socket.
        OwnData = "own-data",
        /// A folder that holds Countersign's data.
        AboveOwnData = "above-own-data",
        /// A `.git` folder or something in it.
        GitDir = "git-dir",
        /// Made by a build; can be made again.
        BuildOutput = "build-output",
        /// Made by this very script.
        Created = "created",
        /// Fetched from the network by this very script.
        Fetched = "fetched",
        /// Printed without end.
        Endless = "endless",
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
        /// A link whose target cannot be seen from the text.
        Symlink = "symlink",
        /// Outside the folder it started from.
        Escapes = "escapes",
        /// Came out of base64, hex or the like.
        Decoded = "decoded",
        /// Encoded as base64, hex or the like.
        Encoded = "encoded",
        /// Came from a file or the environment of this machine.
        Local = "local",
        /// Losing it costs nothing: build output, scratch, or made by this very script.
        Regenerable = "regenerable",
        /// Losing it can be undone: git has it.
        Recoverable = "recoverable",
        /// Nothing of it was analysed.
        Unseen = "unseen",
        /// A printer, a camera, a serial line: hardware that holds no files.
        Peripheral = "peripheral",
        /// A file action, as opposed to a command that touches a file.
        File = "file",
        /// In a desktop app, as opposed to a web page.
        App = "app",
        /// This machine itself.
        Loopback = "loopback",
        /// Given as a name, not as an address.
        Named = "named",
        /// Given as the address that a name resolves to.
        Resolved = "resolved",
        /// Only reads, as far as its name says.
        ReadOnly = "read-only",
        /// In an argument that another program will act on.
        Argument = "argument",
        /// Anyone may read it, and it contains nothing private.
        Public = "public",
        /// A folder that is only touched when it is empty.
        Hollow = "hollow",
        /// Its content is summed up and not shown: a digest, a fingerprint.
        Measured = "measured",
        /// Made by this agent in this session, with everything in it.
        Session = "session",
    }
}

/// A set of [`Tag`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Tags(u64);

impl Tags {
    /// No tags.
    pub const NONE: Self = Self(0);

    /// The set of these tags.
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

    /// The set from the bits of a compiled rule.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The set with one more tag.
    #[must_use]
    pub const fn with(self, tag: Tag) -> Self {
        Self(self.0 | 1 << tag as u8)
    }

    /// The set without one tag.
    #[must_use]
    pub const fn without(self, tag: Tag) -> Self {
        Self(self.0 & !(1 << tag as u8))
    }

    /// The union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Reports whether the set contains this tag.
    #[must_use]
    pub const fn has(self, tag: Tag) -> bool {
        self.0 & (1 << tag as u8) != 0
    }

    /// Reports whether the set contains any of these.
    #[must_use]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Reports whether the set contains all of these.
    #[must_use]
    pub const fn all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Reports whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds the tags that follow from combinations of others, and removes `Session` where it does
    /// not count.
    #[must_use]
    pub const fn derived(self) -> Self {
        const SCRATCH_DOUBTS: Tags = Tags::of(&[Tag::Unknown, Tag::Many, Tag::Top, Tag::Symlink]);
        const BUILD_DOUBTS: Tags =
            Tags::of(&[Tag::Unknown, Tag::WorkspaceRoot, Tag::Symlink, Tag::Elsewhere]);
        /// Locations where a loss is serious, and paths that may be more than one file.
        const SESSION_DOUBTS: Tags = Tags::of(&[
            Tag::Unknown,
            Tag::Many,
            Tag::Symlink,
            Tag::Elsewhere,
            Tag::Elevated,
            Tag::WorkspaceRoot,
            Tag::Root,
            Tag::Top,
            Tag::System,
            Tag::Device,
            Tag::Kernel,
            Tag::Secret,
            Tag::Accounts,
            Tag::Blocked,
            Tag::Startup,
            Tag::SignIn,
            Tag::History,
            Tag::Log,
            Tag::Guard,
            Tag::AboveGuard,
            Tag::OwnProgram,
            Tag::OwnData,
            Tag::AboveOwnData,
            Tag::GitDir,
            Tag::Sensitive,
        ]);
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
        if !self.has(Tag::Workspace) || self.any(SESSION_DOUBTS) {
            tags = tags.without(Tag::Session);
        }
        tags
    }

    /// Every tag in the set, in order.
    pub fn iter(self) -> impl Iterator<Item = Tag> {
        Tag::ALL.iter().copied().filter(move |tag| self.has(*tag))
    }
}
