//! sed.

use super::{Verdict, assert_passes, assert_stopped};

#[test]
fn a_command_in_a_sed_script_is_judged_as_written() {
    assert_stopped(
        &[
            "sed '1e {c}' x",
            "sed '/x/e {c}' x",
            "sed '/a/,/b/ {\ne {c}\n}' x",
            "sed 'p;$!e {c}' x",
            "sed -n -e p -e 'e {c}' x",
            "sed -ne 'e {c}' x",
            "sed --expression='e {c}' x",
            "sed -f <(echo '1e {c}') x",
            "echo '1e {c}' > s.sed; sed -f s.sed x",
            "echo 'e {c}' | sed -f - x",
            "gsed -i 'e {c}' x",
        ],
        Verdict::Block,
    );
}

#[test]
fn files_that_sed_names_are_seen() {
    assert_stopped(
        &[
            "sed -n 'w /etc/passwd' x",
            "sed 's/a/b/gw /etc/passwd' x",
            "sed 's|/a|/b|w /etc/sudoers' x",
            "sed '/x/{s/a/b/;w /etc/sudoers\n}' x",
            "sed '$r /etc/shadow' x",
            "sed 's/a/b/' /etc/shadow",
            "sed -Ei.bak -e 's/a/b/' /etc/shadow",
        ],
        Verdict::Block,
    );
    assert_stopped(
        &[
            "sed 's/x/{c}/e' x",
            "echo '{c}' | sed e",
            "sed -i d *",
            "sed -i '1,$d' x",
            "sed \"$S\" x",
            "sed -f /tmp/x.sed x",
        ],
        Verdict::Confirm,
    );
}

#[test]
fn plain_editing_with_sed_passes() {
    assert_passes(&[
        "sed -n '1,5p' x",
        "sed 's,/etc/passwd,/etc/shadow,' x",
        "sed '/\\/etc\\/shadow/d' x",
        "sed -i 's/a/b/g' src/main.rs",
        "sed -i '' 's/a/b/g' src/main.rs",
        "sed -i .bak 's/a/b/g' src/main.rs",
        "sed -e 's/e rm -rf ~/w x/' -e '/^$/d' x",
        "sed 'a e rm -rf ~' x",
        "sed \"s/x/$Y/\" x",
        "sed \"${N}q;d\" x",
        "sed -E 's/([a-z]+) ([a-z]+)/\\2 \\1/' x",
        "sed '/a/,/b/{/a/n;/b/!d}' x",
        "sed ':a;N;$!ba;s/\\n/,/g' x",
        "sed -f script.sed x",
    ]);
}
