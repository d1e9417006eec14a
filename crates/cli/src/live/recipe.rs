//! The recipes that connect each host to the scripted model and run it without a person.
//!
//! All files of a host are in a home folder of its own. Its other traffic (updates, statistics,
//! crash reports) is switched off, and its proxy settings lead to a closed port.

use serde_json::{Value, json};

/// The task for the host. The model does not read it.
const TASK: &str = "Do what the script says.";
/// The name of the model, and of its provider.
const NAME: &str = "scripted";
/// A placeholder for a secret: the scripted model accepts any.
const KEY: &str = "scripted-key";

/// The recipe for running one host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    /// Its name among our hosts.
    pub(super) host: &'static str,
    pub(super) program: &'static str,
    /// The arguments with which it does one task and ends.
    pub(super) words: &'static [&'static str],
    /// The variables that it needs, for a model at this URL.
    pub(super) variables: fn(&str) -> Vec<(&'static str, String)>,
    /// The files that it needs in its home folder, for a model at this URL.
    pub(super) files: fn(&str) -> Vec<(&'static str, String)>,
}

/// The hosts that run without a desktop.
pub(super) static RECIPES: [Recipe; 7] = [
    Recipe {
        host: "claude-code",
        program: "claude",
        words: &["-p", TASK, "--allowedTools", "Bash"],
        variables: |url| {
            let off = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"];
            let mut all = switched_on(&off);
            all.push(("ANTHROPIC_BASE_URL", url.to_owned()));
            all.push(("ANTHROPIC_API_KEY", KEY.to_owned()));
            all
        },
        files: |_| Vec::new(),
    },
    Recipe {
        host: "codex",
        program: "codex",
        words: &["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", TASK],
        variables: |_| vec![("SCRIPTED_KEY", KEY.to_owned())],
        files: |url| vec![(".codex/config.toml", codex(url))],
    },
    Recipe {
        host: "gemini",
        program: "gemini",
        words: &["-p", TASK, "--yolo"],
        variables: |url| {
            let key = ("GEMINI_API_KEY", KEY.to_owned());
            let trusted = ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned());
            vec![("GOOGLE_GEMINI_BASE_URL", url.to_owned()), key, trusted]
        },
        files: |_| vec![(".gemini/settings.json", gemini().to_string())],
    },
    Recipe {
        host: "copilot",
        program: "copilot",
        words: &["-p", TASK, "--allow-all-tools"],
        variables: |url| {
            vec![
                ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
                ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
                ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
                ("COPILOT_MODEL", NAME.to_owned()),
                ("COPILOT_OFFLINE", "true".to_owned()),
                ("COPILOT_AUTO_UPDATE", "false".to_owned()),
            ]
        },
        files: |_| Vec::new(),
    },
    Recipe {
        host: "opencode",
        program: "opencode",
        words: &["run", TASK],
        variables: |_| {
            let off = ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH"];
            let mut all = switched_on(&off);
            all.extend(switched_on(&["OPENCODE_DISABLE_LSP_DOWNLOAD"]));
            all
        },
        files: |url| vec![(".config/opencode/opencode.json", opencode(url).to_string())],
    },
    Recipe {
        host: "cline",
        program: "cline",
        words: &["--json", "-P", "openai-compatible", "-m", NAME, TASK],
        variables: |_| switched_on(&["CLINE_TELEMETRY_DISABLED"]),
        files: |url| vec![(".cline/data/settings/providers.json", cline(url).to_string())],
    },
    Recipe {
        host: "droid",
        program: "droid",
        words: &["exec", "--skip-permissions-unsafe", "-m", "custom:scripted-0", TASK],
        variables: |_| {
            let mut all = switched_on(&["FACTORY_DISABLE_TELEMETRY"]);
            all.push(("FACTORY_API_KEY", format!("fk-{KEY}")));
            all
        },
        files: |url| vec![(".factory/settings.json", droid(url).to_string())],
    },
];

/// Finds the recipe of a host, if it can run without a desktop.
pub(super) fn find(host: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.host == host)
}

fn switched_on(names: &[&'static str]) -> Vec<(&'static str, String)> {
    names.iter().map(|name| (*name, "1".to_owned())).collect()
}

fn codex(url: &str) -> String {
    let url = Value::from(format!("{url}/v1"));
    format!(
        "model = \"{NAME}\"\nmodel_provider = \"{NAME}\"\ncheck_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n\
         [model_providers.{NAME}]\nname = \"{NAME}\"\nbase_url = {url}\n\
         env_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n"
    )
}

fn gemini() -> Value {
    json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
    })
}

fn opencode(url: &str) -> Value {
    let model = format!("{NAME}/{NAME}");
    let limit = json!({"context": 100_000, "output": 8_000});
    json!({
        "autoupdate": false, "share": "disabled", "model": model, "small_model": model,
        "permission": {"bash": "allow"},
        "provider": {NAME: {
            "npm": "@ai-sdk/openai-compatible", "name": NAME,
            "options": {"baseURL": format!("{url}/v1"), "apiKey": KEY},
            "models": {NAME: {"name": NAME, "tool_call": true, "limit": limit}},
        }},
    })
}

fn cline(url: &str) -> Value {
    let provider = "openai-compatible";
    json!({
        "version": 1, "lastUsedProvider": provider, "modes": {},
        "providers": {provider: {
            "settings": {
                "provider": provider, "apiKey": KEY, "model": NAME,
                "baseUrl": format!("{url}/v1"),
            },
            "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual",
        }},
    })
}

fn droid(url: &str) -> Value {
    json!({
        "customModels": [{
            "model": NAME, "displayName": NAME, "baseUrl": format!("{url}/v1"), "apiKey": KEY,
            "provider": "generic-chat-completion-api", "maxOutputTokens": 4_096,
        }],
        "cloudSessionSync": false, "autoUpdate": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HOSTS;

    #[test]
    fn every_recipe_is_for_a_host_of_ours() {
        for recipe in RECIPES {
            let host = HOSTS.iter().find(|host| host.name() == recipe.host);
            let tested = host.and_then(|host| host.tested());
            assert!(host.is_some(), "{}", recipe.host);
            assert!(tested.is_none_or(|tested| tested.program == recipe.program));
        }
        let desktop: Vec<_> = HOSTS.iter().filter(|host| find(host.name()).is_none()).collect();
        let desktop: Vec<_> = desktop.iter().map(|host| host.name()).collect();
        assert_eq!(desktop, ["cursor", "vscode", "windsurf"]);
    }

    #[test]
    fn nothing_leads_anywhere_but_to_the_script() {
        let url = "http://127.0.0.1:9";
        for recipe in RECIPES {
            let files = (recipe.files)(url).into_iter();
            let variables = (recipe.variables)(url).into_iter();
            for (_, text) in files.chain(variables) {
                let elsewhere = text.replace(url, "");
                assert!(!elsewhere.contains("://"), "{}: {text}", recipe.host);
            }
        }
    }
}
