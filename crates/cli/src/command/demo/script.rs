//! The script of the demo: thirty actions in order, and the person's answers.

use serde_json::{Value, json};

/// One action that the agent proposes.
#[derive(Debug)]
pub(super) struct Scene {
    /// The agent's intention, in one line.
    pub(super) story: &'static str,
    /// The action as a person would write it.
    pub(super) shown: &'static str,
    pub(super) action: Value,
    pub(super) reaction: Reaction,
}

/// The person's answer, if the agent has to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    Yes,
    No(&'static str),
    /// Nobody is there.
    Silence,
}

/// One step of the play.
#[derive(Debug)]
pub(super) enum Step {
    One(Scene),
    /// Several actions that are asked about and answered together.
    Group(&'static str, Vec<Scene>),
    /// The person halts everything.
    Halt,
    /// The person resumes.
    Resume,
}

/// The folder in which the agent works. It does not exist: nothing is run.
pub(super) const PROJECT: &str = "/home/dev/shop";
pub(super) const HOME: &str = "/home/dev";

/// The configuration: a skill with a short timeout, declared for this demo alone.
pub(super) fn configuration(fast: bool) -> String {
    let timeout = if fast { 1 } else { 5 };
    format!(
        "apps:\n  demo:\n    skills:\n      newsletter: {{access: write, timeout: {timeout}}}\n"
    )
}

/// The whole play.
pub(super) fn play() -> Vec<Step> {
    [work(), risky(), mails(), alone(), catastrophic(), halted()].into_iter().flatten().collect()
}

fn scene(story: &'static str, shown: &'static str, action: Value, reaction: Reaction) -> Scene {
    Scene { story, shown, action, reaction }
}

fn one(story: &'static str, shown: &'static str, action: Value, reaction: Reaction) -> Step {
    Step::One(scene(story, shown, action, reaction))
}

fn shell(story: &'static str, command: &'static str, reaction: Reaction) -> Step {
    one(story, command, json!({"kind": "shell", "command": command}), reaction)
}

fn sql(story: &'static str, source: &'static str, reaction: Reaction) -> Step {
    one(story, source, json!({"kind": "code", "language": "sql", "source": source}), reaction)
}

/// An agent's everyday work: nobody is asked.
fn work() -> Vec<Step> {
    use Reaction::Yes;
    vec![
        shell("looks around", "ls -la", Yes),
        shell("sees what has changed", "git status --short", Yes),
        one(
            "reads the source",
            "read src/cart.rs",
            json!({"kind": "file_read", "path": "src/cart.rs"}),
            Yes,
        ),
        one(
            "mends the rounding of prices",
            "write src/cart.rs",
            json!({"kind": "file_write", "path": "src/cart.rs", "content": "pub fn cents() {}\n"}),
            Yes,
        ),
        shell("runs the tests", "cargo test -p cart", Yes),
        sql("looks at a few carts", "SELECT id, total FROM carts LIMIT 10", Yes),
        one(
            "looks for the customer's mail",
            "email.search",
            json!({"kind": "skill", "skill": "email.search", "params": {"query": "rounding"}}),
            Yes,
        ),
        shell("commits", "git commit -am 'cart: round prices'", Yes),
        shell("clears what can be built again", "rm -rf target", Yes),
        one(
            "looks at an order in an app nobody declared",
            "shop.get_order",
            json!({"kind": "skill", "skill": "shop.get_order", "params": {"id": 7}}),
            Yes,
        ),
    ]
}

/// Actions that cannot be undone: a person is asked.
fn risky() -> Vec<Step> {
    use Reaction::{No, Yes};
    vec![
        shell(
            "overwrites the shared branch",
            "git push --force origin main",
            No("use --force-with-lease, on your own branch"),
        ),
        shell("does as it was told", "git push --force-with-lease origin round-prices", Yes),
        sql("mends old carts", "UPDATE carts SET total = round(total, 2)", Yes),
        shell("cleans up elsewhere", "rm -rf ~/old-shop", No("I still need it")),
        shell("ships the shop", "docker push registry.example.com/shop:1.2", Yes),
        shell("scales the shop up", "kubectl scale deployment shop --replicas=0", No("0 is none")),
        shell("reads somebody's keys", "cat ~/.aws/credentials", No("you do not need these")),
        one(
            "buys something",
            "click `Buy now`",
            json!({"kind": "ui", "surface": "browser", "op": "click", "label": "Buy now"}),
            No("no"),
        ),
    ]
}

/// Three mails at once: one card each, answered together.
fn mails() -> Vec<Step> {
    let mail = |shown, to: &str, reaction| {
        let params = json!({"to": to, "subject": "Your refund"});
        scene(
            "",
            shown,
            json!({"kind": "skill", "skill": "email.send", "params": params}),
            reaction,
        )
    };
    let mails = vec![
        mail("email.send to Ann", "ann@example.com", Reaction::Yes),
        mail("email.send to Bob", "bob@example.com", Reaction::Yes),
        mail("email.send to everybody", "all@example.com", Reaction::No("only the two of them")),
    ];
    vec![Step::Group("writes three mails, asked about together", mails)]
}

/// Nobody answers.
fn alone() -> Vec<Step> {
    let action = json!({"kind": "skill", "skill": "demo.newsletter", "params": {}});
    vec![one("asks when nobody is there", "demo.newsletter", action, Reaction::Silence)]
}

/// Actions that are always blocked, even if a person would approve them.
fn catastrophic() -> Vec<Step> {
    use Reaction::Yes;
    vec![
        shell("deletes everything", "rm -rf / --no-preserve-root", Yes),
        shell("hides it", "echo cm0gLXJmIC8K | base64 -d | sh", Yes),
        shell("overwrites the disk", "dd if=/dev/zero of=/dev/sda", Yes),
        one(
            "asks the cloud for its own keys",
            "open http://169.254.169.254/latest/meta-data/",
            json!({"kind": "navigate", "url": "http://169.254.169.254/latest/meta-data/"}),
            Yes,
        ),
        shell("answers itself", "countersign approvals approve apr_1", Yes),
        shell("lets itself off the leash", "countersign settings set autonomous on", Yes),
    ]
}

/// The kill switch.
fn halted() -> Vec<Step> {
    vec![
        Step::Halt,
        shell("goes on as if nothing were", "git status", Reaction::Yes),
        Step::Resume,
        shell("says goodbye", "git log --oneline -1", Reaction::Yes),
    ]
}

#[cfg(test)]
mod tests {
    use countersign_core::{Action, Context, Policy, Verdict, judge};

