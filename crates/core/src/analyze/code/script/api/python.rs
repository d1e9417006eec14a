//! Python: the standard library and commonly installed packages.

use super::{Coding, Effect};

/// Other names of the same modules.
pub(super) const PREFIXES: &[(&str, &str)] = &[
    ("builtins.", ""),
    ("__builtins__.", ""),
    ("__builtin__.", ""),
    ("posix.", "os."),
    ("nt.", "os."),
    ("posixpath.", "os.path."),
    ("ntpath.", "os.path."),
    ("io.open", "open"),
    ("codecs.open", "open"),
    ("os.fdopen", "open"),
    ("urllib2.", "urllib.request."),
    ("six.moves.", ""),
    ("cPickle.", "pickle."),
    ("_pickle.", "pickle."),
    ("dill.", "pickle."),
    ("cloudpickle.", "pickle."),
    ("simplejson.", "json."),
    ("pathlib2.", "pathlib."),
    ("pathlib.PosixPath", "pathlib.Path"),
    ("pathlib.PurePath", "pathlib.Path"),
    ("multiprocess.", "multiprocessing."),
    ("subprocess32.", "subprocess."),
    ("gevent.subprocess.", "subprocess."),
    ("gevent.socket.", "socket."),
    ("eventlet.green.socket.", "socket."),
];

pub(super) fn effect(name: &str) -> Option<Effect> {
    files(name)
        .or_else(|| processes(name))
        .or_else(|| code(name))
        .or_else(|| network(name))
        .or_else(|| senders(name))
        .or_else(|| paths(name))
        .or_else(|| values(name))
        .or_else(|| others(name))
}

fn files(name: &str) -> Option<Effect> {
    Some(match name {
        "os.remove"
        | "os.unlink"
        | "os.rmdir"
        | "pathlib.Path.unlink"
        | "pathlib.Path.rmdir"
        | "send2trash.send2trash"
        | "aiofiles.os.remove"
        | "aiofiles.os.unlink" => Effect::Delete,
        "shutil.rmtree"
        | "os.removedirs"
        | "distutils.dir_util.remove_tree"
        | "setuptools._distutils.dir_util.remove_tree"
        | "aioshutil.rmtree" => Effect::DeleteTree,
        "open" | "file" | "os.open" | "gzip.open" | "bz2.open" | "lzma.open" | "tarfile.open"
        | "zipfile.ZipFile" | "aiofiles.open" | "mmap.mmap" | "shelve.open" | "dbm.open"
        | "wave.open" | "PIL.Image.open" | "Image.open" => Effect::Open,
        "linecache.getline"
        | "linecache.getlines"
        | "fileinput.input"
        | "numpy.fromfile"
        | "numpy.loadtxt"
        | "numpy.genfromtxt"
        | "np.loadtxt"
        | "pandas.read_csv"
        | "pandas.read_table"
        | "pandas.read_json"
        | "pandas.read_excel"
        | "pandas.read_fwf"
        | "pd.read_csv"
        | "pd.read_table"
        | "pd.read_json"
        | "dotenv.dotenv_values"
        | "configparser.read"
        | "os.readlink"
        | "pathlib.Path.read_text"
        | "pathlib.Path.read_bytes"
        | "mmap" => Effect::Read,
        "os.truncate" | "shutil.copyfileobj_to" | "os.mknod" | "os.mkfifo" => Effect::Write,
        "os.listdir" | "os.scandir" => Effect::List,
        "os.walk" | "os.fwalk" => Effect::Walk,
        "glob.glob" | "glob.iglob" => Effect::Glob,
        "os.rename" | "os.replace" | "os.renames" | "shutil.move" => Effect::Move,
        "shutil.copy"
        | "shutil.copy2"
        | "shutil.copyfile"
        | "shutil.copytree"
        | "shutil.unpack_archive"
        | "distutils.file_util.copy_file"
        | "distutils.dir_util.copy_tree" => Effect::Copy,
        "os.chmod" | "os.lchmod" | "pathlib.Path.chmod" => Effect::Chmod,
        "os.chown" | "os.lchown" | "shutil.chown" => Effect::Chown,
        "os.symlink" | "os.link" => Effect::Link,
        _ => return None,
    })
}

