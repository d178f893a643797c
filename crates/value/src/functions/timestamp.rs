//! Points in time with an offset, as RFC 3339 writes them, and durations.
//!
//! The calendar is the proleptic Gregorian one; years may leave 0 to 9999 by arithmetic. There are no leap seconds.

use std::fmt;

use ecow::{EcoString, eco_format};

/// A point in time, and the offset from UTC it was or will be written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z.
    seconds: i64,
    nanos: u32,
    /// Seconds east of UTC.
    offset: i32,
}

/// The parts of a timestamp in its own offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u8,
    pub(crate) day: u8,
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
    /// Sunday is 0.
    pub(crate) weekday: u8,
}

const DAY: i64 = 86_400;

impl Timestamp {
    /// A point in time in UTC, by seconds since 1970 and nanoseconds after that.
    pub fn from_unix(seconds: i64, nanos: u32) -> Timestamp {
        Timestamp { seconds, nanos: nanos.min(999_999_999), offset: 0 }
    }
    /// Reads RFC 3339 syntax, and nothing else.
    pub fn parse_strict(text: &str) -> Result<Timestamp, EcoString> {
        Layout::RFC3339_STRICT.parse(text)
    }
    /// Reads RFC 3339 syntax; an hour of one digit, a comma before the fraction and offsets up to 24:60 pass too.
    pub(crate) fn parse_lenient(text: &str) -> Result<Timestamp, EcoString> {
        Layout::RFC3339_LENIENT.parse(text)
    }
    /// Reads the forms that YAML calls a timestamp.
    pub(crate) fn parse_yaml(text: &str) -> Option<Timestamp> {
        if text.bytes().take_while(u8::is_ascii_digit).count() != 4 {
            return None;
        }
        Layout::YAML.iter().find_map(|layout| layout.parse(text).ok())
    }

    /// Seconds since the epoch, and nanoseconds within the second.
    pub fn instant(&self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }
    pub(crate) fn offset(&self) -> i32 {
        self.offset
    }
    /// The offset as sign, hours and minutes.
    pub(crate) fn offset_text(&self, separator: &str) -> EcoString {
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        eco_format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60)
    }
    /// The point in time some nanoseconds later.
    pub(crate) fn plus(&self, nanoseconds: i64) -> Timestamp {
        let nanos = i64::from(self.nanos) + nanoseconds % 1_000_000_000;
        let seconds = self.seconds + nanoseconds / 1_000_000_000 + nanos.div_euclid(1_000_000_000);
        Timestamp { seconds, nanos: nanos.rem_euclid(1_000_000_000) as u32, offset: self.offset }
    }
    pub(crate) fn civil(&self) -> Civil {
        let local = self.seconds.saturating_add(i64::from(self.offset));
        let days = local.div_euclid(DAY);
        let second = local.rem_euclid(DAY);
        let (year, month, day) = date_of(days);
        Civil {
            year,
            month,
            day,
            hour: (second / 3600) as u8,
            minute: (second / 60 % 60) as u8,
            second: (second % 60) as u8,
            weekday: (days + 4).rem_euclid(7) as u8,
        }
    }
}

/// RFC 3339 without fraction.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second, .. } = self.civil();
        let sign = if year < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", year.unsigned_abs())?;
        if self.offset == 0 { f.write_str("Z") } else { f.write_str(&self.offset_text(":")) }
    }
}

/// Year, month and day of a day counted from 1970-01-01. Years are taken to begin in March, so that the leap day is
/// the last day of a year, and 400 of them always have the same number of days.
fn date_of(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month as u8, day as u8)
}

/// The inverse of [`date_of`].
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Accepted forms of a timestamp.
struct Layout {
    /// Month, day, minute and second may have one digit.
    short_fields: bool,
    short_hour: bool,
    comma: bool,
    /// Separator of date and time; `None` if there is no time.
    separator: Option<u8>,
    zone: bool,
    max_zone: (i64, i64),
}

impl Layout {
    const RFC3339_STRICT: Layout = Layout {
        short_fields: false,
        short_hour: false,
        comma: false,
        separator: Some(b'T'),
        zone: true,
        max_zone: (23, 59),
    };
    const RFC3339_LENIENT: Layout =
        Layout { short_hour: true, comma: true, max_zone: (24, 60), ..Layout::RFC3339_STRICT };
    const YAML: [Layout; 4] = [
        Layout { short_fields: true, ..Layout::RFC3339_LENIENT },
        Layout { short_fields: true, separator: Some(b't'), ..Layout::RFC3339_LENIENT },
        Layout { short_fields: true, separator: Some(b' '), zone: false, ..Layout::RFC3339_LENIENT },
        Layout { short_fields: true, separator: None, zone: false, ..Layout::RFC3339_LENIENT },
    ];

