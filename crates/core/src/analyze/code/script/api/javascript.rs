//! JavaScript: node, deno, bun, and commonly installed packages.

use super::{Coding, Effect};

pub(super) const PREFIXES: &[(&str, &str)] = &[
    ("globalThis.", ""),
    ("global.", ""),
    ("window.", ""),
    ("self.", ""),
    ("process.mainModule.require", "require"),
    ("module.require", "require"),
    ("module.constructor._load", "require"),
    ("node:", ""),
    ("fs/promises", "fs"),
    ("fs-extra", "fs"),
    ("graceful-fs", "fs"),
    ("fs.promises", "fs"),
    ("fs.default", "fs"),
    ("dns/promises", "dns"),
    ("timers/promises", "timers"),
    ("child_process.default", "child_process"),
    ("node-fetch", "fetch"),
    ("cross-fetch", "fetch"),
    ("isomorphic-fetch", "fetch"),
    ("undici.fetch", "fetch"),
    ("cross-spawn", "child_process.spawn"),
    ("axios.default", "axios"),
    ("shelljs", "shell"),
    ("path/posix", "path"),
    ("path.posix", "path"),
];

pub(super) fn effect(name: &str) -> Option<Effect> {
    // The synchronous and the asynchronous form of a call have the same effect.
    let name = match name.strip_suffix("Sync") {
        Some(stem)
            if name.starts_with("fs.")
                || name.starts_with("child_process.")
                || name.starts_with("Deno.") =>
        {
            stem
        }
        _ => name,
    };
    files(name)
        .or_else(|| processes(name))
        .or_else(|| network(name))
        .or_else(|| values(name))
        .or_else(|| others(name))
}

fn files(name: &str) -> Option<Effect> {
    Some(match name {
        "fs.unlink" | "fs.rmdir" | "Deno.remove" | "shell.rm" | "trash" | "Bun.unlink" => {
            Effect::Delete
        }
        "fs.rm" | "fs.remove" | "fs.emptyDir" | "rimraf" | "rimraf.sync" | "rimraf.rimraf"
        | "rimraf.native" | "del" | "del.sync" | "del.deleteAsync" | "rimraf.manual" => {
            Effect::DeleteTree
        }
        "fs.readFile"
        | "fs.createReadStream"
        | "Deno.readTextFile"
        | "Deno.readFile"
        | "Bun.file"
        | "fs.readlink"
        | "fs.readJson"
        | "shell.cat" => Effect::Read,
        "fs.open" | "Deno.open" => Effect::Open,
        "fs.writeFile"
        | "fs.createWriteStream"
        | "fs.truncate"
        | "Deno.writeTextFile"
        | "Deno.writeFile"
        | "Bun.write"
        | "fs.outputFile"
        | "fs.writeJson"
        | "Deno.truncate" => Effect::Write,
        "fs.appendFile" => Effect::Append,
        "fs.readdir" | "Deno.readDir" | "fs.opendir" | "shell.ls" => Effect::List,
        "glob" | "glob.sync" | "fast-glob" | "fast-glob.sync" | "globby" | "fs.glob" => {
            Effect::Glob
        }
        "fs.rename" | "fs.move" | "Deno.rename" | "shell.mv" => Effect::Move,
        "fs.copyFile" | "fs.cp" | "fs.copy" | "Deno.copyFile" | "shell.cp" | "decompress"
        | "extract-zip" => Effect::Copy,
        "fs.chmod" | "Deno.chmod" => Effect::Chmod,
        "fs.chown" | "fs.lchown" | "Deno.chown" => Effect::Chown,
        "shell.chmod" => Effect::ChmodLast,
        "fs.symlink" | "fs.link" | "Deno.symlink" => Effect::Link,
        _ => return None,
    })
}

fn processes(name: &str) -> Option<Effect> {
    Some(match name {
        "child_process.exec" | "shell.exec" | "execa.command" | "execa.execaCommand" | "$"
        | "Bun.$" | "zx.$" | "execSync" | "execa.$" => Effect::Shell,
        "child_process.spawn"
        | "child_process.execFile"
        | "execa"
        | "execa.execa"
        | "execa.execaSync"
        | "execa.sync"
        | "Deno.Command" => Effect::Program,
        "Bun.spawn" | "Bun.spawnSync" | "Deno.run" => Effect::Spawn,
        "child_process.fork" | "cluster.fork" => Effect::Fork,
        "process.kill" | "Deno.kill" | "fkill" => Effect::Kill,
        "worker_threads.Worker" | "Worker" => Effect::Start,
        _ => return None,
    })
}

