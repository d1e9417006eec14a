//! A real Chromium against a small site of our own: a shop, a bank, and pages that attack.

#[cfg(test)]
mod browser {
    pub(crate) mod harness;
    pub(crate) mod site;

    mod act;
    mod held;
    mod hostile;
    mod launch;
    mod login;
    mod look;
}
