//! Indirect calls: bound functions, methods by name, functions passed to others.

use std::rc::Rc;

use super::{Args, Runner};
use crate::action::Language;
use crate::analyze::code::script::api::{self, Effect};
use crate::analyze::code::script::value::{Shape, Value};
use crate::fact::{FactKind, Tags};
use crate::verdict::Span;

/// Methods of any object that run a command line.
const RUNNING: &[&str] = &[
    "system",
    "popen",
    "exec_command",
    "getoutput",
    "execSync",
    "spawnSync",
    "execFileSync",
    "run_command",
    "shell_exec",
    "check_output",
    "getstatusoutput",
];

/// Names that are worth following in an unknown namespace.
const GRAVE: &[&str] =
    &["system", "popen", "eval", "exec", "execSync", "__import__", "rmtree", "remove", "unlink"];

impl Runner<'_> {
    /// Follows an indirect call of a library function; `None` when it is not one.
    pub(super) fn call_indirect(
        &mut self,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Option<Value> {
        let (stem, member) = name.rsplit_once('.').unwrap_or(("", name));
        match self.language {
            Language::Python if matches!(name, "bytes" | "bytearray") => bytes(&args.at(0)),
            Language::Python if name == "itertools.starmap" => {
                Some(self.mapped_spread(&args.at(1), &args.at(0), span))
            }
            Language::Python => match stem {
                // Every program is a function of these modules.
                "plumbum.cmd" | "sh" | "sh.contrib" if !member.starts_with('_') => {
                    let words =
                        std::iter::once(Value::text(member)).chain(args.positional().cloned());
                    Some(self.program(&Args::of([Value::list(words.collect())]), span))
                }
                _ => None,
            },
            Language::Javascript => self.bound(stem, member, args, span),
            Language::Ruby => self.sent(stem, member, args, span),
            Language::Perl => match name {
                "open3" => Some(self.program(&args.skip(3), span)),
                "open2" => Some(self.program(&args.skip(2), span)),
                _ => None,
            },
            Language::Sql => None,
        }
    }

    /// Follows `f.call(this, x)`, `f.apply(this, [x])`, `f.bind(this, x)` of a library function.
    fn bound(
        &mut self,
        stem: &str,
        member: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Option<Value> {
        if !matches!(member, "call" | "apply" | "bind")
            || api::effect(self.language, stem).is_none()
        {
            return None;
        }
        let callee = Value::api(stem);
        let given = match member {
            "apply" => Args::of(args.at(1).items().unwrap_or_default().to_vec()),
            "bind" if args.count() < 2 => return Some(callee),
            _ => args.skip(1),
        };
        Some(self.call(&callee, &given, span))
    }

    /// Follows `FileUtils.send(:rm_rf, x)`, `method(:system).call(x)`, `include FileUtils`.
    fn sent(&mut self, stem: &str, member: &str, args: &Args, span: Option<Span>) -> Option<Value> {
        match (stem, member) {
            ("", "include" | "extend") => {
                let modules = args.apis();
                self.stars.extend(modules);
                Some(Value::unknown())
            }
            ("", "require") => {
                let path = args.at(0);
                let absolute = path.known_text().is_some_and(|text| text.starts_with(['/', '~']));
                absolute.then(|| self.run_file(&path, span))
            }
            ("", _) => None,
            (
                _,
                "send" | "public_send" | "__send__" | "method" | "public_method"
                | "singleton_method",
            ) => {
                let Some(name) = args.at(0).known_text().cloned() else {
                    self.unknown(FactKind::UnknownCode, stem, span);
                    return Some(args.joined());
                };
                let callee = self.member(Value::api(stem), &name.as_str().into());
                if member.ends_with("method") {
                    return Some(callee);
                }
                Some(self.call(&callee, &args.skip(1), span))
            }
            (_, "call" | "()" | "===" | "yield") if api::effect(self.language, stem).is_some() => {
                Some(self.call_api(&stem.into(), args, span))
            }
            (_, "to_proc" | "curry" | "unbind" | "bind" | "dup")
                if api::effect(self.language, stem).is_some() =>
            {
                Some(Value::api(stem))
            }
            (_, "const_get") => Some(self.import(&args.at(0))),
            _ => None,
        }
    }

    /// Follows effects that create or use a function.
    pub(super) fn on_functions(
        &mut self,
        effect: Effect,
        args: &Args,
        span: Option<Span>,
    ) -> Option<Value> {
        Some(match effect {
            Effect::Bind => {
                let callee = args.at(0);
                if args.count() < 2 {
                    return Some(callee);
                }
                self.call(&callee, &args.skip(1), span)
            }
            Effect::NamedMethod => {
                let name = args.at(0).known_text().cloned();
                let Some(name) = name else { return Some(Value::unknown()) };
                self.call_method(&Value::unknown(), &name.as_str().into(), &args.skip(1), span)
            }
            Effect::Names => match args.count() {
                0 => Value::api(""),
                _ => args.at(0),
            },
            Effect::Native => {
                self.unknown(FactKind::UnknownCode, "native code", span);
                Value::unknown()
            }
            _ => return None,
        })
    }

    /// Follows methods of any object that run commands or code.
    pub(super) fn running_method(
        &mut self,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Option<Value> {
        let first = args.at(0);
        first.known_text()?;
        if RUNNING.contains(&name) {
            return Some(self.shell(&first, span));
        }
        match name {
            "runsource" | "runcode" | "run_cell" | "run_line_magic" => {
                Some(self.eval(&first, span))
            }
            "__import__" | "import_module" => Some(self.import(&first)),
            _ => None,
        }
    }

    /// Looks up a name in an unknown namespace.
    pub(super) fn named_somewhere(object: &Value, name: &str) -> Option<Value> {
        GRAVE.contains(&name).then(|| Value::member(object.clone(), &name.into()))
    }

    /// Records code in a file outside the project.
    pub(super) fn foreign_file(&mut self, path: &str, span: Option<Span>) {
        use crate::fact::Tag;
        let place = crate::location::locate(path, &self.scene);
        if path.starts_with(['/', '~']) && !place.any(Tags::of(&[Tag::Workspace, Tag::System])) {
            self.unknown(FactKind::UnknownCode, path, span);
        }
    }
}

/// Returns the function among the arguments that is called for each item.
pub(super) fn function_of(args: &Args) -> Option<Value> {
    let api = |value: &&Value| matches!(value.shape, Shape::Api(_));
    args.closures().pop().or_else(|| args.list.iter().map(|arg| &arg.value).find(api).cloned())
}

/// Returns the text with these code points.
fn bytes(numbers: &Value) -> Option<Value> {
    let chars = numbers.items()?.iter().map(|item| match item.shape {
        Shape::Number(number) => u32::try_from(number).ok().and_then(char::from_u32),
        _ => None,
    });
    chars.collect::<Option<String>>().filter(|text| !text.is_empty()).map(Value::text)
}

/// Returns the name of a function that Perl takes from a text.
pub(super) fn symbol(language: Language, text: &str) -> Option<Rc<str>> {
    let name = text.trim_start_matches('&');
    let plain =
        !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || "_:".contains(char));
    (language == Language::Perl && plain).then(|| api::canonical(language, name).into())
}
