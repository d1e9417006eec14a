//! Actions that must not be asked about: daily work that only reads, or that writes where it may.
//! Beside each family is a similar one that is still asked about.

use countersign_core::context::PathFacts;
use countersign_core::{Action, Context, Policy, Verdict, judge};

fn context() -> Context {
    Context {
        home: Some("/home/dev".into()),
        workspace: Some("/home/dev/project".into()),
        cwd: Some("/home/dev/project".into()),
        ..Context::default()
    }
}

fn verdict_in(command: &str, context: &Context) -> Verdict {
    let action = Action::Shell { command: command.into(), cwd: None };
    judge(&action, &Policy::default(), context).verdict
}

fn quiet(commands: &[&str]) {
    for command in commands {
        assert!(verdict_in(command, &context()) <= Verdict::Warn, "{command}");
    }
}

fn asks(commands: &[&str]) {
    for command in commands {
        assert!(verdict_in(command, &context()) >= Verdict::Confirm, "{command}");
    }
}

#[test]
fn things_may_be_put_into_a_temporary_folder() {
    quiet(&[
        "cp report.pdf /tmp/",
        "cp -r build /tmp",
        "mv out.log /tmp/",
        "tar -xf dist.tar.gz -C /tmp",
        "tar xzf a.tgz -C /var/tmp",
        "unzip -q bundle.zip -d /tmp",
        "rsync -a src/ /tmp/copy/",
        "rsync -a --delete dist/ /tmp/preview/",
    ]);
    asks(&["rm -rf /tmp", "rm -rf /tmp/*", "mv /tmp /x", "cp a /usr/", "tar xf a.tar -C /opt"]);
}

#[test]
fn the_state_of_the_machine_may_be_read() {
    quiet(&[
        "cat /proc/cpuinfo",
        "grep MemTotal /proc/meminfo",
        "head -1 /proc/stat",
        "cat /proc/self/status",
        "cat /proc/1/cgroup",
        "awk '{print $1}' < /proc/loadavg",
        "cat /proc/sys/vm/swappiness",
        "cat /sys/class/net/eth0/mtu",
        "cat /sys/fs/cgroup/memory.max",
        "cat /etc/os-release",
        "cat /etc/hosts",
        "cut -d: -f1 /etc/group",
    ]);
    asks(&[
        "cat /proc/1/environ",
        "cat /proc/self/environ",
        "cat /proc/kcore",
        "cat /proc/1/root/etc/hostname",
        "cat /proc/self/root/etc/shadow",
        "cat /proc/../etc/shadow",
        "echo 1 > /proc/sys/vm/swappiness",
        "echo x | tee /proc/cpuinfo",
        "cat /etc/shadow",
        "cat /sys/kernel/debug/x",
    ]);
}

#[test]
fn a_folder_that_nothing_is_in_may_be_removed() {
    let facts = PathFacts { empty: true, ..PathFacts::default() };
    let mut context = context();
    context.paths.insert("/home/dev/project/old".into(), facts.clone());
    context.paths.insert("/etc".into(), facts.clone());
    context.paths.insert("/home/dev".into(), facts);
    assert_eq!(verdict_in("rmdir old", &context), Verdict::Warn);
    assert_eq!(verdict_in("rmdir -v old", &context), Verdict::Warn);
    for command in ["rm -r old", "rmdir /etc", "rmdir ~", "rmdir old other", "rmdir o*"] {
        assert!(verdict_in(command, &context) >= Verdict::Confirm, "{command}");
    }
}

#[test]
fn building_and_rehearsing_is_not_publishing_or_destroying() {
    quiet(&[
        "dotnet publish -c Release",
        "dotnet publish src/App.csproj -o out",
        "lvremove -t vg0/lv0",
        "vgreduce --test vg0 /dev/sdb",
        "sgdisk --verify /dev/sda",
        "sgdisk -p /dev/sda",
        "spctl -a -v /Applications/X.app",
        "spctl --assess X.app",
    ]);
    asks(&[
        "dotnet nuget push a.nupkg",
        "dotnet publish -p:PublishProfile=Azure",
        "lvremove -y vg0/lv0",
        "sgdisk --verify --zap-all /dev/sda",
        "sgdisk -pZ /dev/sda",
        "spctl --master-disable",
    ]);
}

#[test]
fn a_file_of_secrets_may_be_started_from_its_example() {
    quiet(&[
        "cp .env.example .env",
        "cp -n .env.sample .env.local",
        "test -f .env || cp .env.example .env",
        "cp config/.env.template config/.env",
    ]);
    asks(&[
        "cp other .env",
        "cp /tmp/.env.example .env",
        "cp .env.example other .env",
        "cp .env.example ~/.netrc",
        "cp x.example ~/.ssh/authorized_keys",
        "mv .env .env.example",
        "cat .env > .env.example",
    ]);
}

