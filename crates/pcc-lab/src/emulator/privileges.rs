//! stub
use super::EmulatorError;
/// stub
pub fn acquire() -> Result<(), EmulatorError> {
    Ok(())
}
