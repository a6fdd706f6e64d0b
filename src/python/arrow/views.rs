//! String and binary views, the columns of a batch: names and object ids where they lie, not copies of them.
//!
//! ```text
//! view   = length | 12 bytes: all of the data
//!        | length | 4 bytes of the data | buffer | offset       what is longer lies in a buffer
//! buffer = 0: the batch's arena | 1, 2, ...: a window on a source
//! ```
//!
//! Sources are handed in: files as they lie in memory. What is pushed and lies in one of them, which its address tells, is
//! not copied. A window reaches from the first byte that a batch uses to the last, so that whoever writes the batch to a
//! file does not write all of the source each time, and files of more than 2 GiB are no matter. All else goes to the
//! arena.

use std::sync::Arc;

use arrow_array::{BinaryViewArray, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, NullBufferBuilder, ScalarBuffer};

use crate::model::{RefValue, Value, spell};

/// Data of this length lies in the view itself.
const INLINE: usize = 12;
/// Lengths and offsets are signed to some who read them.
const MOST: usize = i32::MAX as usize;

/// A binary column, being filled.
pub(super) struct Views {
    rows: Vec<u128>,
    nulls: NullBufferBuilder,
    arena: Vec<u8>,
    windows: Vec<Window>,
    /// The window that was looked through last.
    at: usize,
}

/// A part of a source.
struct Window {
    source: Buffer,
    /// The first and the last byte used, once any is.
    used: Option<(usize, usize)>,
}

impl Views {
    /// A column of about so many rows.
    pub(super) fn new(rows: usize, sources: &[Buffer]) -> Self {
        let windows = sources.iter().map(|source| Window { source: source.clone(), used: None }).collect();
        Self { rows: Vec::with_capacity(rows), nulls: NullBufferBuilder::new(rows), arena: Vec::new(), windows, at: 0 }
    }

    /// Bytes that lie in memory of the column's own.
    pub(super) fn owned(&self) -> usize {
        self.arena.len()
    }

    pub(super) fn push_null(&mut self) {
        self.rows.push(0);
        self.nulls.append_null();
    }

