//! Explicit Congestion Notification (RFC 3168) on a path.

/// What the ECN field of a packet says (RFC 3168, section 5). ECT(0) and ECT(1) are one here: no queue of ours treats them
/// differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    /// The sender can't take marks: queues drop.
    #[default]
    NotEct,
    /// The sender can take marks.
    Ect,
    /// A queue has marked it: congestion experienced.
    Ce,
}

impl Codepoint {
    /// Marks a packet that can be marked; whether it carries a mark now.
    pub(super) fn mark(&mut self) -> bool {
        if *self == Codepoint::Ect {
            *self = Codepoint::Ce;
        }
        *self == Codepoint::Ce
    }
}
