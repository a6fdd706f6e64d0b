//! Refs in order, from a file, from tables or from a repository, batch by batch.

use std::sync::Arc;

use arrow_buffer::Buffer;

use super::ref_columns::RefColumns;
use super::source::{of_loose, of_packed, of_table};
use crate::model::{Broken, Interrupt, Oid, RefValue, Result, Selection, Value};
use crate::packed::{Cursor, Snapshot};
use crate::store::{Asker, Item, PackedFile, Peeled, Query, Tables, View, Walk};

/// Rows between two looks at how large the batch has become.
const STRIDE: usize = 1 << 10;

/// A walk over refs.
pub(super) struct RefRows {
    walk: Kind,
    sources: Vec<Buffer>,
}

enum Kind {
    Packed(Arc<PackedFile>, Cursor, Query),
    Tables(Arc<Tables>, crate::store::RefWalk, Query),
    Store(Box<(Walk, Peeler)>),
}

impl RefRows {
    /// All that a packed-refs file has and the query lets pass.
    pub(super) fn of_packed(file: Arc<PackedFile>, query: Query) -> Result<Self> {
        let cursor = file.select(Selection { prefix: &query.prefix, ..Selection::default() })?;
        Ok(Self { sources: vec![of_packed(&file)], walk: Kind::Packed(file, cursor, query) })
    }

    /// All that tables have and the query lets pass.
    pub(super) fn of_tables(tables: Arc<Tables>, query: Query) -> Self {
        let walk = tables.select(&Selection { prefix: &query.prefix, ..Selection::default() });
        Self { sources: tables.files().iter().map(of_table).collect(), walk: Kind::Tables(tables, walk, query) }
    }

    /// The refs of a repository that the query selects.
    pub(super) fn of_view(view: &Arc<View>, query: Query) -> Result<Self> {
        let walk = view.walk(query)?;
        let mut sources = Vec::new();
        if let Some((loose, packed)) = walk.in_files() {
            sources.extend(packed.map(of_packed));
            sources.push(of_loose(loose));
        }
        let tables = (0..).map_while(|side| walk.tables(side));
        sources.extend(tables.flat_map(|tables| tables.files()).map(of_table));
        Ok(Self { walk: stored(walk), sources })
    }

    /// These rows as several, one after the other, of about so many bytes each. Where one ends the next one must begin: see
    /// [`Self::place`].
    pub(super) fn split(self, bytes: usize) -> Vec<Self> {
        let Self { walk, sources } = self;
        let walks: Vec<Kind> = match walk {
            Kind::Packed(file, cursor, query) => {
                let cursors = cursor.split(file.snapshot().data(), bytes).into_iter();
                cursors.map(|cursor| Kind::Packed(file.clone(), cursor, query.clone())).collect()
            }
            Kind::Tables(tables, _, query) => {
                let selection = Selection { prefix: &query.prefix, ..Selection::default() };
                let walks = tables.select_parts(&selection, bytes).into_iter();
                walks.map(|walk| Kind::Tables(tables.clone(), walk, query.clone())).collect()
            }
            Kind::Store(store) => store.0.split(bytes).into_iter().map(stored).collect(),
        };
        walks.into_iter().map(|walk| Self { walk, sources: sources.clone() }).collect()
    }

    /// Goes to where they begin, if they have not begun.
    pub(super) fn begin(&mut self) -> Result<()> {
        match &mut self.walk {
            Kind::Packed(..) => Ok(()),
            Kind::Tables(tables, walk, _) => tables.begin(walk),
            Kind::Store(store) => store.0.begin(),
        }
    }

    /// Where they stand in each table; of no meaning for packed-refs, whose parts are cut at records.
    pub(super) fn place(&self) -> Vec<Option<usize>> {
        match &self.walk {
            Kind::Packed(..) => Vec::new(),
            Kind::Tables(_, walk, _) => walk.place(),
            Kind::Store(store) => store.0.place(),
        }
    }

    /// Whether they begin where others end.
    pub(super) fn check_joint(&self, end: &[Option<usize>], start: &[Option<usize>]) -> Result<()> {
        match &self.walk {
            Kind::Tables(tables, ..) => tables.check_joint(end, start),
            Kind::Store(store) => store.0.tables(0).map_or(Ok(()), |tables| tables.check_joint(end, start)),
            Kind::Packed(..) => Ok(()),
        }
    }

    /// What values of refs may lie in.
    pub(super) fn sources(&self) -> &[Buffer] {
        &self.sources
    }

