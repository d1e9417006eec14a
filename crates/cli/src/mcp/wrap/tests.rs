use proptest::prelude::*;

use super::*;
use crate::host::servers::{CODEX, OPENCODE, Reached, Spoken, USUAL, VSCODE};

const PROGRAM: &str = "/usr/bin/countersign";

const HTTP_FIRST: Layout =
    Layout { urls: &[("httpUrl", Spoken::Http), ("url", Spoken::Sse)], ..USUAL };
const TYPED: Layout = Layout {
    urls: &[("url", Spoken::Sse)],
    kind: Some(Reached { field: "type", program: "stdio", http: "streamableHttp" }),
    ..USUAL
};

fn how(only: &[String]) -> How<'_> {
    How { program: PROGRAM, only }
}

/// Wraps twice and unwraps: the second time changes nothing, and the text is restored.
#[track_caller]
fn there_and_back(text: &str, layout: &Layout) -> String {
    let wrapped = wrap(text, layout, &how(&[])).unwrap();
    let again = wrap(&wrapped.text, layout, &how(&[])).unwrap();
    assert_eq!(again.text, wrapped.text);
    assert!(again.servers.iter().all(|(_, became)| *became != Became::Changed), "{again:?}");
    let back = unwrap(&wrapped.text, layout, &how(&[])).unwrap();
    assert_eq!(back.text, text, "through {}", wrapped.text);
    wrapped.text
}

fn became(text: &str, layout: &Layout) -> Vec<(String, Became)> {
    wrap(text, layout, &how(&[])).unwrap().servers
}

#[track_caller]
fn stays(text: &str, layout: &Layout, because: &str) {
    let wrapped = wrap(text, layout, &how(&[])).unwrap();
    assert_eq!(wrapped.text, text);
    let [(_, Became::Left(why))] = wrapped.servers.as_slice() else { panic!("{wrapped:?}") };
    assert!(why.contains(because), "{why}");
}

#[test]
fn a_program_gets_the_proxy_in_front_and_keeps_everything_else() {
    let text = r#"{
  // mine
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "server-files"], "env": {"A": "1"}, "x": [1,]},
    "bare": { "command" : "time" },
    "lines": {
      "type": "stdio",
      "command": "uvx",
      "args": [
        "weather" // sunny
      ],
      "cwd": "/w"
    },
    "none": {"command": "a", "args": [ ]}
  },
}
"#;
    let wrapped = there_and_back(text, &USUAL);
    let expected = r#"{
  // mine
  "mcpServers": {
    "files": {"command": "/usr/bin/countersign", "args": ["mcp", "proxy", "--name", "files", "--", "npx", "-y", "server-files"], "env": {"A": "1"}, "x": [1,]},
    "bare": { "command" : "/usr/bin/countersign", "args": ["mcp", "proxy", "--name=bare", "--", "time"] },
    "lines": {
      "type": "stdio",
      "command": "/usr/bin/countersign",
      "args": ["mcp", "proxy", "--name", "lines", "--", "uvx",
        "weather" // sunny
      ],
      "cwd": "/w"
    },
    "none": {"command": "/usr/bin/countersign", "args": ["mcp", "proxy", "--name", "none", "--", "a" ]}
  },
}
"#;
    assert_eq!(wrapped, expected);
}

#[test]
fn headers_become_variables_and_no_secret_a_word() {
    let text = r#"{"servers": {"linear": {
    "type": "http", "url": "https://mcp.example.com/mcp",
    "headers": {"Authorization": "Bearer ${input:token}", "X-Team": "a"}, "gallery": true
}}}"#;
    let wrapped = there_and_back(text, &VSCODE);
    let expected = r#"{"servers": {"linear": {
    "type": "stdio", "command": "/usr/bin/countersign", "args": ["mcp", "proxy", "--name", "linear", "--http", "https://mcp.example.com/mcp", "--header-from", "Authorization=COUNTERSIGN_HEADER_AUTHORIZATION", "--header-from", "X-Team=COUNTERSIGN_HEADER_X_TEAM"],
    "env": {"COUNTERSIGN_HEADER_AUTHORIZATION": "Bearer ${input:token}", "COUNTERSIGN_HEADER_X_TEAM": "a"}, "gallery": true
}}}"#;
    assert_eq!(wrapped, expected);
}

