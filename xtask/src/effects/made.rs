//! Scripts of our own: some operations, each run in several ways.

/// Operations on planted files, whose effects are obvious to a reader.
const OPERATIONS: &[&str] = &[
    "rm notes.txt",
    "rm -rf build",
    "rm -f ~/.netrc",
    "unlink data.csv",
    "rmdir -p empty/inner",
    "mv notes.txt moved.txt",
    "mv notes.txt data.csv src",
    "cp -r src copy",
    "cp ~/.ssh/id_rsa key",
    "install -m 600 notes.txt kept.txt",
    "echo x > out.txt",
    "echo x >> notes.txt",
    "cat ~/.aws/credentials",
    "grep -c not .env",
    "head -1 /etc/shadow",
    "sort -o sorted.txt notes.txt",
    "sed -i s/a/b/ notes.txt",
    "sed -n w\\ lines.txt notes.txt",
    "awk '{ print > \"printed.txt\" }' notes.txt",
    "tee one.txt two.txt",
    "truncate -s 0 notes.txt",
    "dd if=notes.txt of=copied.txt status=none",
    "ln -s notes.txt link.txt",
    "ln notes.txt hard.txt",
    "touch new.txt",
    "mkdir -p deep/er/folder",
    "chmod 600 notes.txt",
    "find logs -name '*.log' -delete",
    "find build -type f -exec rm {} +",
    "tar -cf all.tar src",
    "split -l 1 notes.txt part-",
    "shred -u data.csv",
    "gzip -k notes.txt",
    "python3 -c 'open(\"made.txt\", \"w\").write(\"x\")'",
    "perl -i -pe s/a/b/ notes.txt",
    "sleep 3 & kill $!",
    "mkfifo pipe",
    "patch -o patched.txt notes.txt /dev/null",
    "uniq notes.txt unique.txt",
    "iconv -f utf-8 -t latin1 -o converted.txt notes.txt",
    "tr a b < notes.txt > translated.txt",
    "grep -f notes.txt data.csv",
    "grep -e a -e b notes.txt data.csv",
    "awk -F, -f src/sum.awk data.csv",
    "gzip data.csv",
    "bzip2 -k notes.txt",
    "xz -k notes.txt",
    "gcc -c src/one.c -o one.o",
    "openssl dgst -sha256 -out digest.txt notes.txt",
    "openssl base64 -in notes.txt -out encoded.txt",
    "python3 src/main.py --output result.txt",
    "bash run.sh",
    "./run.sh",
    "perl -ne print notes.txt",
    "xxd notes.txt dump.txt",
    "base64 notes.txt",
    "comm notes.txt data.csv",
    "join notes.txt data.csv",
    "diff -u notes.txt data.csv",
    "csplit -f piece- notes.txt 2",
    "cd src && touch inside.txt",
    "cp -t copies notes.txt data.csv",
    "mv -t logs notes.txt",
    "install -d made/here",
    "rsync -a src/ mirror",
    "git diff --no-index notes.txt data.csv",
    "tar -xf none.tar || tar -cf some.tar notes.txt",
    "curl -s http://127.0.0.1:9/x",
    "wget -q -O fetched.txt http://127.0.0.1:9/x",
    "getent hosts example.invalid",
    "ssh -o BatchMode=yes box.invalid true",
];

/// Ways to run an operation; `{}` is the operation, `{q}` the operation as one word.
const WAYS: &[&str] = &[
    "{}",
    "cd src && cd .. && {}",
    "bash -c {q}",
    "f() { {}; }; f",
    "for i in 1; do {}; done",
    "if test -e README.md; then {}; else :; fi",
    "X={q}; eval \"$X\"",
    "( {} )",
    "echo {q} | sh",
    "bash <<'END'\n{}\nEND",
    "true | {}",
    "timeout 5 env A=1 {}",
    "find . -maxdepth 0 -exec sh -c {q} \\;",
    "printf '%s\\n' {q} > job.sh; bash job.sh",
];

/// Returns every operation in every way.
pub(crate) fn scripts() -> Vec<String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let make = |operation: &str, way: &str| {
        let filled = way.replacen("{q}", &quoted(operation), 1);
        if filled == way { way.replacen("{}", operation, 1) } else { filled }
    };
    let all = OPERATIONS.iter().flat_map(|operation| WAYS.iter().map(|way| make(operation, way)));
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_stands_in_every_way() {
        let all = scripts();
        assert_eq!(all.len(), OPERATIONS.len() * WAYS.len());
        assert!(all.contains(&"bash -c 'rm -rf build'".to_owned()));
        assert!(all.contains(&"f() { find build -type f -exec rm {} +; }; f".to_owned()));
        assert!(all.iter().all(|script| !script.contains("{q}")));
    }
}
