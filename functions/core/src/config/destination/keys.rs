//! Reads `idempotency`, on top of what a preset knows. Nothing may make keys less safe than a document says.

use jiff::SignedDuration;

use super::{
    super::{Idempotency, KeyPlace, reader::Reader, units},
    header_name,
};
use crate::{
    outbox::{KeyFormat, KeyShape},
    preset::{Keys, Preset, Spot},
};

/// The keys of a destination; `None` if it has none, or if what is said of them is wrong.
pub(super) fn idempotency(reader: &Reader<'_>, preset: Option<&'static Preset>) -> Option<Idempotency> {
    let Some(table) = reader.table("idempotency") else {
        return of_preset(reader, preset?);
    };
    let known = preset.and_then(|preset| preset.keys.as_ref());
    if let Some(preset) = preset.filter(|preset| preset.keys.is_none()) {
        table.wrong(format_args!(
            "{} takes no keys, so nothing would be recognised: remove it",
            preset.title
        ));
    }
    let place = place(&table, known);
    let shape = shape(&table, known);
    let quoted = table.boolean("quoted");
    if quoted.is_some() && known.is_some() {
        table.wrong("the preset says how the key is written: remove `quoted`");
    }
    let stores_errors = table.boolean("stores_errors");
    if stores_errors == Some(false) && known.is_some_and(|known| known.stores_errors == Some(true)) {
        table.wrong("the preset's API stores errors, as its document says: remove `stores_errors`");
    }
    let retention = retention(&table, known);
    table.finish();
    // An endpoint of the user's own does not replay what it answered: its error says nothing about the next try.
    let of_own = reader.get("sign").is_some();
    let documented = known.map_or(!of_own, |known| known.stores_errors == Some(true));
    Some(Idempotency {
        needs: known.and_then(|known| needs(known, &place)),
        place,
        shape,
        retention: retention?,
        quoted: quoted.unwrap_or(false),
        stores_errors: stores_errors.unwrap_or(documented),
    })
}

fn of_preset(reader: &Reader<'_>, preset: &'static Preset) -> Option<Idempotency> {
    let known = preset.keys.as_ref()?;
    let Some(retention) = known.retention else {
        reader.wrong(format_args!(
            "{} does not say how long it remembers keys: write idempotency = {{ retention = \"..\" }}, for how long you accept \
             to repeat a call whose outcome is unknown",
            preset.title
        ));
        return None;
    };
    let place = own_place(known);
    Some(Idempotency {
        needs: needs(known, &place),
        place,
        shape: known.shape,
        retention,
        quoted: false,
        stores_errors: known.stores_errors == Some(true),
    })
}

fn own_place(known: &Keys) -> KeyPlace {
    match known.place {
        Spot::Header(name) => KeyPlace::Header(name.to_owned()),
        Spot::Field(pointer) => KeyPlace::Field(pointer.to_owned()),
    }
}

/// What must be in the body holds for the place that the preset knows.
fn needs(known: &Keys, place: &KeyPlace) -> Option<(&'static str, &'static str)> {
    known.needs.filter(|_| *place == own_place(known))
}

fn place(table: &Reader<'_>, known: Option<&Keys>) -> KeyPlace {
    let header = table.parsed("header", header_name);
    let field = table.parsed("field", pointer);
    if table.get("header").is_some() && table.get("field").is_some() {
        table.wrong("`header` and `field` exclude each other: the key goes to one place");
    }
    let elsewhere = match known.map(|known| known.place) {
        Some(Spot::Header(name)) => (field.is_some()
            || header
                .as_ref()
                .is_some_and(|found| !found.value.eq_ignore_ascii_case(name)))
        .then(|| format!("in the header `{name}`")),
        Some(Spot::Field(_)) => header.is_some().then(|| "in the body".to_owned()),
        None => None,
    };
    if let Some(there) = elsewhere {
        table.wrong(format_args!(
            "the preset's API takes its key {there} and ignores it elsewhere: remove it, or `preset`"
        ));
    }
    match (header, field, known) {
        (Some(header), ..) => KeyPlace::Header(header.value),
        (_, Some(field), _) => KeyPlace::Field(field.value),
        (.., Some(known)) => own_place(known),
        _ => KeyPlace::Header("Idempotency-Key".to_owned()),
    }
}

fn pointer(text: &str) -> Result<String, String> {
    let escaped = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if text.len() < 2 || !text.starts_with('/') || !escaped {
        return Err(format!(
            "`{text}` is not a JSON Pointer, such as \"/idempotency_key\""
        ));
    }
    Ok(text.to_owned())
}

fn shape(table: &Reader<'_>, known: Option<&Keys>) -> KeyShape {
    let usual = known.map_or(KeyShape::DEFAULT, |known| known.shape);
    let format = table
        .word("format", &[("hex", KeyFormat::Hex), ("uuid", KeyFormat::Uuid)])
        .unwrap_or(usual.format);
    let longest = known.and_then(|known| known.longest);
    // Fewer hex digits than 32 are fewer bits than 128: keys of different effects could meet.
    let max_length = table.integer(
        "max_length",
        KeyShape::SHORTEST as u64,
        longest.map_or(4096, |longest| longest as u64),
    );
    let usual_length = if format == usual.format {
        usual.max_length
    } else {
        longest.unwrap_or(64).min(64)
    };
    let max_length = max_length
        .and_then(|number| usize::try_from(number).ok())
        .unwrap_or(usual_length);
    if format == KeyFormat::Uuid && max_length < 36 {
        table.wrong("a UUID has 36 characters: raise `max_length`, or use format = \"hex\"");
    }
    KeyShape { format, max_length }
}

fn retention(table: &Reader<'_>, known: Option<&Keys>) -> Option<SignedDuration> {
    let documented = known.and_then(|known| known.retention);
    if table.get("retention").is_none() && documented.is_none() {
        table.wrong(
            "`retention` is missing: how long the destination remembers a key, as its documentation says",
        );
    }
    let given = table.duration("retention", "1m", "3650d");
    let meant = table.boolean("longer_than_documented").unwrap_or(false);
    match (given, documented) {
        (Some(given), Some(documented)) if given > documented && !meant => table.wrong(format_args!(
            "`retention` is {}, but the API's document promises {} only: after that a repetition can act twice. If you know \
             better, write longer_than_documented = true",
            units::show(given),
            units::show(documented)
        )),
        (given, Some(documented)) if meant && given.is_none_or(|given| given <= documented) => table.wrong(
            "`longer_than_documented` has nothing to confirm: remove it",
        ),
        (_, None) if meant => table.wrong("`longer_than_documented` belongs to a preset that documents its retention: remove it"),
        _ => {}
    }
    if table.get("retention").is_some() {
        given
    } else {
        documented
    }
}
