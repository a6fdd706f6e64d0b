//! The merge of cursors over a stack's tables: for each key the newest table wins.
//!
//! A record stays with the cursor that read it; that cursor moves on only when the next record is asked for. One cursor
//! alone needs no more than that. Several are kept in a tournament: a binary tree over them in which each inner node
//! remembers who lost there, so that a step costs one comparison a level. Of equal keys the newer table's wins, and the
//! loser, whose record it overrides, is passed over when its turn comes.

use std::cmp::Ordering;

use super::Damage;

/// A walk in key order.
pub trait Keyed {
    /// The key it stands on; `None` at the end.
    fn key(&self) -> Option<&[u8]>;
    /// Goes to the next key.
    ///
    /// # Errors
    /// [`Damage`] on the way.
    fn advance(&mut self) -> Result<(), Damage>;
    /// Goes to the first key that is not less than this one.
    ///
    /// # Errors
    /// [`Damage`] on the way.
    fn seek(&mut self, key: &[u8]) -> Result<(), Damage>;
}

/// A walk over several walks, oldest table first.
#[derive(Debug)]
pub struct Merge<C> {
    players: Vec<Player<C>>,
    /// Who lost at each inner node; node 1 is the root, node 0 is not used.
    losers: Vec<usize>,
    winner: usize,
    /// Whether the winner was handed out and has to move on.
    is_spent: bool,
}

#[derive(Debug)]
struct Player<C> {
    cursor: C,
    /// The first bytes of its key as a number, which mostly decides; all ones at the end.
    head: u128,
    /// Whether a newer table has its key too.
    is_overridden: bool,
}

impl<C: Keyed> Player<C> {
    #[inline]
    fn take_head(&mut self) {
        self.is_overridden = false;
        self.head = match self.cursor.key() {
            None => u128::MAX,
            Some(key) => u128::from_be_bytes(key.first_chunk().copied().unwrap_or_else(|| padded(key))),
        };
    }
}

impl<C: Keyed> Merge<C> {
    /// The merge of these walks, oldest table first, to be placed by [`Self::seek`].
    #[must_use]
    pub fn new(cursors: Vec<C>) -> Self {
        let losers = vec![0; cursors.len()];
        let players = cursors.into_iter().map(|cursor| Player { cursor, head: 0, is_overridden: false }).collect();
        Self { players, losers, winner: 0, is_spent: false }
    }

    /// The walk of that number.
    #[inline]
    #[must_use]
    pub fn cursor(&self, number: usize) -> Option<&C> {
        self.players.get(number).map(|player| &player.cursor)
    }

    /// Goes to the first key that is not less than `key`.
    ///
    /// # Errors
    /// The number of the table that is damaged, and the [`Damage`].
    pub fn seek(&mut self, key: &[u8]) -> Result<(), (usize, Damage)> {
        self.is_spent = false;
        for (number, player) in self.players.iter_mut().enumerate() {
            player.cursor.seek(key).map_err(|damage| (number, damage))?;
            player.take_head();
        }
        self.winner = self.play(1);
        Ok(())
    }

    /// The number of the walk that stands on the next key, newest table first; `None` at the end.
    ///
    /// # Errors
    /// The number of the table that is damaged, and the [`Damage`]. Asked again, it says so again.
    #[inline]
    pub fn step(&mut self) -> Result<Option<usize>, (usize, Damage)> {
        loop {
            if self.is_spent {
                self.move_on()?;
            }
            let Some(player) = self.players.get(self.winner) else { return Ok(None) };
            self.is_spent = true;
            if player.cursor.key().is_none() {
                return Ok(None);
            }
            if !player.is_overridden {
                return Ok(Some(self.winner));
            }
        }
    }

    /// Moves the winner on, and finds the next one.
    #[inline]
    fn move_on(&mut self) -> Result<(), (usize, Damage)> {
        let number = self.winner;
        let Some(player) = self.players.get_mut(number) else { return Ok(()) };
        player.cursor.advance().map_err(|damage| (number, damage))?;
        if self.losers.len() > 1 {
            player.take_head();
            self.replay(number);
        }
        Ok(())
    }

    /// Plays all matches below a node, and returns who wins there. Leaf `n` of `k` is node `k + n`.
    fn play(&mut self, node: usize) -> usize {
        if let Some(number) = node.checked_sub(self.losers.len()) {
            return number;
        }
        let left = self.play(node.saturating_mul(2));
        let right = self.play(node.saturating_mul(2).saturating_add(1));
        let (winner, loser) = self.match_of(left, right);
        if let Some(slot) = self.losers.get_mut(node) {
            *slot = loser;
        }
        winner
    }

    /// Plays the matches of one who has moved on, from its leaf to the root.
    #[inline]
    fn replay(&mut self, number: usize) {
        let mut winner = number;
        let mut node = self.losers.len().saturating_add(number) >> 1;
        while node > 0 {
            let rival = self.losers.get(node).copied().unwrap_or(winner);
            let (first, second) = self.match_of(winner, rival);
            winner = first;
            if let Some(slot) = self.losers.get_mut(node) {
                *slot = second;
            }
            node >>= 1;
        }
        self.winner = winner;
    }

    /// Winner and loser. Of equal keys that of the newer table wins, and overrides the other.
    #[inline]
    fn match_of(&mut self, a: usize, b: usize) -> (usize, usize) {
        let (Some(x), Some(y)) = (self.players.get(a), self.players.get(b)) else { return (a, b) };
        match x.head.cmp(&y.head).then_with(|| compare(x.cursor.key(), y.cursor.key())) {
            Ordering::Less => (a, b),
            Ordering::Greater => (b, a),
            Ordering::Equal => {
                let (newer, older) = (a.max(b), a.min(b));
                if let Some(player) = self.players.get_mut(older) {
                    player.is_overridden = true;
                }
                (newer, older)
            }
        }
    }
}

/// The end comes after every key.
fn compare(a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
    a.is_none().cmp(&b.is_none()).then_with(|| a.cmp(&b))
}

fn padded(key: &[u8]) -> [u8; 16] {
    let mut head = [0; 16];
    head.iter_mut().zip(key).for_each(|(slot, byte)| *slot = *byte);
    head
}