    fn parse(&self, text: &str) -> Result<Timestamp, EcoString> {
        let mut scan = Scan { rest: text.as_bytes() };
        let year = scan.number("year", 4, 4, 0..=9999)?;
        scan.expect(b'-')?;
        let shortest = if self.short_fields { 1 } else { 2 };
        let month = scan.number("month", shortest, 2, 1..=12)?;
        scan.expect(b'-')?;
        let day = scan.number("day of month", shortest, 2, 1..=days_in(year, month))?;
        let mut seconds = days_of(year, month, day) * DAY;
        let (mut nanos, mut offset) = (0, 0);
        if let Some(separator) = self.separator {
            scan.expect(separator)?;
            while separator == b' ' && scan.take(b' ') {}
            let hour = scan.number("hour", if self.short_hour { 1 } else { 2 }, 2, 0..=23)?;
            scan.expect(b':')?;
            let minute = scan.number("minute", shortest, 2, 0..=59)?;
            scan.expect(b':')?;
            let second = scan.number("second", shortest, 2, 0..=59)?;
            seconds += hour * 3600 + minute * 60 + second;
            nanos = scan.fraction(if self.comma { b".," } else { b"." });
        }
        if self.zone && !scan.take(b'Z') {
            let sign = match scan.rest.first() {
                Some(b'+') => 1,
                Some(b'-') => -1,
                Some(_) => return Err(invalid(eco_format!("cannot use {:?} as UTC offset", scan.rest()))),
                None => return Err(invalid("end of string before UTC offset")),
            };
            scan.rest = &scan.rest[1..];
            let hours = scan.number("hour of the UTC offset", 2, 2, 0..=self.max_zone.0)?;
            scan.expect(b':')?;
            let minutes = scan.number("minute of the UTC offset", 2, 2, 0..=self.max_zone.1)?;
            offset = sign * (hours * 3600 + minutes * 60);
        }
        if !scan.rest.is_empty() {
            return Err(invalid(eco_format!("extra text {:?} at the end", scan.rest())));
        }
        Ok(Timestamp { seconds: seconds - offset, nanos, offset: offset as i32 })
    }
}

fn invalid(problem: impl fmt::Display) -> EcoString {
    eco_format!("not a valid RFC3339 timestamp: {problem}")
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl Scan<'_> {
    fn rest(&self) -> String {
        String::from_utf8_lossy(self.rest).into_owned()
    }
    fn take(&mut self, wanted: u8) -> bool {
        let found = self.rest.first() == Some(&wanted);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }
    fn expect(&mut self, wanted: u8) -> Result<(), EcoString> {
        if self.take(wanted) {
            return Ok(());
        }
        let wanted = char::from(wanted);
        Err(match self.rest.is_empty() {
            true => invalid(eco_format!("end of string where {wanted:?} is expected")),
            false => invalid(eco_format!("found {:?} where {wanted:?} is expected", self.rest())),
        })
    }
    fn number(
        &mut self,
        what: &str,
        shortest: usize,
        longest: usize,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<i64, EcoString> {
        if self.rest.is_empty() {
            return Err(invalid(eco_format!("end of string before {what}")));
        }
        let count = self.rest.iter().take(longest).take_while(|b| b.is_ascii_digit()).count();
        if count < shortest {
            return Err(invalid(eco_format!("cannot use {:?} as {what}", self.rest())));
        }
        let (digits, rest) = self.rest.split_at(count);
        let number = digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
        if !range.contains(&number) {
            return Err(invalid(eco_format!("{what} must be between {} and {}", range.start(), range.end())));
        }
        self.rest = rest;
        Ok(number)
    }
    /// Nanoseconds; digits past the ninth are dropped.
    fn fraction(&mut self, separators: &[u8]) -> u32 {
        let separated = self.rest.first().is_some_and(|byte| separators.contains(byte));
        let count = self.rest.iter().skip(1).take_while(|b| b.is_ascii_digit()).count();
        if !separated || count == 0 {
            return 0;
        }
        let (digits, rest) = self.rest[1..].split_at(count);
        self.rest = rest;
        digits.iter().chain([b'0'; 9].iter()).take(9).fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0'))
    }
}

/// Reads a duration, like `1h30m` or `-1.5s`, in nanoseconds.
pub fn parse_duration(text: &str) -> Result<i64, EcoString> {
    let fail = |problem: &str| {
        Err(eco_format!("{text:?} is not a valid duration: {problem}; it looks like \"1h30m\" or \"-2.5s\""))
    };
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return fail("there is no number");
    }
    // Magnitudes up to 2^63: the negative end of the range is one longer than the positive one.
    const LIMIT: u64 = 1 << 63;
    let mut total = 0u64;
    while !rest.is_empty() {
        let whole_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, tail) = rest.split_at(whole_digits);
        let (fraction, tail) = match tail.strip_prefix('.') {
            Some(tail) => tail.split_at(tail.bytes().take_while(u8::is_ascii_digit).count()),
            None => ("", tail),
        };
        if whole.is_empty() && fraction.is_empty() {
            return fail("a number is expected before each unit");
        }
        let Some(whole) = (if whole.is_empty() { Some(0) } else { whole.parse::<u64>().ok() }).filter(|w| *w <= LIMIT)
        else {
            return fail("it is too long");
        };
        let (unit, tail) = tail.split_at(tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len()));
        rest = tail;
        let nanos: u64 = match unit {
            "" => return fail("a unit is missing"),
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return fail("units are h, m, s, ms, us and ns"),
        };
        let (fraction, scale) = leading_fraction(fraction);
        let part = whole.checked_mul(nanos).filter(|part| *part <= LIMIT);
        let part = part.and_then(|part| part.checked_add((fraction as f64 * (nanos as f64 / scale)) as u64));
        match part.and_then(|part| part.checked_add(total)).filter(|total| *total <= LIMIT) {
            Some(sum) => total = sum,
            None => return fail("it is too long"),
        }
    }
    match (negative, total) {
        (true, _) => Ok((total as i64).wrapping_neg()),
        (false, LIMIT) => fail("it is too long"),
        (false, _) => Ok(total as i64),
    }
}

