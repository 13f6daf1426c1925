//! The live view on a terminal.

use super::format;
use super::repeat::repeat;
use super::table::{Column, HEADINGS, Row as Connection, Table};
use pcc_tcp::kernel::TcpFlows;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Stylize;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Row, Table as Grid};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How often the connections are looked at, and the keyboard.
const LOOK: Duration = Duration::from_secs(1);
const KEYS: Duration = Duration::from_millis(50);

const WIDTHS: [u16; HEADINGS.len()] = [21, 21, 14, 8, 8, 7, 7, 6, 8, 8, 6];
/// The first columns are of words.
const WORDS: usize = 3;

/// Shows the connections until a key or a signal ends it.
pub fn show() -> anyhow::Result<()> {
    let mut flows = TcpFlows::default();
    let mut screen = Screen::default();
    screen.table.update(flows.list()?);
    let mut looked = Instant::now();
    // Restores the terminal after a panic, too.
    let mut terminal = ratatui::try_init()?;
    let mut begun = false;
    let done = repeat(KEYS, || {
        let mut changed = !std::mem::replace(&mut begun, true);
        while event::poll(Duration::ZERO)? {
            changed = true;
            if screen.on_event(&event::read()?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if looked.elapsed() >= LOOK {
            screen.table.update(flows.list()?);
            (looked, changed) = (Instant::now(), true);
        }
        if changed {
            terminal.draw(|frame| screen.draw(frame))?;
        }
        Ok(ControlFlow::Continue(()))
    });
    ratatui::restore();
    done
}

#[derive(Default)]
struct Screen {
    table: Table,
    /// Rows above the first one that is shown, and how many fit on the screen.
    above: usize,
    height: usize,
}

impl Screen {
    fn on_event(&mut self, event: &Event) -> ControlFlow<()> {
        let Event::Key(key) = event else { return ControlFlow::Continue(()) };
        if key.kind == KeyEventKind::Release {
            return ControlFlow::Continue(());
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return ControlFlow::Break(()),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return ControlFlow::Break(()),
            KeyCode::Up => self.above = self.above.saturating_sub(1),
            KeyCode::Down => self.above += 1,
            KeyCode::PageUp => self.above = self.above.saturating_sub(self.height),
            KeyCode::PageDown => self.above += self.height,
            KeyCode::Char(key) => {
                if let Some(column) = Column::of_key(key) {
                    self.table.sort_by(column);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let [title, grid, keys] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
        let rows = self.table.rows();
        let goodput = format::number(self.table.goodput());
        frame
            .render_widget(Line::from(format!("{} connections under PCC, {goodput} Mbit/s", rows.len())).bold(), title);
        self.height = usize::from(grid.height.saturating_sub(1));
        self.above = self.above.min(rows.len().saturating_sub(self.height));
        let shown = rows.iter().skip(self.above).take(self.height).map(row);
        let widget = Grid::new(shown, WIDTHS).header(headings(self.table.sorted_by()));
        frame.render_widget(widget, grid);
        frame.render_widget(
            Line::from("sort by r rate  g goodput  t RTT  l loss  u utility  a age    Mbit/s, ms, %    q quit").dim(),
            keys,
        );
    }
}

/// The text of a cell: words to the left, numbers to the right.
fn cell(column: usize, text: String) -> Text<'static> {
    let text = Text::from(text);
    if column < WORDS { text } else { text.right_aligned() }
}

fn row(connection: &Connection) -> Row<'static> {
    Row::new(connection.texts().into_iter().enumerate().map(|(column, text)| cell(column, text)))
}

fn headings(sort: Column) -> Row<'static> {
    let headings = HEADINGS.iter().enumerate().map(|(column, (name, by))| {
        let text = cell(column, (*name).to_owned());
        Cell::from(if *by == Some(sort) { text.underlined() } else { text })
    });
    Row::new(headings).bold()
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::flow;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyEvent;

    fn press(screen: &mut Screen, code: KeyCode) -> ControlFlow<()> {
        screen.on_event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    fn lines(screen: &mut Screen) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(130, 6)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        terminal.backend().to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn connections_that_find_no_room_can_be_scrolled_to() {
        let mut screen = Screen::default();
        screen.table.update((1..=9).map(|i| flow(&format!("10.0.0.{i}:80"), f64::from(i), 3, 0)).collect());
        let top = lines(&mut screen);
        assert!(top[0].contains("9 connections") && top[1].contains("goodput") && top[5].contains("q quit"));
        assert!(top[2].contains("10.0.0.9:80") && top[2].contains("9.00"), "{}", top[2]);
        assert!(press(&mut screen, KeyCode::PageDown).is_continue());
        assert!(lines(&mut screen)[2].contains("10.0.0.6:80"));
        for _ in 0..3 {
            assert!(press(&mut screen, KeyCode::PageDown).is_continue());
        }
        let bottom = lines(&mut screen);
        assert!(bottom[4].contains("10.0.0.1:80"), "{}", bottom[4]);
        assert!(press(&mut screen, KeyCode::Char('q')).is_break());
    }
}