#[test]
fn every_shape_of_a_host_comes_back() {
    let here = r#""http://localhost:3000/mcp""#;
    for (text, layout) in [
        (format!("{{\"mcpServers\": {{\"a\": {{\"httpUrl\": {here}}}}}}}"), &HTTP_FIRST),
        (
            format!("{{\"mcpServers\": {{\"a\": {{\"url\": {here}, \"type\": \"http\"}}}}}}"),
            &HTTP_FIRST,
        ),
        (
            format!("{{\"mcpServers\":{{\"a\":{{\"type\":\"streamableHttp\",\"url\":{here}}}}}}}"),
            &TYPED,
        ),
        (
            format!("{{\"mcp\": {{\"a\": {{\"type\": \"remote\", \"url\" : {here}, \"enabled\": true}}}}}}"),
            &OPENCODE,
        ),
        (
            "{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\n\"bun\", \"x\"], \"environment\": {}}}}"
                .to_owned(),
            &OPENCODE,
        ),
        ("{\"mcp\": {\"a\": {\"command\": [\"bun\"]}}}".to_owned(), &OPENCODE),
    ] {
        let wrapped = there_and_back(&text, layout);
        assert_ne!(wrapped, text);
    }
}

#[test]
fn tables_of_toml_are_wrapped_where_they_stand() {
    let text = "model = \"x\"\n\n[mcp_servers.files]\ncommand = 'npx' # fast\nargs = [\"-y\",\n  \"f\"]\n\
                [mcp_servers.files.env]\nKEY = \"v\"\n\n[mcp_servers.bare]\ncommand = \"time\" # c\n\
                [mcp_servers.gh]\nurl = \"https://api.example.com/mcp/\"\n\
                bearer_token_env_var = \"GH_TOKEN\"\nstartup_timeout_sec = 20\n\
                [mcp_servers]\ninline = { command = \"a\" }\n";
    let wrapped = there_and_back(text, &CODEX);
    let expected = "model = \"x\"\n\n[mcp_servers.files]\ncommand = \"/usr/bin/countersign\" # fast\n\
                args = [\"mcp\", \"proxy\", \"--name\", \"files\", \"--\", 'npx', \"-y\",\n  \"f\"]\n\
                [mcp_servers.files.env]\nKEY = \"v\"\n\n[mcp_servers.bare]\n\
                command = \"/usr/bin/countersign\" # c\n\
                args = [\"mcp\", \"proxy\", \"--name=bare\", \"--\", \"time\"]\n\
                [mcp_servers.gh]\ncommand = \"/usr/bin/countersign\"\nargs = [\"mcp\", \"proxy\", \
                \"--name\", \"gh\", \"--http\", \"https://api.example.com/mcp/\", \"--header\", \
                \"Authorization: Bearer ${GH_TOKEN}\"]\n\
                env_vars = [\"GH_TOKEN\"]\nstartup_timeout_sec = 20\n\
                [mcp_servers]\ninline = { command = \"/usr/bin/countersign\", args = [\"mcp\", \
                \"proxy\", \"--name=inline\", \"--\", \"a\"] }\n";
    assert_eq!(wrapped, expected);
    there_and_back("[mcp_servers.a]\r\ncommand = \"x\"\r\n[b]\r\n", &CODEX);
    there_and_back("[mcp_servers.a]\ncommand = \"x\"", &CODEX);
    stays("mcp_servers.a.command = \"x\"\n", &CODEX, "not supported");
    stays(
        "[mcp_servers.a]\nurl = \"https://x.example\"\n[mcp_servers.a.http_headers]\nX = \"1\"\n",
        &CODEX,
        "http_headers",
    );
}

