//! Ruby: its kernel, its standard library and commonly installed packages.

use super::{Coding, Effect};

pub(super) const PREFIXES: &[(&str, &str)] = &[
    (".", ""),
    ("Kernel.", ""),
    ("Object.", ""),
    ("Process.fork", "fork"),
    ("Process.exec", "exec"),
    ("IO.File", "File"),
    ("Shellwords.escape", "String"),
];

pub(super) fn effect(name: &str) -> Option<Effect> {
    files(name).or_else(|| processes(name)).or_else(|| network(name)).or_else(|| values(name))
}

fn files(name: &str) -> Option<Effect> {
    Some(match name {
        "File.delete"
        | "File.unlink"
        | "Dir.rmdir"
        | "Dir.delete"
        | "Dir.unlink"
        | "FileUtils.rm"
        | "FileUtils.rm_f"
        | "FileUtils.remove"
        | "FileUtils.rmdir"
        | "FileUtils.safe_unlink" => Effect::Delete,
        "FileUtils.rm_r"
        | "FileUtils.rm_rf"
        | "FileUtils.rmtree"
        | "FileUtils.remove_dir"
        | "FileUtils.remove_entry"
        | "FileUtils.remove_entry_secure"
        | "FileUtils.safe_rmtree"
        | "FileUtils.remove_file" => Effect::DeleteTree,
        "File.open" | "File.new" | "open" | "Zlib.GzipReader.open" | "IO.open" | "IO.sysopen" => {
            Effect::Open
        }
        "File.read" | "File.readlines" | "IO.read" | "IO.readlines" | "File.foreach"
        | "IO.foreach" | "File.binread" | "IO.binread" | "YAML.load_file" | "JSON.load_file"
        | "CSV.read" | "CSV.foreach" | "File.readlink" => Effect::Read,
        "File.write" | "IO.write" | "File.binwrite" | "IO.binwrite" | "File.truncate"
        | "FileUtils.touch" => Effect::Write,
        "Dir.entries" | "Dir.children" | "Dir.each_child" | "Dir.foreach" => Effect::List,
        "Dir.glob" | "Dir.[]" | "Pathname.glob" => Effect::Glob,
        "Find.find" => Effect::Walk,
        "File.rename" | "FileUtils.mv" | "FileUtils.move" => Effect::Move,
        "FileUtils.cp"
        | "FileUtils.copy"
        | "FileUtils.cp_r"
        | "FileUtils.copy_file"
        | "FileUtils.install"
        | "IO.copy_stream" => Effect::Copy,
        "File.chmod" | "FileUtils.chmod" | "FileUtils.chmod_R" | "File.lchmod" => Effect::ChmodLast,
        "File.chown" | "FileUtils.chown" | "FileUtils.chown_R" => Effect::ChownLast,
        "File.symlink" | "FileUtils.ln_s" | "FileUtils.ln_sf" | "File.link" | "FileUtils.ln" => {
            Effect::Link
        }
        _ => return None,
    })
}

fn processes(name: &str) -> Option<Effect> {
    Some(match name {
        "IO.popen" => Effect::Shell,
        "system" | "exec" | "spawn" | "Process.spawn" | "Open3.capture2" | "Open3.capture2e"
        | "Open3.capture3" | "Open3.popen2" | "Open3.popen2e" | "Open3.popen3"
        | "Open3.pipeline" => Effect::Program,
        "PTY.spawn" => Effect::Terminal,
        "fork" => Effect::Fork,
        "Thread.new" | "Thread.start" | "Thread.fork" => Effect::Start,
        "Process.kill" => Effect::Kill,
        "Process.pid" => Effect::Itself,
        "loop" => Effect::Loop,
        "eval"
        | "instance_eval"
        | "class_eval"
        | "module_eval"
        | "binding.eval"
        | "TOPLEVEL_BINDING.eval"
        | "RubyVM.InstructionSequence.eval" => Effect::Eval,
        "load" => Effect::RunFile,
        "Marshal.load" | "YAML.load" | "YAML.unsafe_load" | "Psych.load" => Effect::Unpickle,
        "send" | "public_send" | "__send__" | "method" => Effect::GetMember,
        _ => return None,
    })
}

