//! Perl: its built-in functions and core modules.

use super::{Coding, Effect};

pub(super) const PREFIXES: &[(&str, &str)] = &[
    ("CORE::GLOBAL::", ""),
    ("CORE::", ""),
    ("main::", ""),
    ("POSIX::", ""),
    ("File::Path::", ""),
    ("File::Copy::", ""),
    ("File::Basename::", ""),
    ("File::Temp::", ""),
    ("File::Slurp::", ""),
    ("File::Spec::Functions::", ""),
    ("MIME::Base64::", ""),
    ("LWP::Simple::", ""),
    ("Cwd::", ""),
    ("List::Util::", ""),
    ("IPC::Open3::", ""),
    ("IPC::Open2::", ""),
    ("IPC::System::Simple::", ""),
];

pub(super) fn effect(name: &str) -> Option<Effect> {
    Some(match name {
        "unlink" | "rmdir" | "remove" => Effect::Delete,
        "rmtree" | "remove_tree" => Effect::DeleteTree,
        "sysopen" => Effect::SystemOpen,
        "open" | "IO::File.new" | "opendir" => Effect::Open,
        "read_file" | "slurp" | "readlink" | "Path::Tiny.slurp" => Effect::Read,
        "write_file" | "truncate" | "spew" => Effect::Write,
        "append_file" => Effect::Append,
        "glob" => Effect::Glob,
        "find" | "finddepth" | "File::Find::find" | "File::Find::finddepth" => Effect::Walk,
        "rename" | "move" | "mv" => Effect::Move,
        "copy" | "cp" => Effect::Copy,
        "chmod" => Effect::ChmodLast,
        "chown" => Effect::ChownLast,
        "symlink" | "link" => Effect::Link,
        "system" | "exec" | "qx" | "capture" | "run" | "systemx" | "open3" | "open2"
        | "IPC::Run::run" => Effect::Program,
        "fork" => Effect::Fork,
        "threads.create" | "threads.new" => Effect::Start,
        "kill" => Effect::Kill,
        "POSIX::getpid" | "getpid" => Effect::Itself,
        "dup2" => Effect::Redirect,
        "eval" => Effect::Eval,
        "do" | "require" => Effect::RunFile,
        "thaw" | "retrieve" | "Storable::thaw" | "Storable::retrieve" => Effect::Unpickle,
        _ => return network(name).or_else(|| values(name)),
    })
}

fn network(name: &str) -> Option<Effect> {
    Some(match name {
        "get" | "head" => Effect::Fetch,
        "getstore" | "mirror" => Effect::Retrieve,
        "HTTP::Request.new" | "HTTP::Request::Common::POST" | "POST" => Effect::MakeRequest,
        "socket" | "IO::Socket.new" | "Socket" => Effect::Socket,
        "IO::Socket::INET.new"
        | "IO::Socket::INET6.new"
        | "IO::Socket::SSL.new"
        | "IO::Socket::IP.new"
        | "IO::Socket::UNIX.new"
        | "connect"
        | "Net::Telnet.new" => Effect::Connect,
        "accept" | "listen" | "bind" => Effect::Listen,
        "LWP::UserAgent.new"
        | "HTTP::Tiny.new"
        | "Mojo::UserAgent.new"
        | "Net::FTP.new"
        | "Net::SMTP.new"
        | "WWW::Mechanize.new"
        | "Net::SFTP.new"
        | "Net::OpenSSH.new" => Effect::Sender,
        "DBI.connect" => Effect::Database("generic"),
        _ => return None,
    })
}

fn values(name: &str) -> Option<Effect> {
    Some(match name {
        "decode_base64" | "decode_base64url" => Effect::Decode(Coding::Base64),
        "pack" | "unpack" => Effect::Decode(Coding::Named),
        "uncompress" | "Compress::Zlib::uncompress" | "memGunzip" => Effect::Decode(Coding::Packed),
        "uri_unescape" | "URI::Escape::uri_unescape" => Effect::Decode(Coding::Percent),
        "chr" => Effect::Character,
        "ord" => Effect::CodePoint,
        "shift" | "pop" => Effect::Shift,
        "map" | "grep" => Effect::Map,
        "join" => Effect::Join,
        "sprintf" => Effect::Format,
        "lc" | "uc" | "lcfirst" | "ucfirst" | "chomp" | "chop" | "abs_path" | "realpath"
        | "bless" | "scalar" | "quotemeta" | "wantarray" | "encode_json" | "decode_json"
        | "to_json" => Effect::Same,
        "reverse" | "sort" | "keys" | "values" | "each" | "split" | "splice" => Effect::Items,
        "catfile" | "catdir" | "File::Spec.catfile" | "File::Spec.catdir" => Effect::JoinPath,
        "dirname" => Effect::Folder,
        "basename" => Effect::BaseName,
        "getcwd" | "cwd" => Effect::WorkingFolder,
        "chdir" => Effect::ChangeFolder,
        "tempdir" | "File::Temp.newdir" => Effect::Temporary,
        "tempfile" | "File::Temp.new" => Effect::TemporaryFile,
        "File::HomeDir.my_home" => Effect::Home,
        "readdir" => Effect::List,
        "print" | "printf" | "say" => Effect::Print,
        "length" | "defined" | "exists" | "index" | "sleep" | "time" | "md5_hex" | "sha256_hex"
        | "exit" | "die" | "warn" | "stat" | "lstat" | "int" | "mkdir" | "close" | "mkpath"
        | "make_path" | "select" => Effect::Clean,
        "getpwent" | "getspnam" => Effect::FindSecrets,
        _ => return None,
    })
}