/// The digits after the point as number and what to divide it by; digits that do not fit are dropped.
fn leading_fraction(digits: &str) -> (u64, f64) {
    let (mut number, mut scale) = (0u64, 1f64);
    for digit in digits.bytes() {
        let next = number.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit - b'0')));
        match next.filter(|next| *next <= 1 << 63) {
            Some(next) => number = next,
            None => break,
        }
        scale *= 10.0;
    }
    (number, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parsed: Result<Timestamp, EcoString>, expect: &str) {
        let text = match parsed {
            Ok(time) => format!("{time} {}", time.nanos),
            Err(problem) => problem.replace("not a valid RFC3339 timestamp: ", "").into(),
        };
        assert_eq!(text, expect);
    }

    #[test]
    fn rfc_3339() {
        check(Timestamp::parse_strict("2017-11-22T00:00:00Z"), "2017-11-22T00:00:00Z 0");
        check(Timestamp::parse_strict("0000-02-29T23:59:59.1234567899+00:00"), "0000-02-29T23:59:59Z 123456789");
        check(Timestamp::parse_strict("9999-12-31T23:59:59-07:30"), "9999-12-31T23:59:59-07:30 0");
        check(Timestamp::parse_strict("2017-02-29T00:00:00Z"), "day of month must be between 1 and 28");
        check(Timestamp::parse_strict("2017-11-22T00:00:60Z"), "second must be between 0 and 59");
        check(Timestamp::parse_strict("2017-11-22T24:00:00Z"), "hour must be between 0 and 23");
        check(Timestamp::parse_strict("2017-11-22T0:00:00Z"), "cannot use \"0:00:00Z\" as hour");
        check(Timestamp::parse_strict("2017-11-22 00:00:00Z"), "found \" 00:00:00Z\" where 'T' is expected");
        check(Timestamp::parse_strict("2017-11-22T00:00:00"), "end of string before UTC offset");
        check(Timestamp::parse_strict("2017-11-22T00:00:00,5Z"), "cannot use \",5Z\" as UTC offset");
        check(Timestamp::parse_strict("2017-11-22T00:00:00Zx"), "extra text \"x\" at the end");
        check(Timestamp::parse_strict("2017-11-22T00:00:00+24:00"), "hour of the UTC offset must be between 0 and 23");
        check(Timestamp::parse_lenient("2017-11-22T0:00:00,5+24:60"), "2017-11-22T00:00:00+25:00 500000000");
        check(Timestamp::parse_strict("２017-11-22T00:00:00Z"), "cannot use \"２017-11-22T00:00:00Z\" as year");
    }

    #[test]
    fn durations() {
        for (text, expect) in [
            ("0", Some(0)),
            ("-1h30m", Some(-5_400_000_000_000)),
            (".5s", Some(500_000_000)),
            ("1.s", Some(1_000_000_000)),
            ("+1µs1μs1us1ns1ms", Some(1_003_001)),
            ("9223372036854775807ns", Some(i64::MAX)),
            ("-9223372036854775808ns", Some(i64::MIN)),
            ("9223372036854775808ns", None),
            ("1d", None),
            ("", None),
            ("-", None),
            (".s", None),
            ("1", None),
            ("3000000h", None),
            ("99999999999999999999s", None),
            ("1.00000000000000000000000000001h", Some(3_600_000_000_000)),
        ] {
            assert_eq!(parse_duration(text).ok(), expect, "{text}");
        }
    }

    #[test]
    fn arithmetic() {
        let time = Timestamp::parse_strict("0000-01-01T00:00:00.5Z").expect("valid");
        assert_eq!(time.plus(-1_000_000_000).to_string(), "-0001-12-31T23:59:59Z");
        let time = Timestamp::parse_strict("9999-12-31T23:59:59+01:00").expect("valid");
        assert_eq!(time.plus(1_000_000_000).to_string(), "10000-01-01T00:00:00+01:00");
    }
}