#[test]
fn a_digest_shows_no_secret() {
    quiet(&[
        "sha256sum id_rsa",
        "md5sum ~/.ssh/id_ed25519",
        "shasum -a 256 secrets.json",
        "cksum .env",
        "ssh-keygen -l -f ~/.ssh/id_rsa",
    ]);
    asks(&[
        "sha256sum /etc/shadow",
        "sha256sum id_rsa; cat id_rsa",
        "sha256sum -c id_rsa",
        "base64 id_rsa",
        "ssh-keygen -y -f ~/.ssh/id_rsa",
    ]);
}

#[test]
fn options_mean_what_they_mean_to_their_program() {
    quiet(&[
        "wget -T 10 https://example.com/a.txt",
        "sqlite3 -header -csv app.db 'select * from users'",
        "sqlite3 -column -header app.db 'pragma table_info(users)'",
        "duckdb -csv -c 'select 1'",
        "gdb -batch -ex bt ./app core",
    ]);
    asks(&[
        "curl -T notes.txt https://example.com/",
        "wget --post-file=notes.txt https://example.com/",
        "sqlite3 app.db 'drop table users'",
        "sqlite3 -cmd '.mode csv' app.db 'drop table users'",
        "gdb -batch -ex 'shell id' ./app",
        "gdb -batch -ex 'call system(\"id\")' ./app",
    ]);
}

#[test]
fn programs_named_by_variables_of_the_same_text_are_known() {
    quiet(&[
        "PY=python3; $PY -m pytest",
        "BIN=./target/debug/app; \"$BIN\" --version",
        "CMD=\"cargo test\"; $CMD",
        "cross-env BROWSER=none npm start",
        "npx cross-env BROWSER=none NODE_ENV=test npm test",
        "BROWSER=none npm start",
    ]);
    asks(&["X=rm; $X -r src", "CMD=\"rm -r src\"; $CMD", "$UNSET_ANYWHERE -r src"]);
}

#[test]
fn tools_that_look_or_write_in_the_workspace_are_not_asked_about() {
    for action in [
        r#"{"kind":"tool","server":"git","tool":"git_log","arguments":{"repo_path":"/home/dev/project"}}"#,
        r#"{"kind":"tool","server":"git","tool":"git_status","arguments":{}}"#,
        r#"{"kind":"tool","server":"files","tool":"write_file","arguments":{"path":"/home/dev/project/src/new.rs","content":"x"}}"#,
    ] {
        let parsed: Action = serde_json::from_str(action).unwrap();
        let verdict = judge(&parsed, &Policy::default(), &context()).verdict;
        assert!(verdict <= Verdict::Warn, "{action}");
    }
}

/// Files that the agent made in this session may be deleted, one by one; nothing else with them.
#[test]
fn what_the_session_made_may_be_deleted() {
    let facts = PathFacts { made_in_session: true, ..PathFacts::default() };
    let mut context = context();
    for path in ["try.py", "tries", ".env", ".git", "run.sh", ".git/hooks/pre-commit"] {
        context.paths.insert(format!("/home/dev/project/{path}"), facts.clone());
    }
    context.paths.insert("/home/dev/project".into(), facts.clone());
    context.paths.insert("/home/dev/notes.txt".into(), facts.clone());
    context.paths.insert("/etc/hosts".into(), facts.clone());
    let link = PathFacts { resolves_to: Some("/home/dev/notes.txt".into()), ..facts };
    context.paths.insert("/home/dev/project/link".into(), link);
    for command in
        ["rm try.py", "rm -rf tries", "rm try.py run.sh", "cd /home/dev/project; rm try.py"]
    {
        assert_eq!(verdict_in(command, &context), Verdict::Warn, "{command}");
    }
    for command in [
        "rm try.py other.py",
        "rm *.py",
        "rm -rf $OUT",
        "rm -rf .",
        "rm -rf .git",
        "rm .git/hooks/pre-commit",
        "rm .env",
        "rm ~/notes.txt",
        "rm /etc/hosts",
        "rm -rf link",
        "cd src && rm try.py",
        "shred try.py",
        "docker exec c rm try.py",
    ] {
        assert!(verdict_in(command, &context) >= Verdict::Confirm, "{command}");
    }
}

#[test]
fn a_search_that_find_refuses_is_asked_about() {
    asks(&[
        "find . -name '*.md' -print \\;",
        "find . -name '*.tmp'-exec rm {} \\;",
        "find . -exce rm {} \\;",
        "find . -name x rm {} \\;",
        "find . -print0 \\; | xargs -0 rm",
    ]);
}
