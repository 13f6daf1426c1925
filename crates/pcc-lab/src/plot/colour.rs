//! Colours that everybody can tell apart.

use plotters::style::RGBColor;

/// A colour of a plot.
pub type Colour = RGBColor;

/// Text and what matters most.
pub const INK: Colour = RGBColor(0x22, 0x22, 0x22);
/// Axes, and what curves are compared with.
pub const GREY: Colour = RGBColor(0x6b, 0x6b, 0x6b);

/// How many colours there are to tell curves apart.
pub const COLOURS: usize = 7;

/// The palette of Okabe and Ito (2008), which people with any colour vision can tell apart, without its yellow.
const PALETTE: [Colour; COLOURS] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x00, 0x00),
];

/// The colour of the curve with this index; they repeat.
pub fn colour(index: usize) -> Colour {
    PALETTE[index % PALETTE.len()]
}