    /// Adds the next refs, until there are `most` rows in all, or the batch is large. Returns whether there may be more.
    pub(super) fn fill(
        &mut self,
        columns: &mut RefColumns,
        most: usize,
        repository: Option<&[u8]>,
        interrupt: Interrupt<'_>,
    ) -> Result<bool> {
        while columns.rows() < most && !columns.is_large() {
            let stride = most.min(columns.rows() + STRIDE);
            let more = match &mut self.walk {
                Kind::Packed(file, cursor, query) => fill_packed(file, cursor, query, columns, stride, repository)?,
                Kind::Tables(tables, walk, query) => {
                    let glob = Some(&*query).filter(|query| !query.is_by_seeks());
                    fill_tables(tables, walk, glob, columns, stride, repository, interrupt)?
                }
                Kind::Store(store) => fill_store(&mut store.0, &mut store.1, columns, stride, repository, interrupt)?,
            };
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn fill_packed(
    file: &PackedFile,
    cursor: &mut Cursor,
    query: &Query,
    columns: &mut RefColumns,
    most: usize,
    repository: Option<&[u8]>,
) -> Result<bool> {
    let snapshot = file.snapshot();
    let (tells_broken, takes_all) = (columns.tells_broken(), query.is_by_seeks());
    while columns.rows() < most {
        let Some(record) = file.next(cursor)? else { return Ok(false) };
        if !takes_all && !query.passes(snapshot.bytes(record.name())) {
            continue;
        }
        let is_duplicate = tells_broken && snapshot.broken(&record) == Some(Broken::Duplicate);
        columns.push(Item::Packed(snapshot, record, is_duplicate), None, repository);
    }
    Ok(true)
}

fn fill_tables(
    tables: &Tables,
    walk: &mut crate::store::RefWalk,
    glob: Option<&Query>,
    columns: &mut RefColumns,
    most: usize,
    repository: Option<&[u8]>,
    interrupt: Interrupt<'_>,
) -> Result<bool> {
    while columns.rows() < most {
        let Some(number) = tables.next_unless(walk, interrupt)? else { return Ok(false) };
        let Some(cursor) = walk.cursor(number) else { return Ok(false) };
        let item = Item::Table(cursor.batch(), cursor.index(), cursor.table().data());
        if glob.is_none_or(|glob| glob.passes(item.name())) {
            columns.push(item, None, repository);
        }
    }
    Ok(true)
}

fn fill_store(
    walk: &mut Walk,
    asks: &mut Peeler,
    columns: &mut RefColumns,
    most: usize,
    repository: Option<&[u8]>,
    interrupt: Interrupt<'_>,
) -> Result<bool> {
    let packed = walk.in_files().and_then(|(_, packed)| packed.cloned());
    while columns.rows() < most {
        if let Some((tables, walk)) = walk.stack()
            && fill_tables(tables, walk, None, columns, most, repository, interrupt)?
        {
            break;
        }
        if let Some(packed) = &packed {
            fill_plain(packed.snapshot(), walk, asks, columns, most, repository)?;
            if columns.rows() == most {
                break;
            }
        }
        let Some(step) = walk.next(interrupt)? else { return Ok(false) };
        let item = walk.item(&step);
        let peeled = if columns.tells_peeled() && item.peeled() == Peeled::Unknown && !matches!(item, Item::Table(..)) {
            asks.peel(walk, item.value())?
        } else {
            None
        };
        columns.push(item, peeled, repository);
    }
    Ok(true)
}

/// The packed refs that come next, up to one that a loose ref may come before or stand for.
#[inline(always)]
fn fill_plain(
    snapshot: &Snapshot,
    walk: &mut Walk,
    asks: &mut Peeler,
    columns: &mut RefColumns,
    most: usize,
    repository: Option<&[u8]>,
) -> Result<()> {
    let tells_peeled = columns.tells_peeled();
    while columns.rows() < most {
        let Some((record, is_duplicate)) = walk.next_packed() else { break };
        let item = Item::Packed(snapshot, record, is_duplicate);
        let is_unknown = tells_peeled && !snapshot.peel_known(&record);
        let peeled = if is_unknown { asks.peel(walk, item.value())? } else { None };
        columns.push(item, peeled, repository);
    }
    Ok(())
}

fn stored(walk: Walk) -> Kind {
    Kind::Store(Box::new((walk, Peeler::default())))
}

/// What the object database says that objects point at in the end.
#[derive(Default)]
struct Peeler {
    asker: Option<Asker>,
    /// What was said last: of refs in a row many are of one object.
    last: Option<(Oid, Option<Oid>)>,
}

impl Peeler {
    #[inline(never)]
    fn peel(&mut self, walk: &Walk, value: Value<'_>) -> Result<Option<Oid>> {
        let (Some(RefValue::Oid(oid)), Some(repository)) = (value.to_owned(), walk.view().repository()) else {
            return Ok(None);
        };
        if let Some((_, peeled)) = self.last.filter(|(last, _)| *last == oid) {
            return Ok(peeled);
        }
        let asker = match &mut self.asker {
            Some(asker) => asker,
            None => self.asker.insert(repository.objects.asker()?),
        };
        let peeled = asker.peel(&oid);
        self.last = Some((oid, peeled));
        Ok(peeled)
    }
}
