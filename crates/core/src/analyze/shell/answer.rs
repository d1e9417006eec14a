//! Questions that are answered in advance: changes of infrastructure whose plan nobody will read.

use super::Walker;
use super::arguments::Arguments;
use super::value::Stream;
use crate::fact::{Fact, FactKind};
use crate::verdict::Span;

/// Programs that show a plan of infrastructure changes and then ask for confirmation.
const ASKS: &[&str] = &[
    "terraform",
    "tofu",
    "terragrunt",
    "terramate",
    "cdktf",
    "pulumi",
    "cdk",
    "sam",
    "sst",
    "copilot",
    "amplify",
    "serverless",
    "sls",
    "eksctl",
    "kops",
    "kapp",
    "helmfile",
    "werf",
    "atmos",
    "spacectl",
];

/// Verbs after which these programs ask.
const VERBS: &[&str] = &[
    "apply",
    "apply-all",
    "up",
    "update",
    "deploy",
    "destroy",
    "down",
    "import",
    "refresh",
    "create",
    "upgrade",
    "run",
];

/// Options that suppress the question.
const CONSENTS: &[&str] = &[
    "--non-interactive",
    "-non-interactive",
    "--terragrunt-non-interactive",
    "--yes",
    "-auto-approve",
    "--auto-approve",
    "--skip-preview",
    "--no-confirm",
    "--no-confirm-changeset",
    "--approve",
];

impl Walker<'_> {
    /// Records a change of infrastructure that is agreed to in advance: by an option, by piped
    /// input, by a variable, or because a saved plan is carried out.
    pub(super) fn answered_beforehand(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        if !ASKS.contains(&name) {
            return;
        }
        let words = args.words();
        let Some(at) = words.iter().position(|word| VERBS.contains(&word.text.as_str())) else {
            return;
        };
        let verb = words.get(at).map_or("", |word| word.text.as_str());
        // `plan`, `init` and the like may take a word such as `update`.
        let leads = words.iter().take(at).all(|word| {
            word.text.starts_with('-')
                || matches!(word.text.as_str(), "run" | "stack" | "run-all" | "exec" | "cluster")
        });
        let is_piped = !stdin.from_caller && stdin.text.as_deref() != Some("");
        let plan = matches!(verb, "apply")
            && words.iter().skip(at + 1).any(|word| !word.text.starts_with('-'))
            && !matches!(name, "eksctl" | "kops" | "kapp");
        let consents = words.iter().any(|word| {
            let option = word.text.split('=').next().unwrap_or_default();
            CONSENTS.contains(&option) && !word.text.ends_with("=false")
        });
        let everything =
            words.iter().any(|word| word.text == "run-all" || word.text == "apply-all");
        if leads && (is_piped || plan || consents || everything || self.variable_agrees()) {
            self.note(Fact::new(FactKind::Unasked, format!("{name} {verb}")).at(span));
        }
    }

    /// Reports whether an environment variable agrees to everything.
    fn variable_agrees(&self) -> bool {
        const NAMES: &[&str] = &[
            "TF_CLI_ARGS",
            "TF_CLI_ARGS_apply",
            "TF_CLI_ARGS_destroy",
            "TERRAGRUNT_NON_INTERACTIVE",
            "TG_NON_INTERACTIVE",
            "PULUMI_SKIP_CONFIRMATIONS",
            "TERRAGRUNT_AUTO_APPROVE",
        ];
        let agrees = |name: &str, value: &str| {
            let on = !matches!(value, "" | "0" | "false" | "no");
            (name.starts_with("TF_CLI_ARGS") && value.contains("auto-approve"))
                || (name.ends_with("NON_INTERACTIVE") && on)
                || (name.ends_with("SKIP_CONFIRMATIONS") && on)
                || (name.ends_with("AUTO_APPROVE") && on)
        };
        let given = self
            .environment
            .iter()
            .any(|(name, value)| value.as_ref().is_some_and(|value| agrees(name, &value.text)));
        given
            || NAMES.iter().any(|name| {
                let values = self.state.values(name).unwrap_or_default();
                values.iter().flatten().any(|value| agrees(name, &value.text))
            })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Action, Context, Policy, Verdict, judge};

    fn verdict(command: &str) -> Verdict {
        let action = Action::Shell { command: command.into(), cwd: None };
        judge(&action, &Policy::default(), &Context::default()).verdict
    }

    #[test]
    fn a_change_that_is_agreed_to_beforehand_asks() {
        for command in [
            "yes | pulumi up",
            "tofu -chdir=x apply saved.plan",
            "export TF_CLI_ARGS_apply='-auto-approve'; tofu apply",
            "terragrunt run-all apply",
            "pulumi up --yes --stack prod",
            "sam deploy --no-confirm-changeset",
            "PULUMI_SKIP_CONFIRMATIONS=true pulumi up",
            "terragrunt run --all --non-interactive -- apply",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in ["tofu plan -out saved.plan", "pulumi preview", "tofu apply", "cdk synth"] {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }
}
