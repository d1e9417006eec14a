//! The effects of the functions of the languages and their libraries, by their full names.

use crate::action::Language;

mod indirect;
mod javascript;
mod perl;
mod python;
mod ruby;

/// The effect of calling a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    // --- values
    /// Returns its first argument, as text or as it is.
    Same,
    /// Returns a value that is independent of its arguments.
    Clean,
    /// Joins paths.
    JoinPath,
    /// Returns the home folder.
    Home,
    /// Replaces `~` in the first argument with the home folder.
    ExpandHome,
    /// Returns the folder of a path.
    Folder,
    /// Returns the last part of a path.
    BaseName,
    /// Returns the working folder.
    WorkingFolder,
    /// Changes the working folder.
    ChangeFolder,
    /// Creates a temporary file or folder.
    Temporary,
    /// Creates and opens a temporary file.
    TemporaryFile,
    /// Reads one environment variable.
    Variable,
    /// Sets an environment variable.
    SetVariable,
    /// Returns input that the user types or passes.
    Input,
    /// Returns a secret from a password prompt or a key store.
    Credential,
    /// Decodes text.
    Decode(Coding),
    /// Returns a character from its number.
    Character,
    /// Returns a number from its character.
    CodePoint,
    /// Applies a function to every item of a list.
    Map,
    /// Joins the items of the second argument by the first, or the other way round.
    Join,
    /// Fills a format.
    Format,
    /// Removes and returns the first item of a list.
    Shift,
    /// Looks up a member by its name.
    GetMember,
    /// Loads a module by its name.
    Import,
    /// Returns the same items: an iterator, a copy, a sorted list.
    Items,
    // --- files
    /// Deletes files or empty folders.
    Delete,
    /// Deletes whole folders.
    DeleteTree,
    /// Opens a file; the second argument is the mode.
    Open,
    /// Opens a file; the second argument is the path, the third its flags.
    SystemOpen,
    /// Reads a file by its path.
    Read,
    /// Replaces a file's content.
    Write,
    /// Adds to a file.
    Append,
    /// Lists a folder.
    List,
    /// Returns everything below a folder.
    Walk,
    /// Returns names that match a glob.
    Glob,
    /// Moves the first argument to the second.
    Move,
    /// Copies the first argument to the second.
    Copy,
    /// Changes permissions; the path comes first.
    Chmod,
    /// Changes the owner; the path comes first.
    Chown,
    /// Changes permissions in Ruby and Perl: the mode comes first, then the paths.
    ChmodLast,
    /// Changes owners in Ruby and Perl: the owner comes first, then the paths.
    ChownLast,
    /// Makes the second argument a link to the first.
    Link,
    // --- processes
    /// Runs a command line with the shell.
    Shell,
    /// Runs a list of words, or a command line if an option says so.
    Spawn,
    /// Runs the first argument with the rest as its words.
    Program,
    /// Runs the second argument; the first is the mode.
    SpawnMode,
    /// Reads commands from the terminal.
    Prompt,
    /// Runs a program with a terminal of its own.
    Terminal,
    /// Forks this process.
    Fork,
    /// Starts a process or thread that runs a function.
    Start,
    /// Sends a signal.
    Kill,
    /// Duplicates a file descriptor.
    Redirect,
    // --- code
    /// Runs text as code.
    Eval,
    /// Compiles text into code that runs when called.
    Compile,
    /// Runs a file as code.
    RunFile,
    /// Deserialises objects, code included, from bytes.
    Unpickle,
    // --- network
    /// Requests data from a server.
    Fetch,
    /// Requests data from a server and stores the response.
    Retrieve,
    /// Sends to a server.
    Post,
    /// Requests or sends data, depending on the first argument.
    Request,
    /// Creates a request to be sent later.
    MakeRequest,
    /// Creates a raw socket that is not connected yet.
    Socket,
    /// Opens a raw connection.
    Connect,
    /// Waits for connections.
    Listen,
    /// Creates an object that sends its arguments.
    Sender,
    // --- others
    /// Opens a database.
    Database(&'static str),
    /// Prints something.
    Print,
    /// Searches for secrets.
    FindSecrets,
    /// Captures keys, screen or clipboard.
    Capture,
    /// Returns every process of the machine.
    Processes,
    /// Returns the id of this process.
    Itself,
    /// Schedules something.
    Schedule,
    /// Runs its block in an endless loop.
    Loop,
    /// Runs its function later or elsewhere; treated as if it ran now.
    Callback,
    // --- functions
    /// Returns a function with its first arguments bound.
    Bind,
    /// Calls the method of this name on its argument.
    NamedMethod,
    /// Returns the names in a module, or in the whole source.
    Names,
    /// Loads or calls code in another language.
    Native,
}

/// An encoding of bytes as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Base64,
    Base32,
    Hex,
    Rot13,
    Percent,
    /// Compressed or serialised data, which is not decoded here.
    Packed,
    /// An encoding that the second argument names.
    Named,
}

/// Returns the effect of a function, if it is known.
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

/// Returns the canonical name of a thing, with module aliases resolved.
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
