//! Points in time as lock files write them: RFC 3339 in UTC, with as many digits of a second as needed.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtcTime {
    seconds: i64,
    nanos: u32,
}

impl UtcTime {
    /// Now.
    pub fn now() -> UtcTime {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UtcTime { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
    }

    /// Reads RFC 3339, with any offset from UTC.
    pub fn parse(text: &str) -> Option<UtcTime> {
        let (date, rest) = text.split_once(['T', 't', ' '])?;
        let mut parts = date.splitn(3, '-').map(str::parse::<i64>);
        let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
        let clock = rest.get(..8)?;
        let mut parts = clock.splitn(3, ':').map(str::parse::<i64>);
        let (hour, minute, second) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
        if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
            return None;
        }
        let mut zone = rest.get(8..)?;
        let mut nanos = 0;
        if let Some(fraction) = zone.strip_prefix('.') {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            nanos = format!("{:0<9.9}", fraction.get(..digits)?).parse().ok()?;
            zone = fraction.get(digits..)?;
        }
        let days = days_from_civil(year, month, day);
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset_seconds(zone)?;
        Some(UtcTime { seconds, nanos })
    }

    /// Time since then, seen from `now`; zero when it lies in the future.
    pub fn age(self, now: UtcTime) -> Duration {
        let nanos =
            i128::from(now.seconds - self.seconds) * 1_000_000_000 + i128::from(now.nanos) - i128::from(self.nanos);
        Duration::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }

    /// Digits that a file name can carry: `20260102T030405`.
    pub(crate) fn compact(self) -> String {
        let ((year, month, day), (hour, minute, second)) = self.civil();
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}")
    }

    /// As a person reads it: `2026-01-02 03:04:05.5 +0000 UTC`.
    pub fn spaced(self) -> String {
        let ((year, month, day), (hour, minute, second)) = self.civil();
        let fraction = self.fraction();
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction} +0000 UTC")
    }

    fn fraction(self) -> String {
        if self.nanos == 0 {
            return String::new();
        }
        format!(".{:09}", self.nanos).trim_end_matches('0').to_owned()
    }

    fn civil(self) -> ((i64, i64, i64), (i64, i64, i64)) {
        let (days, rest) = (self.seconds.div_euclid(86_400), self.seconds.rem_euclid(86_400));
        (civil_from_days(days), (rest / 3600, rest / 60 % 60, rest % 60))
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), (hour, minute, second)) = self.civil();
        let fraction = self.fraction();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
    }
}

/// A length of time in its two largest units: `3 days 4 hours`, `12 seconds`.
pub(crate) fn in_words(length: Duration) -> String {
    let seconds = length.as_secs();
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let mut rest = seconds;
    let mut words = Vec::new();
    for (size, name) in units {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            words.push(format!("{count} {name}{}", if count == 1 { "" } else { "s" }));
        } else if !words.is_empty() {
            break;
        }
        if words.len() == 2 {
            break;
        }
    }
    if words.is_empty() { "less than a second".to_owned() } else { words.join(" ") }
}

fn offset_seconds(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
    ((0..24).contains(&hours) && (0..60).contains(&minutes)).then_some(sign * (hours * 3600 + minutes * 60))
}

// Days are counted in eras of 400 years that begin on 1 March, so that the leap day is the last of its year.

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_rfc_3339() {
        let cases = [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
            ("2024-02-29T23:59:59.123456789Z", "2024-02-29T23:59:59.123456789Z"),
            ("2025-11-16T00:40:05.500+02:00", "2025-11-15T22:40:05.5Z"),
            ("2000-03-01T00:00:00-00:30", "2000-03-01T00:30:00Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(UtcTime::parse(text).map(|t| t.to_string()).as_deref(), Some(expected), "{text}");
        }
        for wrong in ["", "yesterday", "2024-13-01T00:00:00Z", "2024-01-01T25:00:00Z", "2024-01-01T00:00:00", "é-é-éTé"]
        {
            assert_eq!(UtcTime::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn lengths_in_words() {
        let words: Vec<String> = [0, 1, 61, 3600, 90_061].map(|s| in_words(Duration::from_secs(s))).into();
        assert_eq!(words, ["less than a second", "1 second", "1 minute 1 second", "1 hour", "1 day 1 hour"]);
    }

    #[test]
    fn age_never_goes_below_zero() {
        let (old, new) = (UtcTime::parse("2024-01-01T00:00:00Z"), UtcTime::parse("2024-01-01T00:00:01.5Z"));
        let (old, new) = (old.expect("it is valid"), new.expect("it is valid"));
        assert_eq!(old.age(new), Duration::from_millis(1500));
        assert_eq!(new.age(old), Duration::ZERO);
    }
}
