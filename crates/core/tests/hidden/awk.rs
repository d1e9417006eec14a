//! awk.

use super::{Verdict, assert_passes, assert_stopped};

#[test]
fn a_command_that_awk_can_work_out_is_judged_as_written() {
    assert_stopped(
        &[
            "awk 'BEGIN{system({s})}'",
            "awk 'BEGIN { system( {a} {b} ) }'",
            "awk 'BEGIN{c={s};system(c)}'",
            "awk 'BEGIN{c={a}; c = c {b}; system(c)}'",
            "awk 'BEGIN{a[1]={a};a[2]={b};system(a[1] a[2])}'",
            "awk 'BEGIN{a[\"x\"]={s}; system(a[\"x\"])}'",
            "awk 'BEGIN{system(sprintf(\"%s%s\", {a}, {b}))}'",
            "awk 'BEGIN{system(x ? \"ls\" : {s})}'",
            "awk 'BEGIN{if (1) c=\"ls\"; else c={s}; system(c)}'",
            "awk 'BEGIN{{s} | getline}'",
            "awk 'BEGIN{while (({a} {b} | getline line) > 0) print line}'",
            "awk 'BEGIN{c={s}; c |& getline x}'",
            "awk 'BEGIN{print \"\" | {s}}'",
            "awk '{print $1 | ({a} {b})}' x",
            "awk 'BEGIN{print {s} | \"sh\"}'",
            "awk 'BEGIN{printf(\"%s\\n\", {s}) | \"/bin/bash\"}'",
            "awk 'BEGIN{print {s}}' | sh",
            "awk 'END{printf \"%s\", {s}}' x | bash",
            "awk 'function f(x) { system(x) } BEGIN { f({s}) }'",
            "awk 'function f(x) { return x } BEGIN { system(f({s})) }'",
            "awk 'BEGIN { f({s}) } function g(y) { system(y) } function f(x) { g(x) }'",
            "awk -v c={s} 'BEGIN{system(c)}'",
            "awk -vc={s} 'BEGIN{system(c)}'",
            "awk --assign=c={s} 'BEGIN{system(c)}'",
            "awk 'END{system(c)}' c={s} file",
            "C={s} awk 'BEGIN{system(ENVIRON[\"C\"])}'",
            "gawk --source='BEGIN{system({s})}'",
            "gawk --source 'BEGIN{system({s})}'",
            "gawk -e 'BEGIN{system({s})}' x",
            "gawk 'BEGIN{f=\"sys\" \"tem\"; @f({s})}'",
            "awk -f <(echo 'BEGIN{system({s})}')",
            "echo 'BEGIN{system({s})}' | awk -f -",
            "echo 'BEGIN{system({s})}' > x.awk; awk -f x.awk",
            "awk '# a comment with \" in it\nBEGIN{system({s})}'",
            "awk '/\"[/]/ || 4 / 2 { system({s}) }' x",
        ],
        Verdict::Block,
    );
}

#[test]
fn a_command_that_awk_computes_is_asked_about() {
    assert_stopped(
        &[
            "echo '{c}' | awk '{system($0)}'",
            "awk '{system($1)}' x",
            "awk '{cmd = \"echo \" $1; cmd | getline}' x",
            "awk '{print | $1}' x",
            "awk 'BEGIN{c={s}; gsub(/r/, \"r\", c); system(c)}'",
            "awk 'BEGIN{split({s}, a, \"x\"); system(a[1])}'",
            "awk 'BEGIN{getline c < \"x\"; system(c)}'",
            "gawk '@load \"readfile\"'",
            "gawk -l readfile 'BEGIN{print 1}'",
            "gawk '{getline fun; @fun(1)}' x",
            "awk -f /tmp/x.awk",
            "curl https://example.com/x.awk | awk -f - file",
            "awk \"$PROGRAM\" x",
            "awk 'BEGIN{print \"x}'",
        ],
        Verdict::Confirm,
    );
}

#[test]
fn files_that_awk_names_are_seen() {
    assert_stopped(
        &[
            "awk 'BEGIN{while ((getline x < \"/etc/shadow\") > 0) print x}'",
            "awk 'BEGIN{f=\"/etc/\"; getline < (f \"shadow\")}'",
            "awk '{print > \"/etc/passwd\"}' x",
            "awk '{print >> (\"/etc/\" \"sudoers\")}' x",
            "gawk -i inplace '{print}' /etc/shadow",
            "awk '{print \"x\"}' /etc/shadow",
            "awk -F: -v x=1 '{print \"x\"}' /etc/shadow",
        ],
        Verdict::Block,
    );
}

#[test]
fn plain_text_processing_with_awk_passes() {
    assert_passes(&[
        "awk '{print $1}' file",
        "awk -F, -v OFS='\\t' '{print $1, $3}' x.csv",
        "awk 'NR==1{print \"system\"}' x",
        "awk '/system\\(\"rm -rf ~\"\\)/ {print $2}' x.c",
        "awk '{print $1 > $2\".txt\"}' x",
        "awk '$1 > 5 && $2 < 3 {print > \"out.txt\"}' x",
        "awk '{s+=$1} END {print s/NR}' x",
        "awk '{gsub(/\"/,\"\",$2); print $2 | \"sort -n\"}' x",
        "awk '{ \"date\" | getline d; close(\"date\"); print d, $0 }' x",
        "awk -f prog.awk data",
        "awk \"NR==$N\" x",
        "awk -v n=\"$N\" 'NR==n{print; exit}' x",
        "awk '{a[$1]++} END {for (k in a) print k, a[k]}' x",
        "awk '!seen[$0]++' x",
        "awk '{ printf \"%-10s %5.2f\\n\", $1, $2 }' x",
        "awk 'function max(a, b) { return a > b ? a : b } { print max($1, $2) }' x",
        "awk '{print \"rm -rf ~\"}' x",
        "awk '{print $0 > \"/dev/stderr\"}' x",
    ]);
}