#[test]
fn everything_else_in_a_file_of_toml_keeps_its_bytes() {
    let text = "\u{feff}# top\r\nmodel . name = 'x'  # é\r\n\r\n[[profiles]]\r\na = 1\r\n\
                [[profiles]] # second\r\n\r\n[mcp_servers.a] # here\r\n# above\r\n\
                command\t=  \"n\\u0070x\" # beside\r\nargs = [ # first\r\n  'y', # last\r\n]\r\n\
                env.KEY = 'v'\r\n[z]\r\nat = 2026-11-16T06:00:00Z\r\n";
    let wrapped = there_and_back(text, &CODEX);
    for kept in [
        "\u{feff}# top\r\nmodel . name = 'x'  # é\r\n\r\n[[profiles]]\r\na = 1\r\n[[profiles]] # second\r\n",
        "[mcp_servers.a] # here\r\n# above\r\ncommand\t=  ",
        " # beside\r\nargs = [",
        "  'y', # last\r\n]\r\nenv.KEY = 'v'\r\n[z]\r\nat = 2026-11-16T06:00:00Z\r\n",
    ] {
        assert!(wrapped.contains(kept), "{wrapped}");
    }
    assert!(!wrapped.replace("\r\n", "").contains('\n'), "{wrapped:?}");
    there_and_back("mcp_servers = { a = { command = \"x\" } } # c\n", &CODEX);
    stays("[mcp_servers]\na.command = \"x\"\n", &CODEX, "not supported");
}

#[test]
fn what_the_proxy_cannot_do_is_left_alone() {
    let entry = |fields: &str| format!("{{\"mcpServers\": {{\"a\": {{{fields}}}}}}}");
    let url = |url: &str| format!("\"url\": \"{url}\"");
    let public = url("https://mcp.example.com/mcp");
    let key = ["sk", "live", "51H8xk2eZvKYlo2C"].join("_");
    for (fields, because) in [
        (public.clone(), "OAuth"),
        (
            format!("{public}, \"oauth\": {{\"clientId\": \"x\"}}, \"headers\": {{\"A\": \"b\"}}"),
            "OAuth",
        ),
        (format!("{public}, \"type\": \"sse\""), "SSE"),
        (url("https://mcp.example.com/sse"), "SSE"),
        (url("http://mcp.example.com/mcp"), "not encrypted"),
        (url(&format!("https://mcp.example.com/mcp?api_key={key}")), "secret"),
        (url("https://mcp.example.com/s/0a1b2c3d4e5f6071829304/mcp"), "secret"),
        (url("https://me:pass@mcp.example.com/mcp"), "secret"),
        (url("https://mcp.example.com/?key=${KEY}"), "secret"),
        (url("ws://mcp.example.com/mcp"), "neither"),
        (format!("{public}, \"type\": \"carrier-pigeon\""), "not known"),
        (format!("{public}, \"headersHelper\": \"./token.sh\""), "headersHelper"),
        (format!("{public}, \"headers\": {{\"Host\": \"x\"}}"), "Host"),
        (format!("{public}, \"headers\": {{\"A\": \"b\"}}, \"env\": {{}}"), "variables"),
        (format!("{public}, \"headers\": {{\"A-B\": \"b\", \"A_B\": \"c\"}}"), "passed on"),
        ("\"x\": 1".to_owned(), "neither"),
        ("\"command\": 3".to_owned(), "list of strings"),
        ("\"command\": \"a\", \"args\": \"b c\"".to_owned(), "list of strings"),
    ] {
        stays(&entry(&fields), &USUAL, because);
    }
    stays(&entry(&url("https://x.example")), &TYPED, "SSE");
    // A server that is named explicitly is wrapped.
    let only = ["a".to_owned()];
    let text = entry(&public);
    let wrapped = wrap(&text, &USUAL, &how(&only)).unwrap();
    assert_eq!(wrapped.servers, [("a".to_owned(), Became::Changed)]);
    assert_eq!(unwrap(&wrapped.text, &USUAL, &how(&only)).unwrap().text, text);
}