fn processes(name: &str) -> Option<Effect> {
    Some(match name {
        "os.system"
        | "os.popen"
        | "os.popen2"
        | "os.popen3"
        | "os.popen4"
        | "os.startfile"
        | "commands.getoutput"
        | "commands.getstatusoutput"
        | "subprocess.getoutput"
        | "subprocess.getstatusoutput"
        | "asyncio.create_subprocess_shell"
        | "popen2.popen2"
        | "popen2.popen3"
        | "platform.popen"
        | "pexpect.spawn"
        | "pexpect.run"
        | "invoke.run"
        | "fabric.api.local"
        | "IPython.get_ipython.system"
        | "timeit.os.system"
        | "asyncio.subprocess.create_subprocess_shell" => Effect::Shell,
        "subprocess.Popen"
        | "subprocess.run"
        | "subprocess.call"
        | "subprocess.check_call"
        | "subprocess.check_output" => Effect::Spawn,
        "os.execl"
        | "os.execle"
        | "os.execlp"
        | "os.execlpe"
        | "os.execv"
        | "os.execve"
        | "os.execvp"
        | "os.execvpe"
        | "os.posix_spawn"
        | "os.posix_spawnp"
        | "asyncio.create_subprocess_exec"
        | "asyncio.subprocess.create_subprocess_exec" => Effect::Program,
        "os.spawnl" | "os.spawnle" | "os.spawnlp" | "os.spawnlpe" | "os.spawnv" | "os.spawnve"
        | "os.spawnvp" | "os.spawnvpe" => Effect::SpawnMode,
        "pty.spawn" => Effect::Terminal,
        "os.fork" | "os.forkpty" | "pty.fork" => Effect::Fork,
        "threading.Thread"
        | "multiprocessing.Process"
        | "_thread.start_new_thread"
        | "thread.start_new_thread"
        | "threading.Timer"
        | "multiprocessing.Pool" => Effect::Start,
        "os.kill" | "os.killpg" | "signal.pthread_kill" => Effect::Kill,
        "psutil.process_iter" | "psutil.pids" | "psutil.Process" => Effect::Processes,
        "os.dup2" => Effect::Redirect,
        _ => return None,
    })
}

fn code(name: &str) -> Option<Effect> {
    Some(match name {
        "eval"
        | "exec"
        | "code.InteractiveInterpreter.runcode"
        | "timeit.timeit"
        | "timeit.repeat"
        | "IPython.get_ipython.run_cell"
        | "js2py.eval_js"
        | "types.FunctionType" => Effect::Eval,
        "compile" | "ast.parse" | "codeop.compile_command" => Effect::Compile,
        "execfile" | "runpy.run_path" | "imp.load_source" => Effect::RunFile,
        "pickle.loads" | "pickle.load" | "marshal.loads" | "marshal.load" | "yaml.load"
        | "yaml.unsafe_load" | "yaml.full_load" | "jsonpickle.decode" | "joblib.load"
        | "pandas.read_pickle" | "torch.load" | "shelve.Shelf" => Effect::Unpickle,
        "__import__" | "importlib.import_module" | "importlib.__import__" => Effect::Import,
        "getattr" | "operator.attrgetter" | "inspect.getattr_static" => Effect::GetMember,
        _ => return None,
    })
}

fn network(name: &str) -> Option<Effect> {
    Some(match name {
        "requests.get"
        | "requests.head"
        | "requests.options"
        | "httpx.get"
        | "httpx.head"
        | "urllib.request.urlopen"
        | "urllib.urlopen"
        | "aiohttp.get"
        | "feedparser.parse"
        | "cloudscraper.get"
        | "urllib3.get"
        | "requests.Session.get" => Effect::Fetch,
        "urllib.request.urlretrieve" | "urllib.urlretrieve" | "wget.download" => Effect::Retrieve,
        "requests.post"
        | "requests.put"
        | "requests.patch"
        | "requests.delete"
        | "httpx.post"
        | "httpx.put"
        | "httpx.patch"
        | "aiohttp.post"
        | "requests.Session.post" => Effect::Post,
        "requests.request"
        | "httpx.request"
        | "urllib3.request"
        | "urllib3.PoolManager.request"
        | "requests.Session.request" => Effect::Request,
        "urllib.request.Request" | "requests.Request" => Effect::MakeRequest,
        "socket.socket" | "socket" | "ssl.wrap_socket" | "socks.socksocket" => Effect::Socket,
        "socket.create_connection"
        | "asyncio.open_connection"
        | "telnetlib.Telnet"
        | "websocket.create_connection"
        | "websockets.connect"
        | "websocket.WebSocket"
        | "asyncio.open_unix_connection"
        | "socketio.Client"
        | "pwn.remote" => Effect::Connect,
        "asyncio.start_server"
        | "socketserver.TCPServer"
        | "socketserver.ThreadingTCPServer"
        | "socket.create_server"
        | "websockets.serve" => Effect::Listen,
        _ => return None,
    })
}