    /// Adds a value. Returns whether there was room: one of more than 2 GiB is null.
    #[inline(always)]
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        let len = bytes.len();
        if len <= INLINE {
            let mut view = [0; 16];
            // Not `MOST` by far.
            #[expect(clippy::cast_possible_truncation, reason = "at most 12")]
            let start = [len as u8, 0, 0, 0];
            view[..4].copy_from_slice(&start);
            view[4..4 + len].copy_from_slice(bytes);
            self.add(u128::from_le_bytes(view));
            return true;
        }
        self.push_where_it_lies(bytes) || self.push_copy(bytes)
    }

    /// Adds a value that is too long for a view itself, if it lies in a source. Returns whether it does.
    #[inline(always)]
    fn push_where_it_lies(&mut self, bytes: &[u8]) -> bool {
        let place = match self.windows.get_mut(self.at).and_then(|window| window.place(bytes)) {
            Some(offset) => Some((self.at + 1, offset)),
            None => self.find_place(bytes),
        };
        let Some((buffer, offset)) = place else { return false };
        self.add_long(bytes, buffer, offset);
        true
    }

    /// Adds a value that is too long for a view itself by way of the arena, if there is room; else null.
    #[inline(always)]
    fn push_copy(&mut self, bytes: &[u8]) -> bool {
        let offset = self.arena.len();
        if offset.saturating_add(bytes.len()) > MOST {
            self.push_null();
            return false;
        }
        self.arena.extend_from_slice(bytes);
        self.add_long(bytes, 0, offset);
        true
    }

    #[inline(always)]
    fn add_long(&mut self, bytes: &[u8], buffer: usize, offset: usize) {
        let head = bytes.first_chunk().map_or(0, |head| u32::from_le_bytes(*head));
        let [len, buffer, offset] = [bytes.len(), buffer, offset].map(|number| number as u128);
        self.add(len | u128::from(head) << 32 | buffer << 64 | offset << 96);
    }

    #[inline(always)]
    fn add(&mut self, view: u128) {
        self.rows.push(view);
        self.nulls.append_non_null();
    }

    /// The buffer of another window, and where in it.
    #[inline(never)]
    fn find_place(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        let found = self.windows.iter_mut().map(|window| window.place(bytes)).enumerate();
        let (i, offset) = found.into_iter().find_map(|(i, place)| Some((i, place?)))?;
        self.at = i;
        Some((i + 1, offset))
    }

    fn take(&mut self) -> (ScalarBuffer<u128>, Arc<[Buffer]>, Option<NullBuffer>) {
        // Whoever keeps a column shall not keep the room that it did not need.
        let (mut rows, mut arena) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.arena));
        shrink(&mut rows);
        shrink(&mut arena);
        let arena = Buffer::from_vec(arena);
        let windows = self.windows.iter_mut().map(|window| {
            let (start, end) = window.used.take().unwrap_or_default();
            window.source.slice_with_length(start, end - start)
        });
        let buffers = std::iter::once(arena).chain(windows).collect();
        (rows.into(), buffers, self.nulls.finish())
    }

    /// What was pushed.
    #[expect(unsafe_code, reason = "checking every view again takes as long as all the rest; see docs/safety.md")]
    pub(super) fn finish(&mut self) -> BinaryViewArray {
        let (views, buffers, nulls) = self.take();
        // SAFETY: but for `Ids`, `push` alone makes views, from bytes of that length: of at most 12 it holds them, and zeros behind them;
        // of more it holds the first four, and they lie at that offset of that buffer. In the arena they were put
        // there, and nothing in it is ever taken away; in a window `place` saw that they lie in the source, behind
        // `used.0`, and moved `used.1` behind them, which is what the buffer is cut to here. Null rows hold a view of
        // length 0. A null is counted for each view. `Ids` that are hex digits call `push_where_it_lies` and `push_null` only,
        // which leave the arena alone; they make that, in `spell_all`, of two bytes for each raw one that they gathered, and
        // each view into it with the offset and twice the length that the raw one has among those, and its first four bytes.
        unsafe { BinaryViewArray::new_unchecked(views, buffers, nulls) }
    }
}

/// Gives back the room of a column that needed less than half of it.
fn shrink<T>(values: &mut Vec<T>) {
    if values.len() < values.capacity() / 2 {
        values.shrink_to_fit();
    }
}

impl Window {
    /// Where in the window the bytes lie, if they lie in the source and the window can reach there.
    #[inline(always)]
    fn place(&mut self, bytes: &[u8]) -> Option<usize> {
        let offset = bytes.as_ptr().addr().wrapping_sub(self.source.as_ptr().addr());
        if offset >= self.source.len() {
            return None;
        }
        // No two objects overlap: what begins in the source ends there, too.
        let end = offset + bytes.len();
        let (start, last) = self.used.unwrap_or((offset, end));
        if offset < start || end - start > MOST || end > self.source.len() {
            return None;
        }
        self.used = Some((start, last.max(end)));
        Some(offset - start)
    }
}

/// A column of text, or of the bytes that should be.
pub(super) struct Text {
    views: Views,
    is_utf8: bool,
    /// Rows that are null for want of UTF-8.
    lost: u64,
}

impl Text {
    pub(super) fn new(views: Views, is_utf8: bool) -> Self {
        Self { views, is_utf8, lost: 0 }
    }

    /// Adds a value; null where it is no text and has to be.
    #[inline(always)]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.is_utf8 && !bytes.is_ascii() && str::from_utf8(bytes).is_err() {
            self.lost += 1;
            self.views.push_null();
        } else if !self.views.push(bytes) {
            self.lost += 1;
        }
    }

    #[inline]
    pub(super) fn push_null(&mut self) {
        self.views.push_null();
    }

    #[inline]
    pub(super) fn push_maybe(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.push(bytes),
            None => self.push_null(),
        }
    }

    pub(super) fn owned(&self) -> usize {
        self.views.owned()
    }

    /// How many values were lost since this was asked last.
    pub(super) fn lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// What was pushed.
    pub(super) fn finish(&mut self) -> Finished {
        if self.is_utf8 { Finished::Text(as_text(&mut self.views)) } else { Finished::Bytes(self.views.finish()) }
    }
}

