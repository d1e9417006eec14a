//! What the functions of the languages and their libraries do, by their full names.

use crate::action::Language;

mod indirect;
mod javascript;
mod perl;
mod python;
mod ruby;

/// What calling a function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    // --- values
    /// Gives back its first argument, as text or as it is.
    Same,
    /// Gives back something that says nothing about its arguments.
    Clean,
    /// Joins paths.
    JoinPath,
    /// The home folder.
    Home,
    /// `~` in the first argument becomes the home folder.
    ExpandHome,
    /// The folder of a path.
    Folder,
    /// The last part of a path.
    BaseName,
    /// The working folder.
    WorkingFolder,
    /// Changes the working folder.
    ChangeFolder,
    /// A new temporary file or folder.
    Temporary,
    /// A new temporary file, open.
    TemporaryFile,
    /// One environment variable.
    Variable,
    /// Sets an environment variable.
    SetVariable,
    /// What the user types or passes.
    Input,
    /// A password prompt or a key store.
    Credential,
    /// Decodes text.
    Decode(Coding),
    /// A character from its number.
    Character,
    /// A number from its character.
    CodePoint,
    /// A function of every item of a list.
    Map,
    /// Joins the items of the second argument by the first, or the other way round.
    Join,
    /// Fills a format.
    Format,
    /// Takes the first item off a list.
    Shift,
    /// Looks up a member by its name.
    GetMember,
    /// Loads a module by its name.
    Import,
    /// An iterator, a copy, a sorted list: the same items.
    Items,
    // --- files
    /// Deletes files or empty folders.
    Delete,
    /// Deletes whole folders.
    DeleteTree,
    /// Opens a file; the second argument says for what.
    Open,
    /// Reads a file by its path.
    Read,
    /// Replaces a file's content.
    Write,
    /// Adds to a file.
    Append,
    /// Lists a folder.
    List,
    /// Everything below a folder.
    Walk,
    /// Names that match a pattern.
    Glob,
    /// Moves the first to the second.
    Move,
    /// Copies the first to the second.
    Copy,
    /// Changes permissions; the path comes first.
    Chmod,
    /// Changes the owner; the path comes first.
    Chown,
    /// Ruby and Perl: mode or owner first, then the paths.
    ChmodLast,
    /// As before, for owners.
    ChownLast,
    /// Makes the second a link to the first.
    Link,
    // --- processes
    /// Runs a command line by the shell.
    Shell,
    /// Runs a list of words, or a command line where told so.
    Spawn,
    /// Runs the first argument with the rest as its words.
    Program,
    /// Runs the second argument: the first says how.
    SpawnMode,
    /// Runs with a terminal of its own.
    Terminal,
    /// One more process like this one.
    Fork,
    /// One more process or thread that runs a function.
    Start,
    /// Sends a signal.
    Kill,
    /// Makes one file descriptor a copy of another.
    Redirect,
    // --- code
    /// Runs text as code.
    Eval,
    /// Turns text into code that runs when called.
    Compile,
    /// Runs a file as code.
    RunFile,
    /// Rebuilds objects, code included, from bytes.
    Unpickle,
    // --- network
    /// Asks a server.
    Fetch,
    /// Asks a server and stores the answer.
    Retrieve,
    /// Sends to a server.
    Post,
    /// The first argument says whether it asks or sends.
    Request,
    /// A request to be sent later.
    MakeRequest,
    /// A raw connection, not yet made.
    Socket,
    /// A raw connection.
    Connect,
    /// Waits for connections.
    Listen,
    /// Something that sends what it is given.
    Sender,
    // --- others
    /// A database.
    Database(&'static str),
    /// Shows something.
    Print,
    /// Looks for secrets.
    FindSecrets,
    /// Watches keys, screen or clipboard.
    Capture,
    /// Every process of the machine.
    Processes,
    /// The number of this very process.
    Itself,
    /// Schedules something.
    Schedule,
    /// Runs its block for ever.
    Loop,
    /// Runs its function later or somewhere: now, as far as we are concerned.
    Callback,
    // --- functions
    /// A function with its first arguments already given.
    Bind,
    /// Calls the method of this name on whatever it is given.
    NamedMethod,
    /// The names that a module, or the whole source, holds.
    Names,
    /// Loads or calls code that is not of this language.
    Native,
}

/// A way to write bytes as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Base64,
    Base32,
    Hex,
    Rot13,
    Percent,
    /// Something compressed or serialised: decoded, but not by us.
    Packed,
    /// The second argument names it.
    Named,
}

/// What this function does, if it is known.
pub(super) fn effect(language: Language, name: &str) -> Option<Effect> {
    let known = match language {
        Language::Python => python::effect(name),
        Language::Javascript => javascript::effect(name),
        Language::Perl => perl::effect(name),
        Language::Ruby => ruby::effect(name),
        Language::Sql => None,
    };
    known.or_else(|| indirect::effect(language, name))
}

/// The full name under which a thing is known: aliases of modules resolved.
pub(super) fn canonical(language: Language, name: &str) -> String {
    let drop = |prefixes: &[(&str, &str)]| {
        let mut name = name.to_owned();
        for (prefix, instead) in prefixes {
            if let Some(rest) = name.strip_prefix(prefix) {
                name = format!("{instead}{rest}");
            }
        }
        name
    };
    match language {
        Language::Python => drop(python::PREFIXES),
        Language::Javascript => drop(javascript::PREFIXES),
        Language::Perl => drop(perl::PREFIXES),
        Language::Ruby => drop(ruby::PREFIXES),
        Language::Sql => name.to_owned(),
    }
}