/// Returns the effect of constructors of objects that send their arguments.
fn senders(name: &str) -> Option<Effect> {
    Some(match name {
        "requests.Session"
        | "requests.session"
        | "httpx.Client"
        | "httpx.AsyncClient"
        | "aiohttp.ClientSession"
        | "urllib3.PoolManager"
        | "http.client.HTTPConnection"
        | "http.client.HTTPSConnection"
        | "httplib.HTTPConnection"
        | "httplib.HTTPSConnection"
        | "smtplib.SMTP"
        | "smtplib.SMTP_SSL"
        | "ftplib.FTP"
        | "ftplib.FTP_TLS"
        | "paramiko.SSHClient"
        | "paramiko.Transport"
        | "paramiko.SFTPClient.from_transport"
        | "boto3.client"
        | "boto3.resource"
        | "boto3.session.Session"
        | "docker.from_env"
        | "docker.DockerClient"
        | "telegram.Bot"
        | "telebot.TeleBot"
        | "discord.Webhook.from_url"
        | "dhooks.Webhook"
        | "discord_webhook.DiscordWebhook"
        | "slack_sdk.WebClient"
        | "dropbox.Dropbox"
        | "google.cloud.storage.Client"
        | "pysftp.Connection"
        | "yagmail.SMTP"
        | "xmlrpc.client.ServerProxy"
        | "paho.mqtt.client.Client" => Effect::Sender,
        _ => return None,
    })
}

fn paths(name: &str) -> Option<Effect> {
    Some(match name {
        "os.path.join" | "pathlib.Path" | "Path" | "py.path.local" => Effect::JoinPath,
        "pathlib.Path.home" | "Path.home" => Effect::Home,
        "os.path.expanduser" | "os.path.expandvars" => Effect::ExpandHome,
        "os.path.dirname" => Effect::Folder,
        "os.path.basename" => Effect::BaseName,
        "os.path.abspath" | "os.path.realpath" | "os.path.normpath" | "os.fspath"
        | "os.fsdecode" | "os.fsencode" | "shlex.quote" | "pipes.quote" => Effect::Same,
        "os.getcwd" | "os.getcwdu" | "pathlib.Path.cwd" | "Path.cwd" => Effect::WorkingFolder,
        "os.chdir" | "os.fchdir" => Effect::ChangeFolder,
        "tempfile.mkdtemp"
        | "tempfile.mktemp"
        | "tempfile.TemporaryDirectory"
        | "tempfile.gettempdir" => Effect::Temporary,
        "tempfile.NamedTemporaryFile"
        | "tempfile.TemporaryFile"
        | "tempfile.mkstemp"
        | "tempfile.SpooledTemporaryFile" => Effect::TemporaryFile,
        _ => return None,
    })
}

