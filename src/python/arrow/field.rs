//! The columns that there are, and the types that each may have.

use arrow_schema::{DataType, TimeUnit};

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Name,
    Oid,
    Peeled,
    Target,
    Kind,
    UpdateIndex,
    Namespace,
    Broken,
    NameBytes,
    Repository,
    Error,
    Ref,
    Old,
    New,
    CommitterName,
    CommitterEmail,
    Time,
    Tz,
    Message,
    Index,
    RefBytes,
    Before,
    After,
    Offset,
    Length,
    Records,
    Restarts,
    Format,
    Hash,
    Head,
    Refs,
}

/// What the rows are: the columns that they may have, and how many of these they have unless asked otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) fields: &'static [Field],
    pub(super) usual: usize,
}

/// A ref each.
pub(super) const REFS: Shape = Shape {
    fields: &[
        Field::Name,
        Field::Oid,
        Field::Peeled,
        Field::Target,
        Field::Kind,
        Field::UpdateIndex,
        Field::Namespace,
        Field::Broken,
        Field::NameBytes,
        Field::Repository,
    ],
    usual: 4,
};

/// A reflog entry each.
pub(super) const LOGS: Shape = Shape {
    fields: &[
        Field::Ref,
        Field::Old,
        Field::New,
        Field::CommitterName,
        Field::CommitterEmail,
        Field::Time,
        Field::Tz,
        Field::Message,
        Field::Index,
        Field::UpdateIndex,
        Field::Namespace,
        Field::RefBytes,
        Field::Repository,
    ],
    usual: 9,
};

/// A repository each.
pub(super) const REPOSITORIES: Shape = Shape {
    fields: &[Field::Repository, Field::Format, Field::Hash, Field::Head, Field::Refs, Field::Error],
    usual: 6,
};

/// A ref each, of many repositories.
pub(super) const FLEET_REFS: Shape = Shape {
    fields: &[
        Field::Repository,
        Field::Name,
        Field::Oid,
        Field::Peeled,
        Field::Target,
        Field::Error,
        Field::Kind,
        Field::UpdateIndex,
        Field::Namespace,
        Field::Broken,
        Field::NameBytes,
    ],
    usual: 6,
};

/// A reflog entry each, of many repositories.
pub(super) const FLEET_LOGS: Shape = Shape {
    fields: &[
        Field::Repository,
        Field::Ref,
        Field::Old,
        Field::New,
        Field::CommitterName,
        Field::CommitterEmail,
        Field::Time,
        Field::Tz,
        Field::Message,
        Field::Index,
        Field::Error,
        Field::UpdateIndex,
        Field::Namespace,
        Field::RefBytes,
    ],
    usual: 11,
};

/// A change each.
pub(super) const CHANGES: Shape = Shape {
    fields: &[Field::Name, Field::Kind, Field::Before, Field::After, Field::Namespace, Field::NameBytes],
    usual: 4,
};

/// A block of a table each.
pub(super) const BLOCKS: Shape =
    Shape { fields: &[Field::Kind, Field::Offset, Field::Length, Field::Records, Field::Restarts], usual: 5 };

/// What values a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Text, of which what is not UTF-8 is null.
    Text,
    Bytes,
    /// Object ids: text is hex, binary is raw.
    Id,
    Number,
    /// Text of few values.
    Dictionary,
    Time,
}

impl Field {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Oid => "oid",
            Self::Peeled => "peeled",
            Self::Target => "target",
            Self::Kind => "kind",
            Self::UpdateIndex => "update_index",
            Self::Namespace => "namespace",
            Self::Broken => "broken",
            Self::NameBytes => "name_bytes",
            Self::Repository => "repository",
            Self::Error => "error",
            Self::Ref => "ref",
            Self::Old => "old",
            Self::New => "new",
            Self::CommitterName => "committer_name",
            Self::CommitterEmail => "committer_email",
            Self::Time => "time",
            Self::Tz => "tz",
            Self::Message => "message",
            Self::Index => "index",
            Self::RefBytes => "ref_bytes",
            Self::Before => "before",
            Self::After => "after",
            Self::Offset => "offset",
            Self::Length => "length",
            Self::Records => "records",
            Self::Restarts => "restarts",
            Self::Format => "format",
            Self::Hash => "hash",
            Self::Head => "head",
            Self::Refs => "refs",
        }
    }

    fn class(self) -> Class {
        match self {
            Self::Oid | Self::Peeled | Self::Old | Self::New => Class::Id,
            Self::NameBytes | Self::RefBytes => Class::Bytes,
            Self::UpdateIndex
            | Self::Index
            | Self::Offset
            | Self::Length
            | Self::Records
            | Self::Restarts
            | Self::Refs => Class::Number,
            Self::Namespace => Class::Dictionary,
            Self::Time => Class::Time,
            _ => Class::Text,
        }
    }

    /// The type that the column has unless asked otherwise.
    pub(super) fn usual_type(self, is_raw: bool) -> DataType {
        match self.class() {
            Class::Id if is_raw => DataType::BinaryView,
            Class::Text | Class::Id => DataType::Utf8View,
            Class::Bytes => DataType::BinaryView,
            Class::Number => DataType::UInt64,
            Class::Dictionary => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Class::Time => DataType::Timestamp(TimeUnit::Second, Some("UTC".into())),
        }
    }

    /// Whether the column can have that type.
    pub(super) fn may_be(self, data_type: &DataType) -> bool {
        let is_text = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let is_binary = matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView);
        match self.class() {
            Class::Text => is_text || is_binary,
            Class::Bytes => is_binary,
            Class::Id => is_text || is_binary || matches!(data_type, DataType::FixedSizeBinary(_)),
            Class::Number | Class::Time => *data_type == self.usual_type(false),
            Class::Dictionary => is_text || *data_type == self.usual_type(false),
        }
    }

    /// The types it can have, for people.
    pub(super) fn types(self) -> &'static str {
        match self.class() {
            Class::Text => "utf8, large_utf8, string_view, binary, large_binary, binary_view",
            Class::Bytes => "binary, large_binary, binary_view",
            Class::Id => {
                "utf8, large_utf8, string_view (hex); binary, large_binary, binary_view, fixed_size_binary (raw)"
            }
            Class::Number => "uint64",
            Class::Dictionary => "dictionary of int32 and utf8; utf8, large_utf8, string_view",
            Class::Time => "timestamp in seconds, UTC",
        }
    }
}
