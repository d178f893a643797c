//! Moments in the formats of AWS: `20150830T123600Z` in signatures, RFC 3339 and HTTP dates in responses.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds since 1970, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

const DAY: i64 = 86_400;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Moment {
    /// The time of this machine.
    pub fn now() -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Moment(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
    }

    /// A moment this many seconds later.
    #[must_use]
    pub fn plus(self, seconds: i64) -> Moment {
        Moment(self.0.saturating_add(seconds))
    }

    /// As signatures have it: `20150830T123600Z`.
    pub fn compact(self) -> String {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        let second = self.0.rem_euclid(DAY);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }

    /// RFC 3339 in UTC, to the second.
    pub fn rfc3339(self) -> String {
        let text = self.compact();
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        format!("{}-{}-{}T{}:{}:{}Z", part(0, 4), part(4, 6), part(6, 8), part(9, 11), part(11, 13), part(13, 15))
    }

    /// Reads RFC 3339, with or without fraction and offset. The fraction is dropped.
    pub fn parse_rfc3339(text: &str) -> Option<Moment> {
        let (date, time) = text.trim().split_once(['T', 't', ' '])?;
        let mut numbers = date.split('-').map(|number| number.parse::<i64>().ok());
        let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let clock = time.get(..8)?;
        let mut numbers = clock.split(':').map(|number| number.parse::<i64>().ok());
        let (hour, minute, second) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let zone = time.get(8..)?.trim_start_matches('.').trim_start_matches(|c: char| c.is_ascii_digit());
        let offset = match zone {
            "Z" | "z" | "UTC" | "" => 0,
            zone => {
                let sign = if zone.starts_with('-') { -1 } else { 1 };
                let (hours, minutes) = zone.get(1..)?.split_once(':')?;
                let part = |text: &str| text.parse::<i64>().ok().filter(|number| (0..100).contains(number));
                sign * (part(hours)? * 3600 + part(minutes)? * 60)
            }
        };
        let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && (1..=9999).contains(&year);
        let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..61).contains(&second);
        // Numbers out of range can be too large to calculate with.
        (in_range && is_time)
            .then(|| Moment(days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset))
    }

    /// Reads the `Date` header of a response: `Wed, 18 Nov 2026 14:40:19 GMT`.
    pub fn parse_http(text: &str) -> Option<Moment> {
        let mut words = text.split_once(", ")?.1.split_whitespace();
        let day: i64 = words.next()?.parse().ok()?;
        let name = words.next()?;
        let month = MONTHS.iter().position(|month| *month == name)? + 1;
        let (year, clock) = (words.next()?, words.next()?);
        Moment::parse_rfc3339(&format!("{year}-{month:02}-{day:02}T{clock}Z"))
    }
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a number of days since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_written() {
        for (text, compact) in [
            ("2015-08-30T12:36:00Z", "20150830T123600Z"),
            ("1970-01-01T00:00:00Z", "19700101T000000Z"),
            ("2024-02-29T23:59:59.999Z", "20240229T235959Z"),
            ("2024-02-29T23:59:59+02:00", "20240229T215959Z"),
            ("2026-01-01T00:00:00-00:30", "20260101T003000Z"),
        ] {
            let moment = Moment::parse_rfc3339(text).expect("it is a moment");
            assert_eq!(moment.compact(), compact, "{text}");
            assert_eq!(Moment::parse_rfc3339(&moment.rfc3339()), Some(moment));
        }
        for wrong in [
            "",
            "2015-08-30",
            "2015-13-30T12:36:00Z",
            "2015-08-30T25:36:00Z",
            "é-é-éTéééééééé",
            "2015-08-30T12:36:00+x",
            "9223372036854775807-01-01T00:00:00Z",
            "2015-08-9223372036854775807T12:36:00Z",
            "2015-9223372036854775807-30T12:36:00Z",
            "2015-08-30T12:36:00+9223372036854775807:00",
            "2015-08-30T12:36:00+00:9223372036854775807",
            "2015-08-30T-1:00:00Z",
        ] {
            assert_eq!(Moment::parse_rfc3339(wrong), None, "{wrong}");
        }
        let moment = Moment::parse_http("Wed, 18 Nov 2026 14:40:19 GMT").expect("it is a date");
        assert_eq!(moment.compact(), "20261118T144019Z");
        assert_eq!(Moment::parse_http("yesterday"), None);
        assert_eq!(Moment::parse_http("Wed, 18 Nov 9223372036854775807 14:40:19 GMT"), None);
    }
}