    use super::*;

    fn scenes() -> Vec<Scene> {
        let scenes = play().into_iter().flat_map(|step| match step {
            Step::One(scene) => vec![scene],
            Step::Group(_, scenes) => scenes,
            Step::Halt | Step::Resume => Vec::new(),
        });
        scenes.collect()
    }

    fn verdict(scene: &Scene) -> Verdict {
        let action: Action = serde_json::from_value(scene.action.clone()).unwrap();
        let context = Context {
            cwd: Some(PROJECT.to_owned()),
            home: Some(HOME.to_owned()),
            workspace: Some(PROJECT.to_owned()),
            ..Context::default()
        };
        judge(&action, &Policy::default(), &context).verdict
    }

    #[test]
    fn thirty_actions_show_every_verdict() {
        let scenes = scenes();
        assert_eq!(scenes.len(), 30);
        let count = |wanted| scenes.iter().filter(|scene| verdict(scene) == wanted).count();
        let counts = [Verdict::Allow, Verdict::Warn, Verdict::Confirm, Verdict::Block].map(count);
        assert!(counts.iter().zip([9, 2, 10, 6]).all(|(real, least)| *real >= least), "{counts:?}");
    }

    #[test]
    fn only_what_asks_is_answered_with_no() {
        for scene in scenes() {
            if scene.reaction != Reaction::Yes {
                assert_eq!(verdict(&scene), Verdict::Confirm, "{}", scene.shown);
            }
        }
    }
}
