//! What callers may pass: names as `str`, bytes-like or `RefView`; object ids as hex or raw; paths.

use std::path::PathBuf;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::error::{raise, to_py};
use super::git_ref::Ref;
use super::ref_view::RefView;
use crate::model::{Error, HashKind, Oid};

/// A refname, or a part of one, as bytes.
pub(super) struct Name<'py>(NameBytes<'py>);

enum NameBytes<'py> {
    Str(Bound<'py, PyString>),
    Bytes(Bound<'py, PyBytes>),
    Owned(Vec<u8>),
}

impl Name<'_> {
    pub(super) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            // It was asked for once already, hence is cached by the string and cannot fail now.
            NameBytes::Str(name) => name.to_str().unwrap_or_default().as_bytes(),
            NameBytes::Bytes(name) => name.as_bytes(),
            NameBytes::Owned(name) => name,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Name<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let value = value.to_owned();
        if let Ok(name) = value.cast::<PyString>() {
            if name.to_str().is_ok() {
                return Ok(Self(NameBytes::Str(name.clone())));
            }
            // Lone surrogates: a name that is not UTF-8, as `RefView.refname` spells it.
            // The method of `str` itself: a subclass may have another.
            let encode = (name, "utf-8", "surrogateescape");
            let bytes = value.py().get_type::<PyString>().call_method1("encode", encode);
            let args = (name, "not a refname: it cannot be spelled in bytes");
            let bytes = bytes.map_err(|_| raise(value.py(), "RefNameError", args))?;
            return Ok(Self(NameBytes::Bytes(bytes.cast_into()?)));
        }
        if let Ok(name) = value.cast::<PyBytes>() {
            return Ok(Self(NameBytes::Bytes(name.clone())));
        }
        if let Ok(view) = value.cast::<RefView>() {
            return Ok(Self(NameBytes::Owned(view.get().name_bytes().to_vec())));
        }
        if let Ok(found) = value.cast::<Ref>() {
            return Ok(Self(NameBytes::Owned(found.get().name_bytes().to_vec())));
        }
        match bytes_of(&value)? {
            Some(name) => Ok(Self(NameBytes::Owned(name))),
            None => Err(PyTypeError::new_err(format!(
                "a refname is str, a bytes-like object, a RefView or a Ref, not {}",
                value.get_type().name()?
            ))),
        }
    }
}

/// Several names. Taken one by one: what an object says of its length is no reason to believe it.
pub(super) fn names<'py>(names: Option<&Bound<'py, PyAny>>) -> PyResult<Vec<Name<'py>>> {
    let Some(names) = names else { return Ok(Vec::new()) };
    let is_one = names.is_instance_of::<PyString>()
        || names.is_instance_of::<PyBytes>()
        || names.is_instance_of::<RefView>()
        || names.is_instance_of::<Ref>();
    if is_one {
        return Err(PyTypeError::new_err("several names are wanted here, not one"));
    }
    names.try_iter()?.map(|name| name?.extract()).collect()
}

/// Refuses what looks like a glob where names are taken literally: it would silently match nothing.
pub(super) fn not_patterns(py: Python<'_>, names: &[Name<'_>]) -> PyResult<()> {
    match names.iter().map(Name::as_bytes).find(|name| name.iter().any(|b| b"*?[\\".contains(b))) {
        None => Ok(()),
        Some(name) => Err(to_py(
            py,
            Error::RefName { name: name.to_vec(), reason: "patterns are not supported here, only names" },
        )),
    }
}

/// An object id from hex `str`, hex bytes or raw bytes, or the one that a `Ref` holds.
pub(super) fn oid(value: &Bound<'_, PyAny>) -> PyResult<Oid> {
    if let Ok(found) = value.cast::<Ref>() {
        let oid = found.get().direct_oid();
        return oid.ok_or_else(|| raise(value.py(), "InvalidValueError", (None::<&str>, value)));
    }
    let oid = if let Ok(hex) = value.cast::<PyString>() {
        hex.to_str().ok().and_then(|hex| Oid::from_hex(hex.as_bytes()))
    } else {
        let bytes = bytes_of(value)?;
        let bytes =
            bytes.ok_or_else(|| PyTypeError::new_err("an object id is hex str, hex bytes or raw bytes, or a Ref"))?;
        Oid::from_raw(&bytes).or_else(|| Oid::from_hex(&bytes))
    };
    oid.ok_or_else(|| raise(value.py(), "InvalidValueError", (None::<&str>, value)))
}

/// The hash of a `hash=` argument.
pub(super) fn hash(name: Option<&str>) -> PyResult<Option<HashKind>> {
    name.map(|name| {
        HashKind::from_name(name)
            .ok_or_else(|| PyValueError::new_err(format!("hash is 'sha1' or 'sha256', not {name:?}")))
    })
    .transpose()
}

/// A path that the system can be asked about.
pub(super) fn path(path: PathBuf) -> PyResult<PathBuf> {
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(PyValueError::new_err("embedded null byte in path"));
    }
    Ok(path)
}

/// A copy of a bytes-like object; `None` for other objects. A copy, because its owner may change it meanwhile.
fn bytes_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    match PyBuffer::<u8>::get(value) {
        Ok(buffer) => buffer.to_vec(value.py()).map(Some),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Ok(None),
        Err(error) => Err(error),
    }
}
