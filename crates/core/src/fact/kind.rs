//! The kinds of facts, with the names that rules use.

named! {
    /// The kind of a fact: the event it describes.
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
        /// A file or folder would get another name.
        Link = "link",
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
        /// A script whose name begins with a dot, outside of the workspace, would run.
        HiddenScript = "hidden-script",
        /// A variable that makes other programs run code would be set.
        EnvExecutes = "env-executes",
        /// A program's option runs a command unexpectedly.
        ShellEscape = "shell-escape",
        /// Opens a shell or an interpreter without a script.
        OpenShell = "open-shell",
        /// Leaves a file without its content.
        Empty = "empty",
        /// A program is told to show a secret.
        SecretShow = "secret-show",
        /// Lets others read files over the network.
        Serve = "serve",
        /// Lets others reach a program on this machine with which they can do much.
        Listen = "listen",
        /// A change whose confirmation is answered in advance.
        Unasked = "unasked",
        /// Credentials or rights would be made, or people's data taken out of a system.
        Grants = "grants",
        /// Puts something where others use it.
        Publishes = "publishes",
        /// A text that would be blocked for good as a command of its own.
        HiddenCommand = "hidden-command",
        /// A process that multiplies without end.
        ForkBomb = "fork-bomb",
        /// The text is not valid in its language.
        Unparsed = "unparsed",
        /// A shell refuses it because something is left open.
        Unfinished = "unfinished",
        /// Larger, deeper or longer than can be judged.
        Bound = "bound",
        /// Not well-formed: NUL or the like.
        Malformed = "malformed",
        /// The name leaves its folder by `..` or an encoding of it.
        Traversal = "traversal",
        /// A program is told, by a verb, to destroy something.
        DestructiveVerb = "destructive-verb",
        /// A program is told, by a verb, to stop, switch off or reset something.
        InterruptingVerb = "interrupting-verb",
        /// Shell history or logging would be switched off or wiped.
        HistoryOff = "history-off",
        /// A job would be scheduled or a service installed.
        Schedule = "schedule",
        /// An account, group or password would change.
        Account = "account",
        /// A key of somebody else could sign in on another machine.
        LetsIn = "lets-in",
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
        /// An agent host would be started with its hooks off.
        HostUnguarded = "host-unguarded",
        /// An agent host would be started so that it does not ask its own user.
        HostUnasked = "host-unasked",
        /// A question that another program asks its user would be answered.
        Answer = "answer",
        /// An agent host would be started with settings from elsewhere.
        HostElsewhere = "host-elsewhere",
        /// A secret would be printed or passed on the command line.
        SecretPrint = "secret-print",
        /// Memory, disk or network would be used up, for ever and without a pause.
        Exhaust = "exhaust",

        /// Not a URL that a browser would open.
        UrlInvalid = "url-invalid",
        /// A scheme that reaches around the web: files, code, the browser itself.
        UrlScheme = "url-scheme",
        /// A name or password before the domain.
        UrlUserinfo = "url-userinfo",
        /// A domain that looks like another one.
        UrlLookalike = "url-lookalike",
        /// An address that is not on the public internet.
        UrlInternal = "url-internal",
        /// The service that hands out a cloud machine's credentials.
        UrlMetadata = "url-metadata",
        /// A domain that resolves to the address spelt in its name.
        UrlRebinding = "url-rebinding",
        /// A program that would be fetched to be started.
        UrlProgram = "url-program",
        /// A key or token in an address.
        UrlSecret = "url-secret",
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
        /// A control whose icon or writing system is unknown.
        UiUnknown = "ui-unknown",
        /// A control that keeps, renames or hands over something, and can be set back.
        UiChange = "ui-change",
        /// A control that closes or quits.
        UiClose = "ui-close",
        /// A form would be sent.
        FormSubmit = "form-submit",

        /// More files, or more bytes, than one would fetch by hand.
        DownloadBatch = "download-batch",
        /// More pages than one would print by hand.
        ExportBatch = "export-batch",

        /// A name of something that an agent may never do.
        NamedForbidden = "named-forbidden",
        /// Nothing happens except that a person is asked.
        NamedQuestion = "named-question",
        /// The same about something that the agent itself calls high risk.
        NamedGraveQuestion = "named-grave-question",
        /// The same about something that the agent itself calls critical.
        NamedCriticalQuestion = "named-critical-question",
        /// An undeclared name.
        NamedUnknown = "named-unknown",

        /// An undeclared skill.
        SkillUndeclared = "skill-undeclared",
        /// A skill that changes something.
        SkillWrite = "skill-write",
        /// A skill that pays, sends, deletes or shows private data.
        SkillSensitive = "skill-sensitive",

        /// A tool whose words do not say what it does.
        ToolUnknown = "tool-unknown",
        /// A tool that changes something.
        ToolWrite = "tool-write",
        /// A tool that destroys something.
        ToolDestructive = "tool-destructive",
        /// A tool that runs the code or commands it is given.
        ToolExecutes = "tool-executes",
        /// A tool that does something an autonomous engine may never do.
        ToolForbidden = "tool-forbidden",
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
        /// A script would show a dialog that hides the typed text.
        ScriptPasswordDialog = "script-password-dialog",
        /// A script would read stored passwords.
        ScriptKeychain = "script-keychain",
        /// A script would run code in a web page that only reads it.
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