fn network(name: &str) -> Option<Effect> {
    Some(match name {
        "Net.HTTP.get"
        | "Net.HTTP.get_response"
        | "URI.open"
        | "HTTParty.get"
        | "RestClient.get"
        | "Faraday.get"
        | "HTTP.get"
        | "OpenURI.open_uri"
        | "Excon.get" => Effect::Fetch,
        "Net.HTTP.post" | "Net.HTTP.post_form" | "HTTParty.post" | "RestClient.post"
        | "Faraday.post" | "HTTP.post" | "HTTParty.put" | "RestClient.put" | "Excon.post" => {
            Effect::Post
        }
        "Net.HTTP.Post.new" | "Net.HTTP.Put.new" => Effect::MakeRequest,
        "Socket.new" => Effect::Socket,
        "TCPSocket.new"
        | "TCPSocket.open"
        | "Socket.tcp"
        | "UNIXSocket.new"
        | "UDPSocket.new"
        | "OpenSSL.SSL.SSLSocket.new" => Effect::Connect,
        "TCPServer.new" | "TCPServer.open" | "Socket.tcp_server_loop" | "UNIXServer.new" => {
            Effect::Listen
        }
        "Net.HTTP.new"
        | "Net.HTTP.start"
        | "Net.FTP.new"
        | "Net.FTP.open"
        | "Net.SMTP.start"
        | "Net.SMTP.new"
        | "Mail.deliver"
        | "Net.SFTP.start"
        | "Net.SCP.start"
        | "Faraday.new"
        | "Aws.S3.Client.new"
        | "Aws.S3.Resource.new" => Effect::Sender,
        "SQLite3.Database.new" | "SQLite3.Database.open" => Effect::Database("sqlite"),
        "PG.connect" | "PG.Connection.new" | "PG.Connection.open" => Effect::Database("postgres"),
        "Mysql2.Client.new" => Effect::Database("mysql"),
        "ActiveRecord.Base.connection" | "Sequel.connect" => Effect::Database("generic"),
        _ => return None,
    })
}

fn values(name: &str) -> Option<Effect> {
    Some(match name {
        "Base64.decode64" | "Base64.strict_decode64" | "Base64.urlsafe_decode64" => {
            Effect::Decode(Coding::Base64)
        }
        "Zlib.Inflate.inflate" | "Zlib.inflate" | "Zlib.gunzip" => Effect::Decode(Coding::Packed),
        "CGI.unescape" | "URI.decode_www_form_component" => Effect::Decode(Coding::Percent),
        "File.join" | "Pathname.new" | "Pathname" | "URI.join" => Effect::JoinPath,
        "File.expand_path" | "File.absolute_path" | "File.realpath" => Effect::ExpandHome,
        "File.dirname" => Effect::Folder,
        "File.basename" => Effect::BaseName,
        "Dir.home" => Effect::Home,
        "Dir.pwd" | "Dir.getwd" | "Pathname.pwd" => Effect::WorkingFolder,
        "Dir.chdir" => Effect::ChangeFolder,
        "Dir.mktmpdir" | "Dir.tmpdir" => Effect::Temporary,
        "Tempfile.new" | "Tempfile.create" | "Tempfile.open" => Effect::TemporaryFile,
        "ENV.fetch" | "ENV.[]" => Effect::Variable,
        "gets" | "STDIN.gets" | "STDIN.read" | "$stdin.gets" | "$stdin.read" | "readline" => {
            Effect::Input
        }
        "IO.console.getpass" | "STDIN.getpass" => Effect::Credential,
        "String" | "Array" | "JSON.generate" | "JSON.dump" | "URI" | "URI.parse" | "Set.new"
        | "StringIO.new" | "YAML.dump" | "CGI.escape" => Effect::Same,
        "puts" | "print" | "p" | "pp" | "STDOUT.puts" | "$stdout.puts" | "warn" | "STDERR.puts" => {
            Effect::Print
        }
        "format" | "sprintf" => Effect::Format,
        "require"
        | "require_relative"
        | "exit"
        | "abort"
        | "sleep"
        | "rand"
        | "File.exist?"
        | "at_exit"
        | "File.file?"
        | "File.directory?"
        | "File.size"
        | "Dir.exist?"
        | "Digest.SHA256.hexdigest"
        | "FileUtils.mkdir_p"
        | "Dir.mkdir"
        | "FileUtils.mkdir"
        | "raise"
        | "Integer" => Effect::Clean,
        "Etc.passwd" | "Etc.getpwnam" => Effect::FindSecrets,
        "proc" | "lambda" | "Proc.new" | "define_method" | "catch" | "trap" | "Signal.trap"
        | "Timeout.timeout" | "Dir.each" => Effect::Callback,
        _ => return None,
    })
}