/// What a column of views became.
pub(super) enum Finished {
    Text(StringViewArray),
    Bytes(BinaryViewArray),
}

/// A column of object ids, as hex digits or raw.
///
/// Raw ones that become digits are gathered, and spelled all at once in the end: one by one that takes most of the time.
pub(super) struct Ids {
    views: Views,
    is_hex: bool,
    /// The raw ids whose digits will be the arena, in which their views lie already.
    raw: Vec<u8>,
}

impl Ids {
    pub(super) fn new(views: Views, is_hex: bool) -> Self {
        Self { views, is_hex, raw: Vec::new() }
    }

    /// Adds an object id; null for what is none.
    #[inline(always)]
    pub(super) fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Hex(digits)
                if self.is_hex
                    && digits.len() > INLINE
                    && is_lower_hex(digits)
                    && self.views.push_where_it_lies(digits) => {}
            Value::Nothing => self.views.push_null(),
            Value::Raw(bytes) if self.is_hex => self.push_digits_of(bytes),
            Value::Raw(bytes) => {
                self.views.push(bytes);
            }
            value => self.push_other(value),
        }
    }

    #[inline(always)]
    fn push_digits_of(&mut self, bytes: &[u8]) {
        let (len, offset) = (2 * bytes.len(), 2 * self.raw.len());
        if len <= INLINE || offset + len > MOST {
            self.views.push_null();
            return;
        }
        self.raw.extend_from_slice(bytes);
        // Its first digits come later.
        self.views.add(len as u128 | (offset as u128) << 96);
    }

    #[inline(never)]
    fn push_other(&mut self, value: Value<'_>) {
        match value.to_owned() {
            Some(RefValue::Oid(oid)) => self.push(Value::Raw(oid.as_raw())),
            _ => self.views.push_null(),
        }
    }

    /// What was pushed.
    pub(super) fn finish(&mut self) -> Finished {
        if !self.is_hex {
            return Finished::Bytes(self.views.finish());
        }
        if !self.raw.is_empty() {
            self.spell_all();
        }
        Finished::Text(as_text(&mut self.views))
    }

    /// Makes the digits the arena, and puts the first ones of each into its view.
    fn spell_all(&mut self) {
        let mut arena = vec![0; 2 * self.raw.len()];
        // There is room.
        let _ = spell(&self.raw, &mut arena);
        self.raw.clear();
        for view in &mut self.views.rows {
            let part = |shift: u32| (*view >> shift & u128::from(u32::MAX)) as usize;
            let (len, buffer, offset) = (part(0), part(64), part(96));
            if len > INLINE
                && buffer == 0
                && let Some(head) = arena.get(offset..).and_then(<[u8]>::first_chunk)
            {
                *view |= u128::from(u32::from_le_bytes(*head)) << 32;
            }
        }
        self.views.arena = arena;
    }
}

/// Whether there is nothing but lower-case hex digits. Without a branch, as [`is_hex`](crate::model::is_hex).
#[inline(always)]
fn is_lower_hex(digits: &[u8]) -> bool {
    let is_digit = |b: u8| (b.wrapping_sub(b'0') < 10) | (b.wrapping_sub(b'a') < 6);
    digits.iter().fold(0, |bad, &b| bad | u8::from(!is_digit(b))) == 0
}

/// The column as text, all of whose values are.
#[expect(unsafe_code, reason = "checking every value again takes as long as all the rest; see docs/safety.md")]
fn as_text(views: &mut Views) -> StringViewArray {
    let array = views.finish();
    // SAFETY: called for a `Text` that is text, which pushes what is ASCII or was seen to be UTF-8, and for `Ids` as hex
    // digits, which pushes what `is_lower_hex` or `spell` says is digits. Both keep their views to themselves.
    unsafe { array.to_string_view_unchecked() }
}
