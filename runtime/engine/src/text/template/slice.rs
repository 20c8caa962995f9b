//! Slices in templates, as Python has them. The engine's own are lazy, and one of a text goes through the text without a charge.

use super::weight::{charge, made};
use minijinja::value::Tuple;
use minijinja::{Error, ErrorKind, State, Value};

/// `value[start:stop:step]`; what is undefined or none is empty.
pub(super) fn slice(state: &State, values: &[Value]) -> Result<Value, Error> {
    let [value, start, stop, step] = values else {
        return Err(Error::from(ErrorKind::MissingArgument));
    };
    charge(state, value)?;
    let number = |value: &Value| match value.is_none() {
        true => Ok(None),
        false => i64::try_from(value.clone()).map(Some),
    };
    let (start, stop, step) = (number(start)?, number(stop)?, number(step)?.unwrap_or(1));
    if step == 0 {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "a slice has a step of 0",
        ));
    }
    if let Some(text) = value.as_str() {
        // Bytes are characters where all are ASCII.
        let whole = text.is_ascii().then_some(text.len());
        let count = whole.unwrap_or_else(|| text.chars().count());
        let places = places(start, stop, step, count);
        if step == 1 {
            let (first, length) = (places.clone().next().unwrap_or(0), places.count());
            let cut = match whole {
                Some(_) => text[first..first + length].to_owned(),
                None => text.chars().skip(first).take(length).collect(),
            };
            return Ok(Value::from(cut));
        }
        let characters: Vec<char> = text.chars().collect();
        let cut: String = places.filter_map(|at| characters.get(at)).collect();
        return Ok(Value::from(cut));
    }
    if value.is_undefined() || value.is_none() {
        return Ok(Value::from_object(Vec::<Value>::new()));
    }
    let pick = |values: &[Value]| -> Vec<Value> {
        places(start, stop, step, values.len())
            .filter_map(|at| values.get(at).cloned())
            .collect()
    };
    let cut = if let Some(list) = value.downcast_object_ref::<Vec<Value>>() {
        Value::from_object(pick(list))
    } else if let Some(tuple) = value.downcast_object_ref::<Tuple>() {
        Value::from(Tuple::from(pick(tuple)))
    } else {
        let words = format!("a {} has no slices", value.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, words));
    };
    made(state, cut)
}

/// The places that a slice takes, of so many.
fn places(
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
    count: usize,
) -> impl Iterator<Item = usize> + Clone {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let (low, high) = match step > 0 {
        true => (0, count),
        false => (-1, count - 1),
    };
    let bound = |at: i64| match at < 0 {
        true => at.saturating_add(count).max(low),
        false => at.min(high),
    };
    let (whole_start, whole_stop) = match step > 0 {
        true => (low, high),
        false => (high, low),
    };
    let start = start.map_or(whole_start, bound);
    let stop = stop.map_or(whole_stop, bound);
    let way = match step > 0 {
        true => stop.saturating_sub(start),
        false => start.saturating_sub(stop),
    };
    let stride = step.unsigned_abs();
    let taken = (way.max(0) as u64).div_ceil(stride);
    // Every place lies below the count, so nothing here is too large.
    (0..taken).map(move |number| {
        let offset = (number * stride) as i64;
        let at = if step > 0 {
            start + offset
        } else {
            start - offset
        };
        at as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(start: Option<i64>, stop: Option<i64>, step: i64, count: usize) -> Vec<usize> {
        places(start, stop, step, count).collect()
    }

    #[test]
    fn places_are_those_of_python() {
        assert_eq!(taken(Some(1), None, 1, 4), [1, 2, 3]);
        assert_eq!(taken(None, Some(-1), 1, 4), [0, 1, 2]);
        assert_eq!(taken(None, None, -1, 3), [2, 1, 0]);
        assert_eq!(taken(Some(-2), None, 1, 5), [3, 4]);
        assert_eq!(taken(Some(-9), Some(9), 2, 5), [0, 2, 4]);
        assert_eq!(taken(Some(3), Some(0), -2, 5), [3, 1]);
        assert_eq!(taken(Some(-1), Some(-9), -1, 3), [2, 1, 0]);
        assert_eq!(taken(Some(2), Some(1), 1, 5), [0; 0]);
        assert_eq!(taken(None, None, i64::MIN, 3), [2]);
        assert_eq!(taken(Some(i64::MIN), Some(i64::MAX), i64::MAX, 3), [0]);
        assert_eq!(taken(None, None, 1, 0), [0; 0]);
        assert_eq!(taken(None, None, -1, 0), [0; 0]);
    }
}
