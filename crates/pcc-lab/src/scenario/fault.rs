//! What is wrong with one table of a scenario.

use crate::controller::ControllerError;

/// The key that is wrong, and the reason.
pub(crate) type Fault = (&'static str, String);

/// The key that an error of a controller is about, and its text.
pub(crate) fn fault_of(error: &ControllerError) -> Fault {
    let key = match error {
        ControllerError::Value { .. } | ControllerError::Unknown { what: "constant", .. } => "set",
        ControllerError::Formula { .. } => "utility",
        _ => "controller",
    };
    (key, error.to_string())
}

/// That no link, or whatever else there is a list of, has this name.
pub(super) fn no_such(what: &str, name: &str, known: &[&str]) -> String {
    match known.is_empty() {
        true => format!("there is no {what} \"{name}\"; give the {what}s names"),
        false => format!("there is no {what} \"{name}\"; known are {}", known.join(", ")),
    }
}

/// Whether a text can be shown everywhere: a control character would be a command to a terminal, and has no place in XML.
pub(super) fn check_text(text: &str) -> Result<(), String> {
    match text.chars().find(|c| c.is_control()) {
        Some(control) => Err(format!("the character {} can't be shown", control.escape_unicode())),
        None => Ok(()),
    }
}