fn values(name: &str) -> Option<Effect> {
    Some(match name {
        "os.getenv" | "os.environ.get" | "environ.get" => Effect::Variable,
        "os.putenv" => Effect::SetVariable,
        "input" | "raw_input" | "sys.stdin.read" | "sys.stdin.readline" => Effect::Input,
        "getpass.getpass" | "keyring.get_password" | "keyring.get_credential" => Effect::Credential,
        "base64.b64decode"
        | "base64.standard_b64decode"
        | "base64.urlsafe_b64decode"
        | "base64.decodebytes"
        | "base64.decodestring"
        | "binascii.a2b_base64" => Effect::Decode(Coding::Base64),
        "base64.b32decode" => Effect::Decode(Coding::Base32),
        "bytes.fromhex" | "bytearray.fromhex" | "binascii.unhexlify" | "binascii.a2b_hex"
        | "base64.b16decode" => Effect::Decode(Coding::Hex),
        "codecs.decode" | "codecs.encode" => Effect::Decode(Coding::Named),
        "urllib.parse.unquote" | "urllib.unquote" | "urllib.parse.unquote_plus" => {
            Effect::Decode(Coding::Percent)
        }
        "zlib.decompress"
        | "gzip.decompress"
        | "bz2.decompress"
        | "lzma.decompress"
        | "base64.b85decode"
        | "base64.a85decode"
        | "binascii.a2b_uu"
        | "cryptography.fernet.Fernet.decrypt" => Effect::Decode(Coding::Packed),
        "os.getpid" => Effect::Itself,
        "chr" | "unichr" => Effect::Character,
        "ord" => Effect::CodePoint,
        "map" => Effect::Map,
        "str"
        | "bytes"
        | "bytearray"
        | "unicode"
        | "repr"
        | "memoryview"
        | "io.StringIO"
        | "io.BytesIO"
        | "textwrap.dedent"
        | "shlex.join"
        | "ascii"
        | "contextlib.closing"
        | "asyncio.run"
        | "asyncio.ensure_future"
        | "asyncio.create_task"
        | "asyncio.wait_for" => Effect::Same,
        "list" | "tuple" | "set" | "sorted" | "reversed" | "iter" | "next" | "filter" | "zip"
        | "enumerate" | "frozenset" | "itertools.chain" | "tqdm" | "tqdm.tqdm" | "shlex.split"
        | "dict" | "asyncio.gather" => Effect::Items,
        "len" | "bool" | "isinstance" | "type" | "id" | "hash" | "range" | "int" | "float"
        | "hashlib.md5" | "hashlib.sha1" | "hashlib.sha256" | "hashlib.sha512"
        | "os.path.exists" | "os.path.isfile" | "os.path.isdir" | "os.path.getsize"
        | "os.access" | "os.stat" | "time.sleep" | "hasattr" | "callable" | "abs" | "sum"
        | "min" | "max" | "any" | "all" => Effect::Clean,
        _ => return None,
    })
}

fn others(name: &str) -> Option<Effect> {
    Some(match name {
        "sqlite3.connect" | "aiosqlite.connect" | "apsw.Connection" => Effect::Database("sqlite"),
        "psycopg2.connect" | "psycopg.connect" | "asyncpg.connect" | "pg8000.connect" => {
            Effect::Database("postgres")
        }
        "pymysql.connect" | "MySQLdb.connect" | "mysql.connector.connect" | "aiomysql.connect" => {
            Effect::Database("mysql")
        }
        "pyodbc.connect" | "pymssql.connect" => Effect::Database("sqlserver"),
        "cx_Oracle.connect" | "oracledb.connect" => Effect::Database("oracle"),
        "duckdb.connect" => Effect::Database("duckdb"),
        "sqlalchemy.create_engine" | "sqlalchemy.text" => Effect::Database("generic"),
        "print" | "sys.stdout.write" | "sys.stderr.write" | "pprint.pprint" | "logging.info"
        | "logging.debug" | "logging.warning" | "logging.error" | "pprint" => Effect::Print,
        "browser_cookie3.chrome"
        | "browser_cookie3.firefox"
        | "browser_cookie3.load"
        | "browser_cookie3.edge"
        | "win32crypt.CryptUnprotectData"
        | "secretstorage.dbus_init"
        | "secretstorage.get_default_collection"
        | "spwd.getspall"
        | "spwd.getspnam"
        | "pwd.getpwall"
        | "keyring.get_keyring" => Effect::FindSecrets,
        "pynput.keyboard.Listener"
        | "keyboard.hook"
        | "keyboard.on_press"
        | "keyboard.record"
        | "pyautogui.screenshot"
        | "PIL.ImageGrab.grab"
        | "ImageGrab.grab"
        | "mss.mss"
        | "pyscreenshot.grab"
        | "pyperclip.paste"
        | "pyHook.HookManager"
        | "cv2.VideoCapture"
        | "sounddevice.rec"
        | "pynput.mouse.Listener" => Effect::Capture,
        "crontab.CronTab" => Effect::Schedule,
        "exit" | "quit" | "sys.exit" | "os._exit" => Effect::Clean,
        _ => return None,
    })
}