#[test]
fn servers_of_every_project_are_found_and_our_own_left() {
    const OWN: Layout =
        Layout { places: &[&["mcpServers"], &["projects", "*", "mcpServers"]], ..USUAL };
    let text = r#"{"mcpServers": {"a": {"command": "x"}, "us": {"command": "countersign", "args": ["mcp", "serve"]}},
      "projects": {"/p": {"mcpServers": {"github.com/x/y": {"command": "y"}}}, "/q": {"history": []}}}"#;
    let names: Vec<_> = became(text, &OWN).into_iter().collect();
    assert_eq!(
        names,
        [
            ("a".to_owned(), Became::Changed),
            ("us".to_owned(), Became::Same),
            ("github.com/x/y".to_owned(), Became::Changed),
        ]
    );
    assert_eq!(unguarded(text, &OWN).unwrap(), ["a", "github.com/x/y"]);
    let wrapped = there_and_back(text, &OWN);
    assert!(wrapped.contains("\"--name=github.com.x.y\""), "{wrapped}");
    assert_eq!(unguarded(&wrapped, &OWN).unwrap(), Vec::<String>::new());
}

#[test]
fn a_host_that_writes_its_file_anew_loses_nothing() {
    let text = r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y"]}, "b": {"command": "c"},
        "d": {"type": "http", "url": "https://x.example/mcp", "headers": {"K": "v"}}}}"#;
    let wrapped = wrap(text, &USUAL, &how(&[])).unwrap().text;
    let value: Value = serde_json::from_str(&wrapped).unwrap();
    for anew in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
        let back = unwrap(&anew, &USUAL, &how(&[])).unwrap();
        // Sorted by name, `args` comes before `command`: a change that cannot be undone is
        // reported.
        let back_value: Value = serde_json::from_str(&back.text).unwrap();
        let original: Value = serde_json::from_str(text).unwrap();
        assert_eq!(back_value["mcpServers"]["a"], original["mcpServers"]["a"]);
        for (name, became) in &back.servers {
            let undone = back_value["mcpServers"][name] == original["mcpServers"][name];
            assert!(undone || matches!(became, Became::Left(_)), "{name}: {became:?}");
        }
    }
}

proptest! {
    #[test]
    fn whatever_stands_between_the_words_comes_back(
        gaps in prop::collection::vec(
            prop::sample::select(vec!["", " ", "\n", "\n    ", "\t", " /* c */ ", " // c\n", "\r\n"]),
            12,
        ),
        args in prop::option::of(prop::collection::vec("[a-z\"\\\\é -]{0,6}", 0..3)),
        comma in any::<bool>(),
    ) {
        let g = |at: usize| gaps[at % gaps.len()];
        let args = args.map(|args| {
            let args: Vec<_> = args.iter().enumerate()
                .map(|(at, arg)| format!("{}{}{}", g(at), quoted(arg), g(at + 1))).collect();
            let comma = if comma && !args.is_empty() { "," } else { "" };
            format!(",{}\"args\"{}:{}[{}{comma}{}]", g(2), g(3), g(4), args.join(","), g(5))
        });
        let text = format!(
            "{{{}\"mcpServers\":{}{{\"s\":{}{{{}\"command\"{}:{}\"n\\u0070x\"{}{}}}}}{}}}",
            g(6), g(7), g(8), g(9), g(10), g(11), g(0), args.unwrap_or_default(), g(1)
        );
        let wrapped = wrap(&text, &USUAL, &how(&[])).unwrap();
        prop_assert_eq!(&wrapped.servers, &[("s".to_owned(), Became::Changed)]);
        let back = unwrap(&wrapped.text, &USUAL, &how(&[])).unwrap();
        prop_assert_eq!(back.text, text);
    }
}
