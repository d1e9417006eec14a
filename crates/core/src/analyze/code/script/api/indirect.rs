//! Functions that call other functions indirectly, or leave the language altogether.

use super::{Coding, Effect};
use crate::action::Language;

/// Returns the effect of a function, if it is one of these.
pub(super) fn effect(language: Language, name: &str) -> Option<Effect> {
    match language {
        Language::Python => python(name),
        Language::Javascript => javascript(name),
        Language::Ruby => ruby(name),
        Language::Perl => perl(name),
        Language::Sql => None,
    }
}

fn python(name: &str) -> Option<Effect> {
    Some(match name {
        "functools.partial" | "functools.partialmethod" => Effect::Bind,
        "code.interact" | "code.InteractiveConsole" | "IPython.embed" | "IPython.start_ipython" => {
            Effect::Prompt
        }
        "operator.methodcaller" => Effect::NamedMethod,
        "vars" | "globals" | "locals" => Effect::Names,
        "ctypes.CDLL"
        | "ctypes.PyDLL"
        | "ctypes.WinDLL"
        | "ctypes.OleDLL"
        | "ctypes.cdll.LoadLibrary"
        | "ctypes.windll.LoadLibrary"
        | "ctypes.pydll.LoadLibrary"
        | "cffi.FFI.dlopen"
        | "_ctypes.dlopen" => Effect::Native,
        "cProfile.run"
        | "profile.run"
        | "cProfile.runctx"
        | "doctest.run_docstring_examples"
        | "pdb.run"
        | "pdb.runeval"
        | "bdb.Bdb.run" => Effect::Eval,
        "marshal.loads" | "marshal.load" => Effect::Decode(Coding::Packed),
        "yaml.load" | "yaml.unsafe_load" | "yaml.full_load" | "yaml.load_all" => Effect::Unpickle,
        _ => return None,
    })
}

fn javascript(name: &str) -> Option<Effect> {
    Some(match name {
        "module._load" | "Module._load" | "module.Module._load" | "process.getBuiltinModule" => {
            Effect::Import
        }
        "process.binding"
        | "process._linkedBinding"
        | "process.dlopen"
        | "ffi-napi.Library"
        | "Deno.dlopen"
        | "bun:ffi.dlopen"
        | "koffi.load" => Effect::Native,
        "navigator.sendBeacon" => Effect::Post,
        "bun.$"
        | "Bun.$"
        | "execa.execaCommand"
        | "execa.execaCommandSync"
        | "execa.$"
        | "dax.$"
        | "zx.$"
        | "execa.command"
        | "execa.commandSync" => Effect::Shell,
        _ => return None,
    })
}

fn ruby(name: &str) -> Option<Effect> {
    Some(match name {
        "const_get" | "Object.const_get" | "Module.const_get" => Effect::Import,
        "syscall"
        | "Fiddle.dlopen"
        | "Fiddle.Handle.new"
        | "Fiddle.Function.new"
        | "DL.dlopen"
        | "FFI.Library.ffi_lib" => Effect::Native,
        "binding.irb" | "binding.pry" | "IRB.start" | "Pry.start" => Effect::Prompt,
        _ => return None,
    })
}

fn perl(name: &str) -> Option<Effect> {
    Some(match name {
        "syscall" | "DynaLoader::dl_load_file" | "dl_load_file" => Effect::Native,
        "execvp" | "execv" | "runx" | "capturex" | "execl" | "execlp" => Effect::Program,
        _ => return None,
    })
}