fn network(name: &str) -> Option<Effect> {
    Some(match name {
        "axios.get" | "http.get" | "https.get" | "got" | "got.get" | "axios.head"
        | "superagent.get" | "needle.get" | "request.get" | "$.get" | "got.stream" => Effect::Fetch,
        "axios.post"
        | "axios.put"
        | "axios.patch"
        | "got.post"
        | "got.put"
        | "superagent.post"
        | "needle.post"
        | "request.post"
        | "$.post"
        | "navigator.sendBeacon"
        | "needle"
        | "axios.delete" => Effect::Post,
        "fetch" | "axios" | "axios.request" | "request" | "superagent" => Effect::Request,
        "http.request" | "https.request" | "http2.connect" => Effect::MakeRequest,
        "net.Socket" => Effect::Socket,
        "net.connect"
        | "net.createConnection"
        | "tls.connect"
        | "WebSocket"
        | "ws"
        | "ws.WebSocket"
        | "Deno.connect"
        | "socket.io-client"
        | "socket.io-client.io"
        | "Bun.connect" => Effect::Connect,
        "net.createServer" | "Deno.listen" | "Bun.listen" => Effect::Listen,
        "nodemailer.createTransport"
        | "aws-sdk.S3"
        | "@aws-sdk/client-s3.S3Client"
        | "XMLHttpRequest"
        | "ftp"
        | "ssh2.Client"
        | "dgram.createSocket"
        | "ssh2-sftp-client"
        | "basic-ftp.Client" => Effect::Sender,
        _ => return None,
    })
}

fn values(name: &str) -> Option<Effect> {
    Some(match name {
        "path.join" | "path.resolve" | "url.URL" | "URL" => Effect::JoinPath,
        "path.normalize" | "url.fileURLToPath" | "String" | "util.promisify"
        | "Promise.resolve" | "JSON.stringify" | "Object.assign" | "TextEncoder.encode"
        | "TextDecoder.decode" | "encodeURIComponent" | "encodeURI" | "process.nextTick"
        | "util.inspect" | "Object.fromEntries" | "structuredClone" | "Buffer.concat" => {
            Effect::Same
        }
        "path.dirname" => Effect::Folder,
        "path.basename" => Effect::BaseName,
        "os.homedir" => Effect::Home,
        "process.cwd" | "Deno.cwd" => Effect::WorkingFolder,
        "process.chdir" | "Deno.chdir" => Effect::ChangeFolder,
        "os.tmpdir" | "fs.mkdtemp" | "tmp.dirSync" | "Deno.makeTempDir" => Effect::Temporary,
        "atob" => Effect::Decode(Coding::Base64),
        "Buffer.from" | "Buffer" => Effect::Decode(Coding::Named),
        "unescape" | "decodeURIComponent" | "decodeURI" => Effect::Decode(Coding::Percent),
        "zlib.gunzipSync" | "zlib.inflateSync" | "zlib.brotliDecompressSync" | "zlib.unzipSync" => {
            Effect::Decode(Coding::Packed)
        }
        "String.fromCharCode" | "String.fromCodePoint" => Effect::Character,
        "require" | "import" | "createRequire" | "module.createRequire" => Effect::Import,
        "Array.from" | "Object.keys" | "Object.values" | "Object.entries" | "Promise.all"
        | "Promise.allSettled" | "Set" | "Array.of" => Effect::Items,
        "Reflect.get" => Effect::GetMember,
        "prompt" | "readline.question" => Effect::Input,
        "Deno.env.get" => Effect::Variable,
        "fs.exists" | "fs.stat" | "fs.access" | "fs.lstat" | "parseInt" | "Number" | "Boolean"
        | "crypto.createHash" | "fs.mkdir" => Effect::Clean,
        _ => return None,
    })
}

fn others(name: &str) -> Option<Effect> {
    Some(match name {
        "eval"
        | "vm.runInThisContext"
        | "vm.runInNewContext"
        | "vm.runInContext"
        | "vm.Script"
        | "vm2.VM.run" => Effect::Eval,
        "Function" | "AsyncFunction" | "vm.compileFunction" => Effect::Compile,
        "setTimeout" | "setInterval" | "setImmediate" | "queueMicrotask" => Effect::Callback,
        "sqlite3.Database"
        | "better-sqlite3"
        | "bun:sqlite.Database"
        | "node:sqlite.DatabaseSync" => Effect::Database("sqlite"),
        "pg.Pool" | "pg.Client" | "postgres" => Effect::Database("postgres"),
        "mysql.createConnection"
        | "mysql2.createConnection"
        | "mysql.createPool"
        | "mysql2.createPool"
        | "mysql2/promise.createConnection" => Effect::Database("mysql"),
        "console.log"
        | "console.error"
        | "console.info"
        | "console.warn"
        | "console.dir"
        | "process.stdout.write"
        | "console.table" => Effect::Print,
        "keytar.getPassword" | "keytar.findCredentials" => Effect::Credential,
        "iohook.start"
        | "screenshot-desktop"
        | "node-global-key-listener.GlobalKeyboardListener" => Effect::Capture,
        _ => return None,
    })
}
